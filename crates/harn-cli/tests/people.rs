//! What scripts ask of people and of their keeper, through the harness: asked once, answered by votes, over when the
//! time is, withdrawn when nobody wants to know, and the same after a restart.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use async_trait::async_trait;
use harn_core::chat::ModelRef;
use harn_core::ports::{
    Directory, Export, RunError, RunExit, RunPort, Runner, ScriptChoice, Setting, SkillFile,
};
use harn_core::run::{Image, ScriptImage};
use harn_core::tool::ToolSpec;
use harn_core::{
    Actor, Clock, Code, Part, PermissionRequest, RequestStatus, SystemClock, Task, TaskId, TaskStatus,
    Timestamp, Workspace,
};
use harn_engine::calls::Place;
use harn_engine::script::{PROGRAM, SEMANTICS, ScriptProgram};
use harn_engine::tools::ConfinedFiles;
use harn_engine::{Engine, EngineOptions, drive};
use harn_harness::{Call, EventFilter, Harness, HarnessProjection, PageQuery};
use harn_lang::bytecode::Source;
use harn_lang::compile::{NoModules, Settings, compile};
use harn_lang::vm::{Limits, Vm};
use harn_log::sqlite::{FlushPoint, Options, SqliteLog};
use harn_model::{Model, Models, OfflineModel};
use parking_lot::Mutex;
use serde_json::{Value, json};
use support::{alice, guard, keyed, request, user};
use tokio::sync::watch;

/// Runs the text of a task's input as a script.
struct Scripts {
    options: EngineOptions,
    engine: Engine,
}

impl Directory for Scripts {
    fn tools(&self) -> Arc<[ToolSpec]> {
        self.engine.tools()
    }

    fn catalog(&self) -> Value {
        self.engine.catalog()
    }

    fn exports(&self, root: Option<&str>, choice: &ScriptChoice) -> Result<Vec<Export>, String> {
        self.engine.exports(root, choice)
    }

    fn skill_files(&self, root: &str) -> Result<Vec<SkillFile>, String> {
        self.engine.skill_files(root)
    }
}

#[async_trait]
impl Runner for Scripts {
    fn image(&self, setting: &Setting<'_>) -> Result<Image, String> {
        Ok(Image { program: PROGRAM, semantics: SEMANTICS, ..self.engine.image(setting)? })
    }

    fn model(&self) -> ModelRef {
        self.engine.model()
    }

    fn resolve(&self, selector: &str) -> Result<ModelRef, String> {
        self.engine.resolve(selector)
    }

    fn calls(&self) -> Arc<[ToolSpec]> {
        self.engine.calls()
    }

    fn script(&self, root: Option<&str>, choice: &ScriptChoice) -> Result<ScriptImage, String> {
        self.engine.script(root, choice)
    }

    fn fits(&self, script: &ScriptImage, input: &[Part]) -> Result<(), String> {
        self.engine.fits(script, input)
    }

    async fn run(&self, port: Arc<dyn RunPort>) -> RunExit {
        let record = match port.load().await {
            Ok(record) => record,
            Err(RunError::Over) => return RunExit::Over,
            Err(RunError::Unavailable(_)) => return RunExit::Suspended,
        };
        let said = record.history.iter().rfind(|message| message.role == harn_core::Role::User).unwrap();
        let [Part::Text { text, .. }] = &said.parts[..] else { panic!("{said:?}") };
        let text = format!("pipeline default(task) {{\n{text}\n}}\n");
        let source = Source { name: "test.harn".into(), text: text.into() };
        let program = compile(source, &NoModules, &Settings::default()).unwrap_or_else(|failed| {
            panic!("{:?}", failed.all.iter().map(|one| &one.message).collect::<Vec<_>>())
        });
        let vm = Vm::new(Arc::new(program), Vec::new(), Limits::default(), 1);
        let program = Box::new(ScriptProgram::new(Arc::new(Mutex::new(vm))));
        drive(&self.options, port, record, program, Arc::new(Place::default())).await
    }
}

/// The machine's clock, moved forward by the test.
#[derive(Default)]
struct Ahead(AtomicI64);

