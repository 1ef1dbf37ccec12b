//! Recordings: what passes through is unchanged, and the file plays the same answers without their secrets.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::fmt::Debug;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock};

use futures::{StreamExt, TryStreamExt, stream};
use harn_core::chat::{
    ChatMessage, ModelAnswer, ModelRef, ModelRequest, PartialCall, ProviderToolUse, StopReason, Thought,
    Usage,
};
use harn_core::price::{Prices, Rates};
use harn_core::tool::ToolCall;
use harn_model::{
    Chunk, Model, ModelCard, ModelError, ModelStream, Recording, RecordingError, RecordingModel, Redact,
    ScriptedModel, collect,
};
use serde_json::{Value, json};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

type Items = Vec<Result<Chunk, ModelError>>;

/// Answers a conversation by what the user said last, and lingers after the last item.
struct Fake(Vec<(&'static str, Items)>);

impl Model for Fake {
    fn reference(&self) -> ModelRef {
        ModelRef { provider: "fake".into(), model: "fake-1".into() }
    }

    fn card(&self) -> ModelCard {
        let rates = Rates { input: 3, output: 5, ..Prices::free().rates };
        let prices = Some(Prices { rates, ..Prices::free() });
        ModelCard { context_window: 4321, prices, ..ModelCard::default() }
    }

    fn stream(&self, request: ModelRequest) -> ModelStream {
        let said = match request.messages.last() {
            Some(ChatMessage::User { text, .. }) => text.clone(),
            other => panic!("{other:?}"),
        };
        let items = self.0.iter().find(|(when, _)| *when == said).unwrap().1.clone();
        let ended = matches!(items.last(), Some(Ok(Chunk::Stop(_)) | Err(_)));
        let items = stream::iter(items);
        if ended { items.chain(stream::pending()).boxed() } else { items.boxed() }
    }
}

fn redact() -> Redact {
    Arc::new(|text: &str| text.replace("SECRET", "[gone]"))
}

fn request(messages: Vec<ChatMessage>) -> ModelRequest {
    ModelRequest {
        model: ModelRef { provider: "fake".into(), model: "fake-1".into() },
        system: "".into(),
        messages: messages.into(),
        tools: [].into(),
        max_output_tokens: 100,
        thinking: Default::default(),
        output_schema: None,
        sampling: Default::default(),
    }
}

fn said(text: &str) -> ModelRequest {
    request(vec![ChatMessage::user(text)])
}

fn recording(path: &Path, answers: Vec<(&'static str, Items)>) -> (RecordingModel, Arc<Recording>) {
    let recording = Recording::open(path, redact()).unwrap();
    (RecordingModel::new(Arc::new(Fake(answers)), Arc::clone(&recording)), recording)
}

fn text(text: &str) -> Items {
    vec![Ok(Chunk::Text(text.into())), Ok(Chunk::Stop(StopReason::EndTurn))]
}

/// Everything up to the last item; nothing after it is waited for.
async fn heard(model: &impl Model, request: ModelRequest) -> Items {
    let mut items = Vec::new();
    let mut stream = model.stream(request);
    while let Some(item) = stream.next().await {
        let last = matches!(item, Ok(Chunk::Stop(_)) | Err(_));
        items.push(item);
        if last {
            break;
        }
    }
    items
}

async fn played(path: &Path, request: ModelRequest) -> Result<ModelAnswer, ModelError> {
    collect(ScriptedModel::from_file(path).unwrap().stream(request)).await
}

fn script(path: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

fn args(value: Value) -> serde_json::Map<String, Value> {
    value.as_object().unwrap().clone()
}

fn everything() -> Items {
    let thought =
        Thought { provider: "fake".into(), text: "SECRET".into(), opaque: json!({"signature": "seal"}) };
    let usage = Usage { cached_tokens: 3, cache_write_tokens: 4, thinking_tokens: 1, ..Usage::new(9, 2) };
    let call =
        |id: &str, given: Value| Chunk::ToolCall { id: id.into(), name: "run".into(), args: args(given) };
    vec![
        Ok(Chunk::Text("void SECRET".into())),
        Ok(Chunk::Restart),
        Ok(Chunk::Thinking("I know the SEC".into())),
        Ok(Chunk::Thinking("RET".into())),
        Ok(Chunk::Thought(thought)),
        Ok(Chunk::Text("It is SE".into())),
        Ok(Chunk::Text("CRET, ".into())),
        Ok(Chunk::ProviderTool(ProviderToolUse {
            name: "web_search".into(),
            input: json!({"query": "SECRET"}),
            output: Some(json!([{"title": "about SECRET"}])),
        })),
        Ok(Chunk::Text("yes.".into())),
        Ok(call("c", json!({"env": [{"SECRET": "a SECRET b"}], "count": 2}))),
        Ok(call("c", json!({}))),
        Ok(Chunk::PartialCall(PartialCall {
            id: "p".into(),
            name: "run".into(),
            raw: "{\"key\": \"SECRET".into(),
        })),
        Ok(Chunk::Usage(usage)),
        Ok(Chunk::Usage(Usage::new(0, 5))),
        Ok(Chunk::Stop(StopReason::Other("paused".into()))),
    ]
}

#[tokio::test]
async fn an_answer_passes_unchanged_and_is_played_without_its_secrets() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("script.json");
    let (model, recording) = recording(&path, vec![("go", everything())]);
    assert_eq!((model.reference(), model.card()), (Fake(vec![]).reference(), Fake(vec![]).card()));
    assert_eq!(heard(&model, said("go")).await, everything());
    recording.flush();

    let expected = ModelAnswer {
        text: "It is [gone], yes.".into(),
        thinking: "I know the [gone]".into(),
        provider_tools: vec![ProviderToolUse {
            name: "web_search".into(),
            input: json!({"query": "[gone]"}),
            output: Some(json!([{"title": "about [gone]"}])),
        }],
        tool_calls: vec![
            ToolCall {
                id: "c".into(),
                name: "run".into(),
                args: args(json!({"env": [{"[gone]": "a [gone] b"}], "count": 2})),
            },
            ToolCall { id: "c_2".into(), name: "run".into(), args: args(json!({})) },
        ],
        partial_calls: vec![PartialCall {
            id: "p".into(),
            name: "run".into(),
            raw: "{\"key\": \"[gone]".into(),
        }],
        usage: Usage { cached_tokens: 3, cache_write_tokens: 4, thinking_tokens: 1, ..Usage::new(9, 7) },
        ..ModelAnswer::stopped(StopReason::Other("paused".into()))
    };
    assert_eq!(played(&path, said("go")).await, Ok(expected));
    let replay = ScriptedModel::from_file(&path).unwrap();
    assert_eq!(replay.card(), model.card());
    let texts: Vec<Chunk> = replay.stream(said("go")).try_collect().await.unwrap();
    assert_eq!(texts.iter().filter(|chunk| matches!(chunk, Chunk::Text(_))).count(), 3);

    let written = std::fs::read_to_string(&path).unwrap();
    assert!(
        !written.contains("SECRET") && !written.contains("seal") && !written.contains("void"),
        "{written}"
    );
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    let files: Vec<_> =
        std::fs::read_dir(folder.path()).unwrap().map(|file| file.unwrap().file_name()).collect();
    assert_eq!(files, ["script.json"]);
}

#[tokio::test]
async fn every_way_to_stop_is_played_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("script.json");
    let stop = |reason| vec![Ok(Chunk::Stop(reason))];
    let call = Chunk::ToolCall { id: "c".into(), name: "n".into(), args: args(json!({})) };
    let answers = vec![
        ("end", stop(StopReason::EndTurn)),
        ("tool", stop(StopReason::ToolUse)),
        ("long", stop(StopReason::MaxTokens)),
        ("no", stop(StopReason::Refusal)),
        ("call", vec![Ok(call), Ok(Chunk::Stop(StopReason::EndTurn))]),
    ];
    let (model, recording) = recording(&path, answers.clone());
    for (when, items) in &answers {
        let answer = collect(model.stream(said(when))).await;
        recording.flush();
        assert_eq!(played(&path, said(when)).await, answer, "{items:?}");
    }
}

#[tokio::test]
async fn a_failed_call_is_an_error_until_the_call_succeeds_and_a_cancelled_one_is_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("script.json");
    let limited =
        |message: &str| ModelError::RateLimited { message: message.into(), retry_after_ms: Some(7) };
    let overloaded = ModelError::Overloaded { message: "busy".into() };
    let failing = vec![
        ("limit", vec![Ok(Chunk::Text("half".into())), Err(limited("too much SECRET"))]),
        ("again", vec![Err(overloaded.clone())]),
        ("cut", vec![Ok(Chunk::Text("half".into()))]),
        ("cancelled", text("never read to its end")),
    ];
    let (model, recording_one) = recording(&path, failing);
    for when in ["limit", "again", "cut"] {
        heard(&model, said(when)).await;
    }
    let mut cancelled = model.stream(said("cancelled"));
    assert_eq!(cancelled.next().await, Some(Ok(Chunk::Text("never read to its end".into()))));
    drop(cancelled);
    recording_one.flush();
    assert_eq!(played(&path, said("limit")).await, Err(limited("too much [gone]")));
    assert_eq!(played(&path, said("again")).await, Err(overloaded));
    assert_eq!(played(&path, said("cut")).await.unwrap_err().code(), "cut_stream");
    assert_eq!(played(&path, said("cancelled")).await.unwrap_err().code(), "invalid_request");
    assert_eq!(script(&path)["recorded"].as_array().unwrap().len(), 3);

    drop((model, recording_one));
    let (model, recording_two) = recording(&path, vec![("again", text("now"))]);
    heard(&model, said("again")).await;
    recording_two.flush();
    assert_eq!(played(&path, said("again")).await.unwrap().text, "now");
}

#[tokio::test]
async fn conversations_are_told_apart_by_how_they_begin_and_how_far_they_are() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("script.json");
    let long = "x".repeat(5000);
    let long: &'static str = long.leak();
    let answers = vec![
        ("fix", text("fixed")),
        ("fix the bug", text("the bug")),
        ("and now?", text("later")),
        ("use SECRET to log in", text("logged in")),
        (long, text("long")),
    ];
    let (model, recording) = recording(&path, answers);
    let asked = |first: &str| {
        let earlier = [ChatMessage::user(first), ChatMessage::assistant("earlier", vec![])];
        request([&earlier[..], &[ChatMessage::user("and now?")]].concat())
    };
    let requests = [said("fix"), said("fix the bug"), asked("fix"), said("use SECRET to log in"), said(long)];
    for request in &requests {
        heard(&model, request.clone()).await;
    }
    recording.flush();
    let mut texts = Vec::new();
    for request in requests {
        texts.push(played(&path, request).await.unwrap().text);
    }
    assert_eq!(texts, ["fixed", "the bug", "later", "logged in", "long"]);
    let firsts: Vec<usize> = script(&path)["recorded"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| entry["first"].as_str().unwrap().len())
        .collect();
    assert_eq!(firsts, [3, 11, 3, "use ".len(), 400]);
    assert!(played(&path, said("another one")).await.is_err());
}

