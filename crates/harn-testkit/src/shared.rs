//! Finds the project's shared reference files, which live beside the repository and not in it.

use std::path::{Path, PathBuf};

/// The file `relative` under `<project root>/../shared/data`.
///
/// Where the file is absent a test has nothing to judge against: it says so and skips, except in
/// continuous integration (`CI` is set), where a silent skip would look like a pass.
///
/// # Panics
/// When the file is absent and `CI` is set.
pub fn shared_data(relative: &str) -> Option<PathBuf> {
    let absence = if std::env::var_os("CI").is_some() { Absence::Fails } else { Absence::Skips };
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    find(&root, relative, absence)
}

enum Absence {
    Fails,
    Skips,
}

fn find(root: &Path, relative: &str, absence: Absence) -> Option<PathBuf> {
    let path = root.join(relative);
    if path.is_file() {
        return Some(path);
    }
    match absence {
        Absence::Fails => {
            panic!("reference file {} is missing; continuous integration must provide it", path.display())
        }
        Absence::Skips => {
            eprintln!("skipped: reference file {} is not on this machine", path.display());
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_present_file_is_found_and_an_absent_one_skips() {
        let root = tempfile::tempdir().unwrap();
        std::fs::write(root.path().join("here.json"), "{}").unwrap();

        assert_eq!(find(root.path(), "here.json", Absence::Fails), Some(root.path().join("here.json")));
        assert_eq!(find(root.path(), "gone.json", Absence::Skips), None);
    }

    #[test]
    #[should_panic(expected = "continuous integration must provide it")]
    fn an_absent_file_fails_continuous_integration() {
        let root = tempfile::tempdir().unwrap();
        find(root.path(), "gone.json", Absence::Fails);
    }
}
