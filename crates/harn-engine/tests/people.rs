//! Runs that leave nothing behind: people are asked here and now, and what is kept is kept in memory.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use harn_core::ask::Ask;
use harn_core::run::{Budget, Decision, Limits, Shown, Trust};
use harn_core::tool::ToolCall;
use harn_engine::EngineOptions;
use harn_engine::calls::Place;
use harn_engine::ephemeral::{self, Interrupts, Setup, Witness};
use harn_engine::guard::GuardCommand;
use harn_engine::people::{People, Said};
use harn_engine::script::ScriptProgram;
use harn_lang::bytecode::Source;
use harn_lang::compile::{NoModules, Settings, compile};
use harn_lang::vm::{Limits as VmLimits, Vm};
use harn_model::{Model, Models, OfflineModel};
use harn_policy::{PermissionsFile, Policy};
use parking_lot::Mutex;
use serde_json::{Value, json};

/// Says these things, one after the other.
struct Person(Mutex<Vec<Said>>);

#[async_trait]
impl People for Person {
    async fn ask(&self, _: &Ask) -> Option<Said> {
        self.0.lock().pop()
    }

    async fn approve(&self, _: &ToolCall, _: &Decision) -> Option<Said> {
        self.0.lock().pop()
    }
}

fn person(replies: &[(bool, Value)]) -> Option<Arc<dyn People>> {
    let said = |(approved, reply): &(bool, Value)| Said {
        by: "ann".into(),
        approved: *approved,
        reply: Some(reply.clone()),
        reason: (!approved).then(|| "not today".into()),
    };
    Some(Arc::new(Person(Mutex::new(replies.iter().rev().map(said).collect()))))
}

#[derive(Default)]
struct Seen(Mutex<Vec<(String, Value)>>);

impl Witness for Seen {
    fn printed(&self, _: &[Shown]) -> std::io::Result<()> {
        Ok(())
    }

    fn told(&self, kind: &str, payload: &Value) {
        self.0.lock().push((kind.to_owned(), payload.clone()));
    }
}

/// What a program gives back, or why it failed.
async fn run(body: &str, people: Option<Arc<dyn People>>, rules: &str) -> Ran {
    run_in(&PathBuf::new(), body, people, rules).await
}

async fn run_in(folder: &Path, body: &str, people: Option<Arc<dyn People>>, rules: &str) -> Ran {
    let place = Place { root: folder.to_owned(), base: folder.to_owned(), ..Place::default() };
    execute(place, body, people, rules, None).await
}

/// With so many seconds to run.
async fn timed(body: &str, seconds: Option<u64>) -> Ran {
    execute(Place::default(), body, None, "", seconds).await
}

type Ran = (Result<Value, String>, Arc<Seen>);

async fn execute(
    place: Place,
    body: &str,
    people: Option<Arc<dyn People>>,
    rules: &str,
    seconds: Option<u64>,
) -> Ran {
    let text = format!("pipeline default(task) {{\n{body}\n}}\n");
    let source = Source { name: "test.harn".into(), text: text.into() };
    let program = compile(source, &NoModules, &Settings::default()).unwrap_or_else(|failed| {
        panic!("{:?}", failed.all.iter().map(|one| &one.message).collect::<Vec<_>>())
    });
    let vm = Vm::new(Arc::new(program), Vec::new(), VmLimits::default(), 1);
    let model = OfflineModel.reference();
    let guard = GuardCommand { program: "false".into(), args: Vec::new() };
    let options = EngineOptions::new(Models::new(vec![Arc::new(OfflineModel)]), model, guard);
    let witness = Arc::new(Seen::default());
    let policy = Policy::compile(PermissionsFile::parse(rules).unwrap().layers()).unwrap();
    let setup = Setup {
        policy: Arc::new(policy),
        trust: Trust::Own,
        limits: Limits { budget: Budget { seconds, ..Budget::default() }, ..options.limits },
        place: Arc::new(place),
        witness: Arc::clone(&witness) as Arc<dyn Witness>,
        interrupts: Arc::new(Interrupts::default()),
        people,
        fixture: None,
    };
    let program = ScriptProgram::new(Arc::new(Mutex::new(vm)));
    let end = ephemeral::run(&options, setup, Box::new(program)).await.unwrap();
    let given = match end.result {
        Ok(_) => Ok(end.value.unwrap_or_default()),
        Err(failure) => Err(failure.message),
    };
    (given, witness)
}

