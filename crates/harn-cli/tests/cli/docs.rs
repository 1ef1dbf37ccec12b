//! The examples of `docs/cli.md`, run as they stand there.

use std::path::Path;
use std::process::Command;

use crate::kit::{HARN, KEY, Project};

/// The blocks of a page that are marked so.
fn blocks(page: &str, mark: &str) -> Vec<String> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(page);
    let page = std::fs::read_to_string(page).unwrap();
    let fence = format!("```{mark}\n");
    page.split(&fence).skip(1).map(|rest| rest.split("```").next().unwrap().to_owned()).collect()
}

/// The lines after `$ ` of every block marked `console`.
fn examples() -> Vec<String> {
    let blocks = blocks("cli.md", "console");
    let lines = blocks.iter().flat_map(|block| block.lines());
    lines.filter_map(|line| line.strip_prefix("$ ")).map(str::to_owned).collect()
}

#[test]
fn the_examples_of_the_page_work() {
    let project = Project::new();
    let [session, done, waiting] = project.used();
    let server = project.serve();
    let history = project.json(&["policy", "history", "--json"]);
    let event = history["data"][0]["event_id"].as_str().unwrap();
    let bin = Path::new(HARN).parent().unwrap();
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    let examples = examples();
    assert!(examples.len() >= 25, "{examples:?}");
    for example in examples {
        let output = Command::new("sh")
            .args(["-c", &example])
            .current_dir(project.path())
            .env("PATH", &path)
            .envs([("SESSION", &session), ("TASK", &done), ("WAITING", &waiting), ("URL", &server.url)])
            .envs([("EVENT", event), ("KEY", KEY)])
            .env_remove("HARN_URL")
            .env_remove("HARN_API_KEY")
            .output()
            .unwrap();
        // A question to policy ends with its answer: 10 for ask, 20 for deny.
        let answers: &[i32] = if example.contains("policy check") { &[0, 10, 20] } else { &[0] };
        let code = output.status.code().unwrap();
        assert!(answers.contains(&code), "{example}: {code} {}", String::from_utf8_lossy(&output.stderr));
    }
}

#[test]
fn the_configuration_of_the_page_is_one_and_its_rules_pass_their_tests() {
    let project = Project::new();
    let examples = blocks("config.md", "toml");
    assert_eq!(examples.len(), 1);
    std::fs::write(project.path().join("harn.toml"), &examples[0]).unwrap();
    let findings = project.json(&["doctor", "--json"])["findings"].clone();
    let found = |name: &str| {
        let finding = findings.as_array().unwrap().iter().find(|finding| finding["name"] == name);
        finding.unwrap()["found"].as_str().unwrap().to_owned()
    };
    assert_eq!(found("config"), "./harn.toml");
    assert_eq!(found("budget"), "$2.50, 200000 tokens, 900 s for each task");
    project.out(&["policy", "test"]);
}