impl Clock for Ahead {
    fn now(&self) -> Timestamp {
        SystemClock.now().plus_millis(self.0.load(Ordering::SeqCst))
    }
}

struct World {
    harness: Harness,
    workspace: Workspace,
    clock: Arc<Ahead>,
}

async fn open(folder: &Path, log: Options) -> Option<World> {
    let root = folder.join("work");
    std::fs::create_dir_all(&root).unwrap();
    let root = root.canonicalize().unwrap();
    let log = Arc::new(SqliteLog::open(&folder.join("data"), Arc::new(HarnessProjection), log).ok()?);
    let models = Models::new(vec![Arc::new(OfflineModel)]);
    let options = EngineOptions::new(models, OfflineModel.reference(), guard());
    let runner = Scripts { engine: Engine::new(options.clone()), options };
    let clock = Arc::new(Ahead::default());
    let mut options = harn_harness::Options::new(root);
    options.clock = Arc::clone(&clock) as Arc<dyn Clock>;
    let harness = Harness::new(log, Arc::new(runner), Arc::new(ConfinedFiles), options);
    let workspace = harness.start().await.ok()?;
    Some(World { harness, workspace, clock })
}

fn call(actor: &str) -> Call {
    Call::new(Actor::owner(actor))
}

impl World {
    async fn submit(&self, script: &str) -> TaskId {
        let create = request(json!({ "workspace_id": self.workspace.id }));
        let session = self.harness.create_session(&alice(), create).await.unwrap().id;
        let body = request(json!({ "input": user(script) }));
        self.harness.submit_task(&alice(), session, body).await.unwrap().id
    }

    async fn task(&self, task: &TaskId) -> Task {
        self.harness.task(&alice().actor, task).await.unwrap()
    }

    async fn requests(&self, task: &TaskId) -> Vec<PermissionRequest> {
        let (actor, page) = (alice().actor, PageQuery::default());
        self.harness.task_permission_requests(&actor, task.clone(), page).await.unwrap().data
    }

    /// Follows a task's events until this holds; false when they end before.
    async fn until(&self, task: &TaskId, mut holds: impl AsyncFnMut(&Self) -> bool) -> bool {
        let filter = EventFilter { task: Some(task.clone()), ..EventFilter::default() };
        let mut feed = self.harness.subscribe(&alice().actor, filter, None).await.unwrap();
        loop {
            if holds(self).await {
                return true;
            }
            if feed.next().await.unwrap().is_none() {
                return holds(self).await;
            }
        }
    }

    /// The request that a task waits for.
    async fn asked(&self, task: &TaskId) -> PermissionRequest {
        let waits = |task: &Task| matches!(task.status, TaskStatus::InputRequired | TaskStatus::AuthRequired);
        assert!(self.until(task, async |world| waits(&world.task(task).await)).await, "nobody was asked");
        let requests = self.requests(task).await;
        requests.into_iter().find(|request| request.status == RequestStatus::Pending).unwrap()
    }

    async fn vote(&self, who: &str, asked: &PermissionRequest, answer: Value) -> Result<RequestStatus, Code> {
        let voted = self.harness.respond(&call(who), asked.id.clone(), request(answer)).await;
        voted.map(|request| request.status).map_err(|error| error.code)
    }

    /// What a script gave back.
    async fn result(&self, task: &TaskId) -> Value {
        let over = async |world: &Self| world.task(task).await.status.is_terminal();
        assert!(self.until(task, over).await);
        let ended = self.task(task).await;
        let outcome = self.harness.outcome(&alice().actor, &ended.outcome_id.unwrap()).await.unwrap();
        serde_json::from_str(&outcome.summary).unwrap_or_else(|_| json!(outcome.summary))
    }

    async fn told(&self, task: &TaskId) -> bool {
        !self.events(task, &["vendor.harn.script_update"]).await.is_empty()
    }

    async fn events(&self, task: &TaskId, kinds: &[&str]) -> Vec<(String, Value)> {
        let filter = EventFilter { task: Some(task.clone()), ..EventFilter::default() };
        let page = self.harness.events(&alice().actor, filter, None, Some(200)).await.unwrap();
        let events = page.data.iter().map(|event| serde_json::from_str::<Value>(event.get()).unwrap());
        let named =
            events.map(|event| (event["event"].as_str().unwrap().to_owned(), event["payload"].clone()));
        named.filter(|(kind, _)| kinds.contains(&kind.as_str())).collect()
    }
}

