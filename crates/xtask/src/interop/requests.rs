//! Our requests against the types of the official SDKs.

use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use harn_core::chat::ModelAnswer;
use harn_testkit::providers::{
    Fake, Provider, Turn, anthropic, gemini, ollama, openai_chat, openai_responses,
};
use parking_lot::Mutex;
use serde_json::{Value, json};

use super::adapter::{Adapters, ask};
use super::conversations::{all, request};
use super::install::Peers;
use super::report::Report;
use super::scenes::{SCENES, Scene};
use super::{material, process};

/// A model, and the keys of its requests that its provider documents and the SDK has no types for.
type Asked = (&'static str, &'static [&'static str]);

const ANTHROPIC: &[Asked] = &[
    ("anthropic:claude-sonnet-5-5", &[]),
    ("anthropic:claude-opus-5-5", &[]),
    ("anthropic:claude-opus-4-5", &[]),
    ("anthropic:a-model-nobody-knows", &[]),
];
const RESPONSES: &[Asked] = &[
    ("openai:gpt-6.1-sol", &[]),
    ("openai:gpt-6.1-terra", &[]),
    ("openai:gpt-4.1", &[]),
    ("openai:a-model-nobody-knows", &[]),
];
const CHAT: &[Asked] = &[
    ("compatible:gpt-6.1-terra", &[]),
    ("compatible:a-model-nobody-knows", &[]),
    ("azure:my-deployment", &[]),
    ("mistral:mistral-medium-3-5", &[]),
    ("xai:grok-4.5", &[]),
    ("together:openai/gpt-oss-120b", &[]),
    ("groq:openai/gpt-oss-120b", &[]),
    ("deepseek:deepseek-v4-pro", &["reasoning_content", "thinking"]),
    ("openrouter:openrouter/auto", &["reasoning"]),
    ("vllm:a-model-nobody-knows", &[]),
    ("llama.cpp:a-model-nobody-knows", &[]),
    ("lmstudio:a-model-nobody-knows", &[]),
];
const GEMINI: &[Asked] = &[
    ("google:gemini-3.8-flash", &[]),
    ("google:gemini-2.5-pro", &[]),
    ("google:gemini-2.5-flash", &[]),
    ("google:a-model-nobody-knows", &[]),
];
const OLLAMA: &[Asked] = &[("ollama:qwen3:8b", &[]), ("ollama:gpt-oss:20b", &[])];

pub async fn check(peers: &Peers, report: &mut Report) -> anyhow::Result<()> {
    let adapters = Adapters::new()?;
    let [.., scene, _] = &SCENES;
    let answer =
        answered::<anthropic::Anthropic>(&adapters, ANTHROPIC[0].0, anthropic::KEY, scene.anthropic());
    judge(peers, report, &adapters, "anthropic", ANTHROPIC, &answer.await?).await?;
    let answer = answered::<openai_responses::OpenAiResponses>(
        &adapters,
        RESPONSES[0].0,
        openai_responses::KEY,
        scene.openai_responses(),
    );
    judge(peers, report, &adapters, "openai_responses", RESPONSES, &answer.await?).await?;
    let answer =
        answered::<openai_chat::OpenAiChat>(&adapters, CHAT[0].0, openai_chat::KEY, scene.openai_chat());
    judge(peers, report, &adapters, "openai_chat", CHAT, &answer.await?).await?;
    let answer = answered::<gemini::Gemini>(&adapters, GEMINI[0].0, gemini::KEY, scene.gemini());
    judge(peers, report, &adapters, "gemini", GEMINI, &answer.await?).await?;
    let answer = answered::<ollama::Ollama>(&adapters, OLLAMA[0].0, "", Scene::ollama(scene));
    judge(peers, report, &adapters, "ollama", OLLAMA, &answer.await?).await
}

/// An answer with thoughts and calls, as the provider gives it.
async fn answered<P: Provider>(
    adapters: &Adapters,
    selector: &str,
    key: &str,
    said: P::Said,
) -> anyhow::Result<ModelAnswer> {
    let fake = Fake::<P>::start(vec![Turn::Answer(said)]).await;
    let model = adapters.connect(selector, &fake.url, key)?;
    let hello = request(vec![harn_core::chat::ChatMessage::user("Is Oslo colder than Rome?")]);
    Ok(ask(&model, hello).await?)
}

async fn judge(
    peers: &Peers,
    report: &mut Report,
    adapters: &Adapters,
    format: &str,
    models: &[Asked],
    answer: &ModelAnswer,
) -> anyhow::Result<()> {
    report.heading(&format!("{format}: our requests in the types of the official SDK"))?;
    let recorder = Recorder::start().await?;
    let mut sent = Vec::new();
    let mut unsent = Vec::new();
    for (selector, beyond) in models {
        for (name, request) in all(&adapters.provider(selector)?, answer) {
            let outcome = ask(&adapters.connect(selector, &recorder.url, "key")?, request).await;
            match recorder.take() {
                Some(body) => {
                    sent.push(json!({"model": selector, "name": name, "body": body, "beyond": beyond}));
                }
                None => unsent.push((*selector, format!("{name}: it was not sent: {:?}", outcome.err()))),
            }
        }
    }
    let count = sent.len();
    anyhow::ensure!(count > 0, "no request was sent");
    sent.extend(spoiled(&sent));
    let script = material().join("validate.py");
    let judged = process::json(&peers.python, &script, &[format], &json!(sent)).await?;
    let judged: Vec<Value> = judged.as_array().cloned().unwrap_or_default();
    anyhow::ensure!(judged.len() == sent.len(), "{} of {} requests were judged", judged.len(), sent.len());
    for (selector, beyond) in models {
        let own = || judged[..count].iter().filter(|one| one["model"] == *selector);
        let wrong = own().filter(|one| one["problems"] != json!([]));
        let wrong =
            wrong.map(|one| format!("{}: {}", one["name"].as_str().unwrap_or_default(), one["problems"]));
        let never = unsent.iter().filter(|(model, _)| model == selector).map(|(_, problem)| problem.clone());
        let problems: Vec<String> = wrong.chain(never).collect();
        let result = if problems.is_empty() { Ok(()) } else { Err(problems.join("\n           ")) };
        let besides =
            if beyond.is_empty() { String::new() } else { format!(", besides {}", beyond.join(" and ")) };
        report.check(&format!("{selector}: {} requests{besides}", own().count()), result)?;
    }
    let missed = judged[count..].iter().filter(|one| one["problems"] == json!([]));
    let missed: Vec<String> = missed.map(|one| one["name"].to_string()).collect();
    let result = if missed.is_empty() { Ok(()) } else { Err(format!("passed: {}", missed.join(", "))) };
    report.check(&format!("none of {} spoiled requests passes", judged.len() - count), result)
}

/// The requests of one model, again for each object in them with a key that nobody knows: proof that the judge looks
/// everywhere.
fn spoiled(sent: &[Value]) -> Vec<Value> {
    let first = sent.iter().filter(|one| one["model"] == sent[0]["model"]);
    let spoil = |one: &Value| {
        let mut places = Vec::new();
        objects(&one["body"], "/body", &mut places);
        let at = |place: &String| {
            let mut spoiled = one.clone();
            spoiled["name"] = json!(format!("{} at {place}", one["name"]));
            spoiled.pointer_mut(place)?.as_object_mut()?.insert("key_that_nobody_knows".into(), json!(1));
            Some(spoiled)
        };
        places.iter().filter_map(at).collect::<Vec<Value>>()
    };
    first.flat_map(spoil).collect()
}

/// Objects in which any key is as good as another: schemas, arguments and results.
const FREE: [&str; 9] = [
    "input_schema",
    "parameters",
    "parametersJsonSchema",
    "schema",
    "responseJsonSchema",
    "format",
    "args",
    "arguments",
    "response",
];

/// The pointers of all objects with keys of the format.
fn objects(value: &Value, place: &str, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            found.push(place.to_owned());
            let is_call = value["type"] == "tool_use";
            for (name, field) in fields {
                let is_free = FREE.contains(&name.as_str()) && !field["type"].as_str().is_some_and(is_format);
                let is_argument = is_call && name == "input";
                if !is_free && !is_argument {
                    objects(field, &format!("{place}/{name}"), found);
                }
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                objects(item, &format!("{place}/{index}"), found);
            }
        }
        _ => {}
    }
}

/// Whether a `format` is one of the provider's own objects, which have a schema within.
fn is_format(kind: &str) -> bool {
    kind.starts_with("json_")
}

/// A server that keeps what it is sent, and refuses it.
struct Recorder {
    url: String,
    body: Arc<Mutex<Option<Value>>>,
}

impl Recorder {
    async fn start() -> anyhow::Result<Self> {
        let body = Arc::new(Mutex::new(None));
        let app = Router::new().fallback(record).with_state(Arc::clone(&body));
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
        let url = format!("http://{}", listener.local_addr()?);
        tokio::spawn(async move { axum::serve(listener, app).await });
        Ok(Self { url, body })
    }

    /// What came since the last time.
    fn take(&self) -> Option<Value> {
        self.body.lock().take()
    }
}

async fn record(State(kept): State<Arc<Mutex<Option<Value>>>>, body: String) -> (StatusCode, &'static str) {
    *kept.lock() = serde_json::from_str(&body).ok();
    (StatusCode::BAD_REQUEST, "{\"error\": \"recorded\"}")
}
