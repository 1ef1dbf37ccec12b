//! The programs in `examples/agents/`, run by the real binary against a provider that answers from a script in its real
//! wire format: several turns, real tools, and one thing that goes wrong in each.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod approve_deploy;
mod code_search;
mod data_report;
mod documents;
mod fix_tests;
mod kit;
mod migrate_files;
mod release_notes;
mod review_diff;
mod summarise_feed;
mod support_bot;
mod triage_issues;
mod watch_folder;

/// The programs are to be read, so they are laid out as `harn fmt` does it, and the page about them names each.
#[test]
fn the_programs_are_laid_out_and_named() {
    let examples = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let output =
        std::process::Command::new(kit::HARN).args(["fmt", "--check"]).arg(examples.join("agents")).output();
    let ran = kit::ran(&output.unwrap());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let page = std::fs::read_to_string(examples.join("agents/README.md")).unwrap();
    for entry in std::fs::read_dir(examples.join("agents")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let is_named = !name.ends_with(".harn") || page.contains(&format!("]({name})"));
        assert!(is_named, "examples/agents/README.md does not name {name}");
    }
}
