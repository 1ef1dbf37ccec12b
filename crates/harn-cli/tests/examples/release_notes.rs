//! Notes of a release: the model wraps its JSON in words, forgets one commit and invents another.

use crate::kit::{Stage, last, ran, says};

const ANSWER: &str = "Here are the notes you asked for!\n\n```json\n{\"summary\": \"Faster, and easier to leave.\", \
     \"entries\": [{\"section\": \"Added\", \"text\": \"You can export your data.\", \"commits\": [1, 3]}, \
     {\"section\": \"Speed\", \"text\": \"Lists load faster.\", \"commits\": [4, 9]}, \
     {\"section\": \"Fixed\", \"text\": \"Nothing.\", \"commits\": [12]}]}\n```\n\nTell me if you want another tone.";

/// What git says in the folder.
fn git(stage: &Stage, args: &[&str]) -> String {
    let identity = ["-c", "user.name=t", "-c", "user.email=t@example.com"];
    let ran = ran(&stage.command("git", &[&identity[..], args].concat()).output().unwrap());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    ran.out
}

fn repository(stage: &Stage) {
    let git = |args: &[&str]| git(stage, args);
    git(&["init", "-q"]);
    for subject in [
        "first",
        "tag me",
        "add export to CSV",
        "fix a crash at the end",
        "add export to JSON",
        "load lazily",
    ] {
        git(&["commit", "-q", "--allow-empty", "-m", subject]);
        if subject == "tag me" {
            git(&["tag", "v1.0.0"]);
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn words_around_the_notes_and_forgotten_commits_do_no_harm() {
    let stage = Stage::new("release_notes.harn", &[], vec![says(ANSWER)]).await;
    repository(&stage);
    stage.write("CHANGELOG.md", "# Changelog\n\nAll that matters.\n\n## 1.0.0\n\nThe first one.\n");
    let ran = stage.run(&["1.1.0", "2026-03-01"]);
    assert_eq!(
        (ran.out.as_str(), ran.err.as_str(), ran.code),
        ("1.1.0: 4 commits in 3 entries\n1 that the model left out went to Other\n", "", Some(0)),
    );
    let log = git(&stage, &["log", "--reverse", "--format=%h", "v1.0.0..HEAD"]);
    let hash: Vec<&str> = log.lines().collect();
    let expected = format!(
        "# Changelog\n\nAll that matters.\n\n## 1.1.0 (2026-03-01)\n\nFaster, and easier to leave.\n\n### Added\n\n\
         - You can export your data. ({}, {})\n\n### Other\n\n- Lists load faster. ({})\n- fix a crash at the end ({})\n\n\
         ## 1.0.0\n\nThe first one.\n",
        hash[0], hash[2], hash[3], hash[1]
    );
    assert_eq!(stage.read("CHANGELOG.md"), expected);
    let asked = stage.asked();
    assert_eq!(asked.len(), 1);
    assert!(
        last(&asked[0]).contains("1. add export to CSV\n2. fix a crash at the end\n3. add export to JSON")
    );
    assert!(!last(&asked[0]).contains("tag me"));
    assert_eq!(asked[0]["max_tokens"], 2000);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_that_does_not_fit_is_sent_back_once() {
    let right = "{\"summary\": \"One.\", \"entries\": []}";
    let stage = Stage::new("release_notes.harn", &[], vec![says("{\"summary\": 5}"), says(right)]).await;
    repository(&stage);
    let ran = stage.run(&["1.1.0"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(
        stage
            .read("CHANGELOG.md")
            .starts_with("# Changelog\n\n## 1.1.0\n\nOne.\n\n### Other\n\n- add export to CSV (")
    );
    let asked = stage.asked();
    assert_eq!(asked.len(), 2);
    assert!(last(&asked[1]).contains("Your answer could not be used"), "{}", asked[1]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_new_commits_nobody_is_asked() {
    let stage = Stage::new("release_notes.harn", &[], vec![]).await;
    repository(&stage);
    git(&stage, &["tag", "v1.1.0"]);
    let ran = stage.run(&["1.2.0"]);
    assert_eq!(
        (ran.out.as_str(), ran.code, stage.asked().len()),
        ("nothing to release\n", Some(0), 0),
        "{ran:?}"
    );
}
