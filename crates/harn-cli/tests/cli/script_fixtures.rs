//! `harn test --record` and `--replay`, and what tests may reach without them.

use std::fs;
use std::process::Output;

use crate::kit::Project;
use crate::scripts::project;
use crate::web::Web;

const TOKEN: &str = "ghp_0123456789abcdefghijklmnopqrstuvwxyzAB";

fn passes(output: &Output) -> bool {
    output.status.success()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

fn tests_of(web: &Web) -> Project {
    let code = format!(
        "pipeline test_web(task) {{
  let answer = http_get(\"{}/greeting\")
  assert_eq(answer.status, 200)
  assert(answer.body.contains(\"good morning\"), answer.body)
  assert_eq(exec(\"echo\", \"from a command\").stdout.trim(), \"from a command\")
}}
",
        web.url
    );
    project(&[("tests/web.harn", &code)])
}

#[test]
fn tests_have_no_network_unless_it_is_said_or_pretended() {
    let web = Web::saying("good morning");
    let project = tests_of(&web);
    let offline = project.run(&["test"]);
    let sentence = "Tests have no network: pretend the answer with http_mock(), keep it with `harn test --record` and \
                    use it with --replay, or allow it with --network.";
    assert!(!passes(&offline) && said(&offline).contains(sentence), "{}", said(&offline));
    assert_eq!(web.asked().len(), 0);
    let open = project.run(&["test", "--network"]);
    assert!(passes(&open), "{}", said(&open));
    assert_eq!(web.asked().len(), 1);
    assert!(!project.path().join("tests/fixtures").exists());

    let mocked = "pipeline test_mocked(task) {
  http_mock(\"GET\", \"https://api.example.com/x\", {status: 200, body: \"pretended\"})
  assert_eq(http_get(\"https://api.example.com/x\").body, \"pretended\")
  llm_mock({text: \"so it is\"})
  assert_eq(llm_call(\"is it?\").text, \"so it is\")
}
";
    fs::write(project.path().join("tests/web.harn"), mocked).unwrap();
    let output = project.run(&["test"]);
    assert!(passes(&output), "{}", said(&output));
}

#[test]
fn what_was_recorded_is_played_without_anybody_there() {
    let web = Web::saying(&format!("good morning, {TOKEN}"));
    let project = tests_of(&web);
    let recorded = project.run(&["test", "--record"]);
    assert!(passes(&recorded), "{}", said(&recorded));
    assert_eq!(web.asked().len(), 1);
    let fixture = project.path().join("tests/fixtures/web__test_web.jsonl");
    let text = fs::read_to_string(&fixture).unwrap();
    assert!(text.contains("good morning") && text.contains("from a command"), "{text}");
    assert!(!text.contains(TOKEN), "{text}");

    let replayed = project.run(&["test", "--replay", "--determinism"]);
    assert!(passes(&replayed), "{}", said(&replayed));
    assert_eq!(web.asked().len(), 1, "nothing was performed");

    // Another answer in the file is what the test gets.
    fs::write(&fixture, text.replace("good morning", "good night")).unwrap();
    let changed = project.run(&["test", "--replay"]);
    assert!(!passes(&changed) && said(&changed).contains("good night"), "{}", said(&changed));

    fs::write(&fixture, "{\n").unwrap();
    let broken = project.run(&["test", "--replay"]);
    assert!(said(&broken).contains("web__test_web.jsonl is no fixture: line 1: "), "{}", said(&broken));
}

#[test]
fn an_effect_that_was_not_recorded_so_fails_by_its_name_even_if_the_test_hides_it() {
    let web = Web::saying("good morning");
    let project = tests_of(&web);
    assert!(passes(&project.run(&["test", "--record"])));
    let file = project.path().join("tests/web.harn");
    let code = fs::read_to_string(&file).unwrap();

    let other = code
        .replace("http_get(", "try { http_get(")
        .replace("/greeting\")", "/farewell\") } catch (e) { e }");
    fs::write(&file, other.replace("  assert", "  // assert")).unwrap();
    let different = said(&project.run(&["test", "--replay"]));
    assert!(different.contains("(http_read) is not what was recorded: `args.url`"), "{different}");
    assert!(different.contains("/greeting\" and is \""), "{different}");
    assert!(different.contains("`http:"), "{different}");

    let more =
        code.replace("  let answer", "  let again = try { exec(\"false\") } catch (e) { e }\n  let answer");
    fs::write(&file, more).unwrap();
    let missing = said(&project.run(&["test", "--replay"]));
    assert!(missing.contains("(exec)") && missing.contains("record it"), "{missing}");
}

#[test]
fn answers_of_models_are_kept_too() {
    let code = "pipeline test_model(task) {\n  println(llm_call(\"list files\").text)\n  \
                for piece in llm_stream(\"list files\") { print(\"[\" + piece + \"]\") }\n}\n";
    let project = project(&[("tests/model.harn", code)]);
    let file = project.path().join("tests/model.harn");
    fs::write(&file, code.replace("files\")", "files\", nil, {provider: \"openai\"})")).unwrap();
    let offline = said(&project.run(&["test"]));
    fs::write(&file, code).unwrap();
    assert!(offline.contains("for a test, `harn test --record` keeps the answer"), "{offline}");
    let recorded = project.run(&["test", "--record", "-v"]);
    assert!(passes(&recorded), "{}", said(&recorded));
    assert!(project.path().join("tests/fixtures/model__test_model.jsonl").is_file());
    let replayed = project
        .command(&["test", "--replay", "-v"])
        .env("HARN_LLM_MODEL", "nobody:nothing")
        .output()
        .unwrap();
    assert_eq!(said(&replayed), said(&recorded));
}

#[test]
fn programs_find_answers_of_models_in_the_file_beside_them() {
    let project = project(&[
        (
            "programs/asks.harn",
            "pipeline default(task) { println(llm_call(\"hi\", nil, {provider: \"openai\"}).text) }\n",
        ),
        ("programs/asks.expected", "from the file\n"),
        ("programs/asks.llm-mock.jsonl", "{\"text\": \"from the file\"}\n"),
    ]);
    let output = project.run(&["test", "conformance", "programs"]);
    assert!(passes(&output), "{}", said(&output));
    fs::remove_file(project.path().join("programs/asks.llm-mock.jsonl")).unwrap();
    let without = said(&project.run(&["test", "conformance", "programs"]));
    assert!(without.contains("LLM calls are disabled"), "{without}");
}