#[tokio::test]
async fn calls_side_by_side_are_written_in_the_order_of_their_ends() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("script.json");
    let (model, recording) = recording(&path, vec![("a", text("1")), ("b", text("2")), ("c", text("3"))]);
    let mut streams: Vec<ModelStream> = ["a", "b", "c"].iter().map(|when| model.stream(said(when))).collect();
    for stream in &mut streams {
        stream.next().await;
    }
    for index in [2, 0, 1] {
        assert_eq!(streams[index].next().await, Some(Ok(Chunk::Stop(StopReason::EndTurn))));
    }
    recording.flush();
    let order: Vec<Value> =
        script(&path)["recorded"].as_array().unwrap().iter().map(|entry| entry["first"].clone()).collect();
    assert_eq!(order, [json!("c"), json!("a"), json!("b")]);
}

#[tokio::test]
async fn a_script_that_is_there_is_added_to_and_anything_else_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("script.json");
    let by_hand = json!({"responses": [{"text": "by hand"}], "after": "repeat_last"});
    std::fs::write(&path, by_hand.to_string()).unwrap();
    let (model, recording) = recording(&path, vec![("go", text("heard"))]);
    heard(&model, said("go")).await;
    // The last one who knows the recording waits for it.
    drop((model, recording));
    assert_eq!(played(&path, said("go")).await.unwrap().text, "heard");
    assert_eq!(played(&path, said("other")).await.unwrap().text, "by hand");
    let mut expected = by_hand;
    let response =
        json!({"text": "heard", "stop": "end_turn", "usage": {"input_tokens": 0, "output_tokens": 0}});
    expected["recorded"] = json!([{"first": "go", "turn": 0, "response": response}]);
    assert_eq!(script(&path), expected);
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);

    for content in ["", "notes of mine", "[]", r#"{"responses": [], "unknown": 1}"#] {
        let other = folder.path().join("notes.txt");
        std::fs::write(&other, content).unwrap();
        let refused = Recording::open(&other, redact()).err().unwrap();
        assert!(matches!(refused, RecordingError::Foreign { .. }), "{refused}");
        assert!(
            refused.to_string().starts_with(&format!("{} is there already", other.display())),
            "{refused}"
        );
        assert_eq!(std::fs::read_to_string(&other).unwrap(), content);
    }
    let folder_refused = Recording::open(folder.path(), redact()).err().unwrap();
    assert!(matches!(folder_refused, RecordingError::NotAFile { .. }), "{folder_refused}");
    let nowhere = Recording::open(&folder.path().join("no/such/script.json"), redact()).err().unwrap();
    assert!(matches!(nowhere, RecordingError::Unwritable { .. }), "{nowhere}");
}