async fn gives(body: &str, people: Option<Arc<dyn People>>) -> Value {
    run(body, people, "").await.0.unwrap_or_else(|error| panic!("{error}"))
}

#[tokio::test]
async fn a_question_is_answered_by_whoever_is_there() {
    let ask = r#"return __ask({kind: "question", prompt: "Which?", choices: ["red", "blue"]})"#;
    let answer = gives(ask, person(&[(true, json!("green")), (true, json!("blue"))])).await;
    assert_eq!(answer["status"], "answered", "{answer}");
    assert_eq!((&answer["value"], &answer["responder"]), (&json!("blue"), &json!("ann")));
    let answer = gives(ask, person(&[(false, Value::Null)])).await;
    assert_eq!((&answer["status"], &answer["reason"]), (&json!("denied"), &json!("not today")));
}

#[tokio::test]
async fn where_nobody_is_there_it_is_denied_in_clear_words() {
    let nobody = "Nobody is there to be asked: run the script's file with --durable. In a test, host_mock";
    for kind in ["question", "approval", "escalation"] {
        let answer = gives(&format!(r#"return __ask({{kind: "{kind}", prompt: "x"}})"#), None).await;
        assert_eq!(answer["status"], "denied", "{kind}");
        let way_out = format!("{nobody}(\"hitl\", \"{kind}\", …) answers.");
        assert_eq!(answer["reason"], json!(way_out));
        let timed = format!(r#"return __ask({{kind: "{kind}", prompt: "x", timeout_ms: 5}})"#);
        let status = gives(&timed, None).await["status"].clone();
        assert_ne!(status, "denied", "{kind}");
    }
    let late = "return [ask_user(\"x\", {timeout: 5, default: \"d\"}), \
                try { request_approval(\"x\", {timeout: 5}) } catch (e) { e.name }]";
    assert_eq!(gives(late, None).await, json!(["d", "HumanTimeoutError"]));
    let two = r#"return __ask({kind: "dual_control", prompt: "x", quorum: 2})"#;
    let answer = gives(two, person(&[(true, Value::Null)])).await;
    assert_eq!(answer["status"], "denied");
    assert!(answer["reason"].as_str().unwrap().starts_with("2 people have to agree"), "{answer}");
}

#[tokio::test]
async fn what_cannot_be_asked_is_an_error() {
    let (given, _) = run(r#"return __ask({kind: "approval"})"#, None, "").await;
    assert!(given.unwrap_err().contains("`request_approval` needs words"));
}

#[tokio::test]
async fn waitpoints_and_events_are_kept_in_memory() {
    let wait = r#"
        let waiting = spawn { return __waitpoint("wait", {waitpoints: ["a", "b"]}) }
        __waitpoint("complete", {id: "a", value: 1})
        __waitpoint("complete", {id: "b", value: 2})
        let over = await(waiting)
        let late = __waitpoint("wait", {waitpoints: ["c"], timeout_ms: 5})
        let first = __events("emit", {topic: "t", kind: "k", payload: {n: 1}})
        __events("emit", {topic: "t", kind: "k", payload: {n: 2}})
        let read = __events("read", {topic: "t", after: first})
        let none = __events("wait", {topic: "other", timeout_ms: 5})
        let by = waitpoint_complete("d", 1, {by: "bob", reason: "done"})
        let later = spawn { stream.first(event_log.subscribe({topic: "late"})).kind }
        sleep(5)
        event_log.emit("late", "k3", nil)
        let events = stream.take(event_log.subscribe({topic: "t", from_cursor: 0}), 2)
        return {over: over.status, late: late.status, latest: __events("latest", "t"), read: len(read),
                n: read[0].payload.n, none: len(none), by: [by.settled_by, by.reason], later: await(later),
                events: stream.collect(events).map({ one -> [one.cursor, one.payload.n] })}
    "#;
    let expected = json!({ "over": "completed", "late": "timed_out", "latest": 2, "read": 1, "n": 2, "none": 0,
                "by": ["bob", "done"], "later": "k3", "events": [[1, 1], [2, 2]] });
    assert_eq!(gives(wait, None).await, expected);
}

#[tokio::test]
async fn what_a_program_tells_reaches_whoever_watches() {
    let (given, seen) = run("__emit(\"progress\", {done: 1})\n__emit(\"plan\", [])", None, "").await;
    given.unwrap();
    assert_eq!(*seen.0.lock(), [("progress".into(), json!({ "done": 1 })), ("plan".into(), json!([]))]);
}

#[tokio::test]
async fn a_tool_of_the_program_is_judged_by_rules() {
    let begin = |extra: &str| {
        format!(
            r#"return __tool_begin({{id: "c", name: "deploy", args: {{to: "x"}}, annotations: {{{extra}}}}})"#
        )
    };
    let allowed = json!({ "decision": "allow", "reason": null, "args": { "to": "x" } });
    assert_eq!(gives(&begin(""), None).await, allowed);
    let denied = gives(&begin(r#"policy: {auto_deny: ["dep*"]}"#), None).await;
    assert_eq!((&denied["decision"], &denied["args"]), (&json!("deny"), &Value::Null), "{denied}");
    let rule = "[[permissions.rules]]\nid = \"no\"\naction = \"deny\"\nmatch = { tool = \"deploy\" }\n";
    let (given, _) = run(&begin(""), None, rule).await;
    assert_eq!(given.unwrap()["decision"], "deny");
}

/// One effect of each kind that policy can ask about.
const EFFECTS: [(&str, &str); 5] = [
    ("call", "return try { write_file(\"x.txt\", \"x\")\n \"done\" } catch (e) { to_string(e) }"),
    ("model", "return try { llm_call(\"hi\").text == \"\" ? \"\" : \"done\" } catch (e) { to_string(e) }"),
    ("timer", "return try { sleep(1)\n \"done\" } catch (e) { to_string(e) }"),
    (
        "tool",
        "let r = __tool(\"read_file\", {path: \"x.txt\"})\nreturn r.status == \"denied\" ? to_string(r) : \"done\"",
    ),
    (
        "call",
        "return try { __events(\"emit\", {topic: \"t\", kind: \"k\", payload: {}})\n \"done\" } catch (e) { to_string(e) }",
    ),
];

#[tokio::test]
async fn what_policy_asks_about_happens_when_somebody_agrees_and_not_otherwise() {
    let folder = tempfile::tempdir().unwrap();
    for (effect, body) in EFFECTS {
        let rules = format!("[[permissions.rules]]\nid = \"careful\"\nask = {{ effect = \"{effect}\" }}\n");
        let give = async |people| {
            let (given, _) = run_in(folder.path(), body, people, &rules).await;
            given.unwrap().as_str().unwrap().to_owned()
        };
        let yes: Vec<(bool, Value)> = vec![(true, Value::Null); 9];
        assert_eq!(give(person(&yes)).await, "done", "{body}");
        let no = give(person(&[(false, Value::Null)])).await;
        assert!(no.contains("not today"), "{body}: {no}");
        let gone = give(person(&[])).await;
        assert!(gone.contains("Nobody is there to be asked"), "{body}: {gone}");
        let nobody = give(None).await;
        let way_out = "run it at a terminal or with --durable, or allow it in harn.toml";
        assert!(nobody.contains("`careful` of harn.toml") && nobody.contains(way_out), "{body}: {nobody}");
    }
}

#[tokio::test]
async fn what_was_asked_about_and_given_up_waits_for_nobody() {
    /// Never answers.
    struct Silent;
    #[async_trait]
    impl People for Silent {
        async fn ask(&self, _: &Ask) -> Option<Said> {
            std::future::pending().await
        }

        async fn approve(&self, _: &ToolCall, _: &Decision) -> Option<Said> {
            std::future::pending().await
        }
    }
    let body = "let late = try { deadline 20ms { write_file(\"x.txt\", \"x\") } } catch (e) { to_string(e) }\nreturn late";
    let rules = "[[permissions.rules]]\nask = { tool = \"write_file\" }\n";
    let (given, _) = run(body, Some(Arc::new(Silent)), rules).await;
    assert!(given.unwrap().as_str().unwrap().to_lowercase().contains("deadline"));
}

#[tokio::test]
async fn a_run_that_takes_longer_than_its_budget_is_ended() {
    for body in ["sleep(1h)", "var i = 0\nwhile true { i = i + 1 }"] {
        let (given, _) = timed(body, Some(1)).await;
        assert_eq!(given, Err("The run took longer than the 1 seconds of its budget.".to_owned()), "{body}");
    }
    assert_eq!(timed("return 7", Some(60)).await.0, Ok(json!(7)));
}