async fn world() -> (tempfile::TempDir, World) {
    let folder = tempfile::tempdir().unwrap();
    let world = open(folder.path(), Options::default()).await.unwrap();
    (folder, world)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_question_takes_a_fitting_reply_once() {
    let (_folder, world) = world().await;
    let task =
        world.submit(r#"return __ask({kind: "question", prompt: "Which?", choices: ["red", "blue"]})"#).await;
    let asked = world.asked(&task).await;
    assert_eq!(world.task(&task).await.status, TaskStatus::InputRequired);
    assert_eq!(asked.action["choices"], json!(["red", "blue"]));
    assert_eq!(world.vote("bob", &asked, json!({ "answer": "green" })).await, Err(Code::InvalidRequest));
    assert_eq!(world.vote("bob", &asked, json!({ "answer": "blue" })).await, Ok(RequestStatus::Approved));
    assert_eq!(world.vote("carol", &asked, json!({ "answer": "red" })).await, Err(Code::Conflict));
    let answer = world.result(&task).await;
    assert_eq!(answer["status"], "answered", "{answer}");
    assert_eq!((&answer["value"], &answer["responder"]), (&json!("blue"), &json!("bob")));
    assert_eq!(world.requests(&task).await.len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn dual_control_needs_two_others() {
    let (_folder, world) = world().await;
    let ask = r#"__ask({kind: "dual_control", prompt: "deploy", n: 2, m: 3, approvers: ["alice", "bob", "carol"]})"#;
    let task = world.submit(&format!("return {ask}")).await;
    let asked = world.asked(&task).await;
    assert_eq!(world.task(&task).await.status, TaskStatus::AuthRequired);
    assert_eq!(asked.request["approval_request"]["approvers_required"], 2);
    let yes = json!({ "approved": true });
    let pending = Ok(RequestStatus::Pending);
    assert_eq!(world.vote("mallory", &asked, yes.clone()).await, Err(Code::PermissionDenied));
    assert_eq!(world.vote("alice", &asked, yes.clone()).await, pending, "the submitter does not count");
    assert_eq!(world.vote("bob", &asked, yes.clone()).await, pending);
    assert_eq!(world.vote("bob", &asked, yes.clone()).await, Err(Code::Conflict), "everybody votes once");
    assert_eq!(world.vote("carol", &asked, yes).await, Ok(RequestStatus::Approved));
    let answer = world.result(&task).await;
    assert_eq!(answer["status"], "approved", "{answer}");
    assert_eq!(answer["reviewers"], json!(["alice", "bob", "carol"]));
    let signature = answer["signatures"][1]["signature"].as_str().unwrap();
    assert!(signature.len() == 64 && answer["approved_at"].is_string(), "{answer}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_first_denial_denies_and_an_escalation_is_accepted() {
    let (_folder, world) = world().await;
    let task = world.submit(r#"return __ask({kind: "approval", prompt: "x", quorum: 2})"#).await;
    let asked = world.asked(&task).await;
    let no = json!({ "approved": false, "reason": "too early" });
    assert_eq!(world.vote("bob", &asked, no).await, Ok(RequestStatus::Denied));
    let answer = world.result(&task).await;
    assert_eq!((&answer["status"], &answer["reason"]), (&json!("denied"), &json!("too early")));
    let task = world.submit(r#"return __ask({kind: "escalation", role: "lead", prompt: "stuck"})"#).await;
    let asked = world.asked(&task).await;
    assert_eq!(world.task(&task).await.status, TaskStatus::InputRequired);
    assert_eq!(world.vote("bob", &asked, json!({ "approved": true })).await, Ok(RequestStatus::Approved));
    let answer = world.result(&task).await;
    assert_eq!((&answer["status"], &answer["role"]), (&json!("accepted"), &json!("lead")), "{answer}");
    assert_eq!((&answer["reviewer"], &answer["request_id"]), (&json!("bob"), &json!(asked.id)));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_approval_shows_whatever_the_script_brings_and_keeps_what_was_said() {
    let (_folder, world) = world().await;
    let script = r#"return request_approval("go?", {
        evidence: ["notes.md", {kind: "workspace_path", ref: "a.txt"}, 5], args: "all of it",
        capabilities_requested: [1], principal: 7
    })"#;
    let task = world.submit(script).await;
    let asked = world.asked(&task).await;
    let shown = &asked.request["approval_request"];
    let evidence = |kind: &str, of: &str| json!({ "kind": kind, "ref": of, "metadata": {} });
    let wanted =
        [evidence("reference", "notes.md"), evidence("workspace_path", "a.txt"), evidence("reference", "5")];
    assert_eq!(shown["evidence_refs"], json!(wanted));
    assert_eq!((&shown["args"], &shown["principal"]), (&json!({ "detail": "all of it" }), &json!("7")));
    let yes = json!({ "approved": true, "reason": "it is tested" });
    assert_eq!(world.vote("bob", &asked, yes).await, Ok(RequestStatus::Approved));
    assert_eq!(world.result(&task).await["reason"], "it is tested");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_deadline_settles_what_nobody_answered() {
    let (_folder, world) = world().await;
    let question = r#"__ask({kind: "question", prompt: "Which?", default: "red", timeout: 1m})"#;
    let task = world.submit(&format!("return {question}")).await;
    let asked = world.asked(&task).await;
    world.clock.0.store(61_000, Ordering::SeqCst);
    let answer = world.result(&task).await;
    assert_eq!((&answer["status"], &answer["value"]), (&json!("timeout"), &json!("red")), "{answer}");
    assert_eq!(world.vote("bob", &asked, json!({ "answer": "blue" })).await, Err(Code::Conflict));
    // What it tells is told with the commit of what comes next.
    let wait = r#"return __waitpoint("wait", {waitpoints: ["w"], timeout_ms: 60000})"#;
    let task = world.submit(&format!("__emit(\"update\", nil)\n{wait}")).await;
    assert!(world.until(&task, async |world| world.told(&task).await).await);
    world.clock.0.store(200_000, Ordering::SeqCst);
    assert_eq!(world.result(&task).await["status"], "timed_out");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_the_program_gives_up_is_withdrawn() {
    let (_folder, world) = world().await;
    let script = r#"
        let first = try { deadline 300ms { __ask({kind: "question", prompt: "Quick?"}) } } catch (e) { "late" }
        return {first: first, second: __ask({kind: "question", prompt: "And now?"})}
    "#;
    let task = world.submit(script).await;
    let quick = async |world: &World| !world.requests(&task).await.is_empty();
    assert!(world.until(&task, quick).await);
    let second = async |world: &World| world.requests(&task).await.len() == 2;
    assert!(world.until(&task, second).await);
    let requests = world.requests(&task).await;
    assert_eq!(
        (requests[0].status, &requests[0].response["resolution"]),
        (RequestStatus::Denied, &json!("canceled"))
    );
    assert_eq!(world.vote("bob", &requests[0], json!({ "answer": "yes" })).await, Err(Code::Conflict));
    assert_eq!(
        world.vote("bob", &requests[1], json!({ "answer": "yes" })).await,
        Ok(RequestStatus::Approved)
    );
    let answer = world.result(&task).await;
    assert_eq!((&answer["first"], &answer["second"]["value"]), (&json!("late"), &json!("yes")), "{answer}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cancelled_task_withdraws_what_it_asked() {
    let (_folder, world) = world().await;
    let script = r#"
        let waiting = spawn { return __waitpoint("wait", "w") }
        return __ask({kind: "approval", prompt: "x"})
    "#;
    let task = world.submit(script).await;
    let asked = async |world: &World| !world.requests(&task).await.is_empty();
    assert!(world.until(&task, asked).await);
    world.harness.cancel_task(&alice(), task.clone(), Default::default()).await.unwrap();
    assert_eq!(world.task(&task).await.status, TaskStatus::Canceled);
    assert_eq!(world.requests(&task).await[0].status, RequestStatus::Denied);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn runs_and_people_meet_at_waitpoints() {
    let (_folder, world) = world().await;
    let wait = r#"return __waitpoint("wait", {waitpoints: ["a", "b"]})"#;
    let waits = world.submit(&format!("__emit(\"update\", nil)\n{wait}")).await;
    let completes = world.submit(r#"return __waitpoint("complete", {id: "a", value: 1})"#).await;
    assert_eq!(world.result(&completes).await["status"], "completed");
    assert!(world.until(&waits, async |world| world.told(&waits).await).await);
    assert_eq!(world.task(&waits).await.status, TaskStatus::Working, "no person is waited for");
    let (harness, workspace) = (&world.harness, &world.workspace.id);
    let complete = async |id: &str, value: i32| {
        let request = request(json!({ "value": value }));
        let done = harness.complete_waitpoint(&alice(), workspace.clone(), id.into(), request).await;
        done.map_err(|error| error.to_string())
    };
    let cancel = async |id: &str| {
        let done = harness.cancel_waitpoint(&alice(), workspace.clone(), id.into(), Default::default()).await;
        done.map_err(|error| error.to_string())
    };
    assert_eq!(complete("c", 0).await.unwrap_err(), "No waitpoint `c` is visible to you.");
    let done = complete("b", 2).await.unwrap();
    assert_eq!((done.settled_by.as_deref(), done.task_ids), (Some("alice"), vec![waits.clone()]));
    assert_eq!(complete("b", 2).await.unwrap().settled_at, done.settled_at, "nothing has changed");
    let conflict = complete("b", 3).await.unwrap_err();
    assert_eq!(conflict, "Waitpoint `b` was completed by `alice` already with another value.");
    assert_eq!(cancel("b").await.unwrap_err(), "Waitpoint `b` was completed by `alice` already.");
    let over = world.result(&waits).await;
    assert_eq!(over["status"], "completed", "{over}");
    let values: Vec<&Value> =
        over["waitpoints"].as_array().unwrap().iter().map(|one| &one["value"]).collect();
    assert_eq!(values, [1, 2]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tool_of_a_script_goes_before_policy() {
    let (_folder, world) = world().await;
    let script = r#"
        let seen = __tool_begin({id: "c1", name: "look", args: {}, annotations: {kind: "read"}})
        let begun = __tool_begin({id: "c2", name: "deploy", args: {to: "prod"}})
        __tool_end({id: "c2", name: "deploy", status: "ok", output: "done"})
        let never = __tool_begin({id: "c3", name: "rm", args: {}, annotations: {kind: "read", policy: {auto_deny: ["rm"]}}})
        return {seen: seen.decision, begun: begun, never: never.decision}
    "#;
    let task = world.submit(script).await;
    let asked = world.asked(&task).await;
    assert_eq!((&asked.action["kind"], &asked.action["tool"]), (&json!("tool_call"), &json!("deploy")));
    let rewritten = json!({ "approved": true, "args": { "to": "test" } });
    assert_eq!(world.vote("bob", &asked, rewritten).await, Ok(RequestStatus::Approved));
    let begun = json!({ "decision": "allow", "reason": null, "args": { "to": "test" } });
    assert_eq!(world.result(&task).await, json!({ "seen": "allow", "begun": begun, "never": "deny" }));
    let of_deploy =
        world.events(&task, &["agent.tool_use", "tool.approved", "tool.completed", "agent.tool_result"]);
    let told: Vec<String> = (of_deploy.await.iter())
        .filter(|(_, payload)| payload["tool_call_id"] == "c2")
        .map(|(kind, _)| kind.clone())
        .collect();
    assert_eq!(told, ["agent.tool_use", "tool.approved", "tool.completed", "agent.tool_result"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn scripts_tell_and_read() {
    let (_folder, world) = world().await;
    let reader = world.submit(r#"return {found: __events("wait", {topic: "news", after: 0})}"#).await;
    let script = r#"
        __emit("progress", {done: 1, key: "AKIAIOSFODNN7EXAMPLE"})
        __emit("message", {text: "Hello."})
        let open = __requests({kind: "question"})
        let n = __events("emit", {topic: "news", kind: "k", payload: {n: 1}, headers: {a: "b"}})
        __events("emit", {topic: "other", kind: "k", payload: nil})
        return {open: len(open), same: n == __events("latest", "news"), read: __events("read", {topic: "news", after: 0})}
    "#;
    let asks = world.submit(r#"return __ask({kind: "question", prompt: "Sure?"})"#).await;
    world.asked(&asks).await;
    let task = world.submit(script).await;
    let told = world.result(&task).await;
    assert_eq!((&told["open"], &told["same"]), (&json!(1), &json!(true)), "{told}");
    assert_eq!((&told["read"][0]["payload"]["n"], told["read"].as_array().unwrap().len()), (&json!(1), 1));
    let update =
        json!({ "kind": "progress", "update": { "done": 1, "key": "[redacted: AWS access key id]" } });
    assert_eq!(
        world.events(&task, &["vendor.harn.script_update"]).await,
        [("vendor.harn.script_update".into(), update)]
    );
    // What it said on the way, and what it gave back.
    assert_eq!(world.events(&task, &["agent.message"]).await.len(), 2);
    assert_eq!(world.result(&reader).await["found"][0]["topic"], "news");
}

/// One life of a harness in which somebody answers; none when its log was stopped.
async fn life(folder: &Path, stop: Option<(FlushPoint, u64)>) -> Option<(Value, usize)> {
    let (tell, mut stopped) = watch::channel(false);
    let fault: Option<harn_log::sqlite::FaultHook> = stop.map(|(at, n)| {
        let hook = move |point, flush| {
            let stops = point == at && flush == n;
            if stops {
                tell.send_replace(true);
            }
            stops
        };
        Arc::new(hook) as _
    });
    let world = open(folder, Options { fault, ..Options::default() }).await?;
    let script = r#"
        let n = __events("emit", {topic: "t", kind: "k", payload: nil})
        let reply = __ask({kind: "question", prompt: "Sure?"})
        __waitpoint("complete", {id: "w", value: reply.value})
        let over = __waitpoint("wait", "w")
        return {count: len(__events("read", {topic: "t"})), value: over.value}
    "#;
    let (harness, actor) = (&world.harness, alice().actor);
    let create = request(json!({ "workspace_id": world.workspace.id }));
    let session = harness.create_session(&keyed("session"), create).await.ok()?.id;
    let submit = request(json!({ "input": user(script) }));
    let task = harness.submit_task(&keyed("task"), session, submit).await.ok()?.id;
    let filter = EventFilter { task: Some(task.clone()), ..EventFilter::default() };
    let mut feed = harness.subscribe(&actor, filter, None).await.ok()?;
    loop {
        let page = PageQuery::default();
        let requests = harness.task_permission_requests(&actor, task.clone(), page).await.ok()?.data;
        if let Some(asked) = requests.iter().find(|request| request.status == RequestStatus::Pending) {
            let reply = request(json!({ "answer": "yes" }));
            harness.respond(&keyed("answer"), asked.id.clone(), reply).await.ok()?;
        }
        tokio::select! {
            events = feed.next() => if events.ok()?.is_none() {
                return Some((world.result(&task).await, requests.len()));
            },
            Ok(_) = stopped.wait_for(|stopped| *stopped) => return None,
        }
    }
}

#[test]
fn a_script_stopped_at_every_commit_asks_once_and_ends_the_same() {
    let in_runtime = |folder: &Path, stop| {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let end = runtime.block_on(life(folder, stop));
        runtime.shutdown_timeout(std::time::Duration::from_secs(5));
        end
    };
    for n in 1.. {
        let mut is_stopped = false;
        for point in [FlushPoint::Before, FlushPoint::After] {
            let folder = tempfile::tempdir().unwrap();
            let end = match in_runtime(folder.path(), Some((point, n))) {
                Some(end) => end,
                None => {
                    is_stopped = true;
                    in_runtime(folder.path(), None).expect("a life that nobody stops ends")
                }
            };
            assert_eq!((&end.0, end.1), (&json!({ "count": 1, "value": "yes" }), 1), "{point:?} flush {n}");
        }
        if !is_stopped {
            assert!(n > 5, "only {n} flushes");
            return;
        }
    }
}