#[tokio::test]
async fn what_a_script_cannot_hold_is_left_out_and_the_rest_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("script.json");
    let deep = (0..126).fold(json!("deep"), |inner, _| json!([inner]));
    let call = Chunk::ToolCall { id: "c".into(), name: "n".into(), args: args(json!({ "deep": deep })) };
    let answers =
        vec![("deep", vec![Ok(call), Ok(Chunk::Stop(StopReason::ToolUse))]), ("flat", text("kept"))];
    let (model, recording) = recording(&path, answers.clone());
    assert_eq!(heard(&model, said("deep")).await, answers[0].1);
    heard(&model, said("flat")).await;
    recording.flush();
    assert_eq!(played(&path, said("flat")).await.unwrap().text, "kept");
    assert_eq!(script(&path)["recorded"].as_array().unwrap().len(), 1);
}

/// Every warning of this process, with all its fields.
static WARNINGS: OnceLock<Mutex<Vec<String>>> = OnceLock::new();

struct Warnings;

struct Words(String);

impl Visit for Words {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0.push_str(&format!("{}={value:?} ", field.name()));
    }
}

impl Subscriber for Warnings {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() <= tracing::Level::WARN
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut words = Words(String::new());
        event.record(&mut words);
        WARNINGS.get_or_init(Mutex::default).lock().unwrap().push(words.0);
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

#[tokio::test]
async fn a_disk_that_takes_nothing_harms_no_call_and_is_told_once() {
    tracing::subscriber::set_global_default(Warnings).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let inner = folder.path().join("inner");
    std::fs::create_dir(&inner).unwrap();
    let path = inner.join("lost.json");
    let answers = vec![("a", text("1")), ("b", text("2")), ("c", text("3")), ("d", text("4"))];
    let (model, recording) = recording(&path, answers.clone());
    heard(&model, said("a")).await;
    recording.flush();
    std::fs::remove_dir_all(&inner).unwrap();
    for (when, items) in &answers[1..3] {
        assert_eq!(&heard(&model, said(when)).await, items);
    }
    recording.flush();
    let warnings = WARNINGS.get_or_init(Mutex::default).lock().unwrap().clone();
    let ours: Vec<&String> = warnings.iter().filter(|words| words.contains("lost.json")).collect();
    assert_eq!(ours.len(), 1, "{warnings:?}");
    assert!(ours[0].contains("could not be recorded") && ours[0].contains("No such file"), "{}", ours[0]);

    // Once there is room again, nothing is missing.
    std::fs::create_dir(&inner).unwrap();
    heard(&model, said("d")).await;
    recording.flush();
    let mut texts = Vec::new();
    for (when, _) in &answers {
        texts.push(played(&path, said(when)).await.unwrap().text);
    }
    assert_eq!(texts, ["1", "2", "3", "4"]);
}
