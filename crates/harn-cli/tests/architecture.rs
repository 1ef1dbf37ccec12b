//! The shape of the workspace: who may know whom, and how large a file may grow.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The table of `ARCHITECTURE.md`: each crate and the crates of ours that it may depend on.
const MAY_KNOW: &[(&str, &[&str])] = &[
    ("harn-core", &[]),
    ("harn-wire", &["harn-core"]),
    ("harn-log", &["harn-core"]),
    ("harn-lang", &[]),
    ("harn-model", &["harn-core"]),
    ("harn-policy", &["harn-core"]),
    ("harn-engine", &["harn-core", "harn-wire", "harn-lang", "harn-model", "harn-policy"]),
    ("harn-harness", &["harn-core", "harn-log", "harn-policy", "harn-wire"]),
    ("harn-serve", &["harn-core", "harn-harness", "harn-wire"]),
    ("harn-client", &["harn-core"]),
    ("harn-conformance", &["harn-core", "harn-client"]),
    (
        "harn-cli",
        &[
            "harn-core",
            "harn-wire",
            "harn-log",
            "harn-model",
            "harn-policy",
            "harn-engine",
            "harn-harness",
            "harn-serve",
            "harn-client",
            "harn-conformance",
            "harn-lang",
        ],
    ),
    // Only ever a dependency of tests and of the tool for those who work on Harn.
    ("harn-testkit", &[]),
    ("harn-xtask", &["harn-core", "harn-model", "harn-testkit"]),
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

#[test]
fn crates_depend_on_each_other_as_the_architecture_says() {
    let metadata = cargo_metadata::MetadataCommand::new()
        .manifest_path(root().join("Cargo.toml"))
        .no_deps()
        .exec()
        .unwrap();
    let allowed: BTreeMap<&str, BTreeSet<&str>> =
        MAY_KNOW.iter().map(|(name, known)| (*name, known.iter().copied().collect())).collect();
    let mut found = BTreeSet::new();
    for package in &metadata.packages {
        let name = package.name.as_str();
        found.insert(name.to_owned());
        let may = allowed.get(name).unwrap_or_else(|| panic!("{name} is not in the table"));
        let ours = package.dependencies.iter().filter(|dependency| {
            dependency.kind == cargo_metadata::DependencyKind::Normal && dependency.name.starts_with("harn-")
        });
        for dependency in ours {
            assert!(may.contains(dependency.name.as_str()), "{name} may not depend on {}", dependency.name);
        }
    }
    assert_eq!(
        found,
        allowed.keys().map(|name| (*name).to_owned()).collect(),
        "the table and the workspace differ"
    );
}

#[test]
fn every_source_file_says_what_it_is_and_stays_readable() {
    let mut files = Vec::new();
    collect(&root().join("crates"), &mut files);
    assert!(files.len() > 40);
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap();
        let shown = file.display();
        assert!(text.starts_with("//!"), "{shown} does not open with what it is");
        let lines = text.lines().count();
        assert!(lines <= 800, "{shown} has {lines} lines");
    }
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && path.file_name().is_some_and(|name| name != "target" && name != "snapshots") {
            collect(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
}
