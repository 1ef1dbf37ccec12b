//! The examples of the language's documentation, run as they stand.

use std::fs;
use std::path::Path;

use crate::kit::Project;

#[test]
fn the_first_look_prints_what_it_promises() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/language/README.md");
    let page = fs::read_to_string(page).unwrap();
    let example = page.split("```harn\n").nth(1).unwrap().split("```").next().unwrap();
    let project = Project::new();
    fs::write(project.path().join("look.harn"), example).unwrap();
    let expected = "Hello, ADA!!\nHello, GRACE!!\n[1, 2, 3]\nno such name\n";
    assert_eq!(project.out(&["run", "look.harn"]), expected);
    project.out(&["fmt", "--check", "look.harn"]);
}
