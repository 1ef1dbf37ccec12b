//! Our fakes of providers, judged by the official SDKs: an SDK and our adapter have to make the same of the same answer.

use harn_core::chat::ChatMessage;
use harn_testkit::providers::{
    Fake, Provider, Turn, anthropic, gemini, ollama, openai_chat, openai_responses,
};
use serde_json::{Value, json};

use super::adapter::{Adapters, ask};
use super::conversations::{request, results, turn};
use super::install::Peers;
use super::report::Report;
use super::scenes::{SCENES, Scene};
use super::told::{outcome, same, without_ids};
use super::{material, process};

/// One provider: its SDK, our adapter, and what both should make of it.
struct Side<P: Provider> {
    name: &'static str,
    script: &'static str,
    selector: &'static str,
    key: &'static str,
    said: fn(&Scene) -> P::Said,
    refusal: fn(u16) -> Value,
    /// A status, the SDK's exception for it, and the code of ours.
    errors: &'static [(u16, &'static str, &'static str)],
    /// What comes of a wrong key.
    stranger: Option<(u16, &'static str, &'static str)>,
    /// Tokens that the format tells apart: from the cache, and of thinking.
    counted: (u64, u64),
    /// Whether calls have ids on the wire.
    ids: Ids,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Ids {
    Given,
    None,
}

/// One request, and what is expected of it.
struct Step<S> {
    name: String,
    streamed: bool,
    /// Goes on from the answer before.
    follows: bool,
    /// None for a request with a wrong key, which never comes to a turn.
    turn: Option<Turn<S>>,
    sdk: Value,
    ours: Value,
}

pub async fn check(peers: &Peers, report: &mut Report) -> anyhow::Result<()> {
    let adapters = Adapters::new()?;
    speak(peers, report, &adapters, &anthropic_side()).await?;
    speak(peers, report, &adapters, &chat_side()).await?;
    speak(peers, report, &adapters, &responses_side()).await?;
    speak(peers, report, &adapters, &gemini_side()).await?;
    speak(peers, report, &adapters, &ollama_side()).await
}

async fn speak<P: Provider>(
    peers: &Peers,
    report: &mut Report,
    adapters: &Adapters,
    side: &Side<P>,
) -> anyhow::Result<()> {
    report.heading(&format!("{}: the official SDK and our adapter at our fake", side.name))?;
    let asked = steps(side);
    let input: Vec<Value> = asked
        .iter()
        .map(|step| {
            let mut told = json!({"streamed": step.streamed, "follows": step.follows});
            if step.turn.is_none() {
                told["key"] = json!("wrong");
            }
            told
        })
        .collect();
    let fake = Fake::<P>::start(steps(side).into_iter().filter_map(|step| step.turn).collect()).await;
    let input = json!({"url": fake.url, "key": side.key, "steps": input});
    let script = material().join("clients").join(side.script);
    let found = process::json(&peers.python, &script, &[], &input).await?;
    for (index, step) in asked.iter().enumerate() {
        let delivery = if step.streamed { "streamed" } else { "whole" };
        report.check(&format!("SDK, {delivery}: {}", step.name), same(&step.sdk, &found[index]))?;
    }
    ours(report, adapters, side).await
}

/// The same answers, read by our adapter.
async fn ours<P: Provider>(report: &mut Report, adapters: &Adapters, side: &Side<P>) -> anyhow::Result<()> {
    let mut previous = None;
    for step in steps(side).into_iter().filter(|step| step.streamed) {
        let key = if step.turn.is_some() { side.key } else { "wrong" };
        // A fake remembers the signatures that it gave out, so that a step that follows needs the same one.
        let (fake, mut messages) = match previous.take().filter(|_| step.follows) {
            Some(before) => before,
            None => {
                let turns = steps(side).into_iter().filter(|other| other.streamed);
                let turns = turns.skip_while(|other| other.name != step.name).take(2);
                let fake = Fake::<P>::start(turns.filter_map(|other| other.turn).collect()).await;
                (fake, vec![ChatMessage::user("Is Oslo colder than Rome?")])
            }
        };
        let model = adapters.connect(side.selector, &fake.url, key)?;
        let answer = ask(&model, request(messages.clone())).await;
        let mut found = outcome(&answer);
        if side.ids == Ids::None {
            found = without_ids(found);
        }
        if let Some(told) = found.as_object_mut() {
            told.remove("message");
        }
        report.check(&format!("Harn: {}", step.name), same(&step.ours, &found))?;
        if let Ok(answer) = answer {
            messages.push(turn(&answer));
            messages.extend(results(&answer));
            previous = Some((fake, messages));
        }
    }
    Ok(())
}

fn steps<P: Provider>(side: &Side<P>) -> Vec<Step<P::Said>> {
    let mut steps = Vec::new();
    for streamed in [true, false] {
        let scene = |scene: &Scene, name: String, follows| {
            let told = scene.told(side.counted.0, side.counted.1);
            let told = if side.ids == Ids::None { without_ids(told) } else { told };
            let turn = Some(Turn::Answer((side.said)(scene)));
            Step { name, streamed, follows, turn, sdk: told.clone(), ours: told }
        };
        steps.extend(SCENES.iter().map(|one| scene(one, one.name.into(), false)));
        let [words, .., thoughtful, _] = &SCENES;
        steps.push(scene(thoughtful, "a call, to be answered".into(), false));
        steps.push(scene(words, "the answer after its results".into(), true));
        let failed = |name: String, turn, (status, class, code): (u16, &str, &str)| Step {
            name,
            streamed,
            follows: false,
            turn,
            sdk: json!({"error": {"class": class, "status": status, "detail": null}}),
            ours: json!({ "error": code }),
        };
        steps.extend(side.errors.iter().map(|error| {
            let turn = Turn::Refuse(error.0, (side.refusal)(error.0));
            failed(format!("status {}", error.0), Some(turn), *error)
        }));
        steps.extend(side.stranger.map(|error| failed("a wrong key".into(), None, error)));
    }
    steps
}

fn anthropic_side() -> Side<anthropic::Anthropic> {
    Side {
        name: "Anthropic Messages",
        script: "anthropic_sdk.py",
        selector: "anthropic:claude-sonnet-5-5",
        key: anthropic::KEY,
        said: Scene::anthropic,
        refusal: |status| {
            let kind = match status {
                403 => "permission_error",
                404 => "not_found_error",
                413 => "request_too_large",
                429 => "rate_limit_error",
                500 => "api_error",
                529 => "overloaded_error",
                _ => "invalid_request_error",
            };
            json!({"type": "error", "error": {"type": kind, "message": "m"}, "request_id": "req_1"})
        },
        errors: &[
            (400, "BadRequestError", "invalid_request"),
            (403, "PermissionDeniedError", "permission_denied"),
            (404, "NotFoundError", "not_found"),
            (413, "ContentTooLargeError", "context_too_long"),
            (429, "RateLimitError", "rate_limited"),
            (500, "InternalServerError", "overloaded"),
            (529, "OverloadedError", "overloaded"),
        ],
        stranger: Some((401, "AuthenticationError", "auth")),
        counted: (16, 4),
        ids: Ids::Given,
    }
}

fn openai_refusal(status: u16) -> Value {
    let kind = if status >= 500 { "server_error" } else { "invalid_request_error" };
    json!({"error": {"message": "m", "type": kind, "param": null, "code": null}})
}

const OPENAI_ERRORS: &[(u16, &str, &str)] = &[
    (400, "BadRequestError", "invalid_request"),
    (403, "PermissionDeniedError", "permission_denied"),
    (404, "NotFoundError", "not_found"),
    (422, "UnprocessableEntityError", "invalid_request"),
    (429, "RateLimitError", "rate_limited"),
    (500, "InternalServerError", "overloaded"),
    (503, "InternalServerError", "overloaded"),
];

fn chat_side() -> Side<openai_chat::OpenAiChat> {
    Side {
        name: "OpenAI Chat Completions",
        script: "openai_chat_sdk.py",
        selector: "compatible:gpt-6.1-terra",
        key: openai_chat::KEY,
        said: Scene::openai_chat,
        refusal: openai_refusal,
        errors: OPENAI_ERRORS,
        stranger: Some((401, "AuthenticationError", "auth")),
        counted: (16, 4),
        ids: Ids::Given,
    }
}

fn responses_side() -> Side<openai_responses::OpenAiResponses> {
    Side {
        name: "OpenAI Responses",
        script: "openai_responses_sdk.py",
        selector: "openai:gpt-6.1-sol",
        key: openai_responses::KEY,
        said: Scene::openai_responses,
        refusal: openai_refusal,
        errors: OPENAI_ERRORS,
        stranger: Some((401, "AuthenticationError", "auth")),
        counted: (16, 4),
        ids: Ids::Given,
    }
}

fn gemini_side() -> Side<gemini::Gemini> {
    Side {
        name: "Gemini",
        script: "gemini_sdk.py",
        selector: "google:gemini-3.8-flash",
        key: gemini::KEY,
        said: Scene::gemini,
        refusal: |status| {
            let name = match status {
                403 => "PERMISSION_DENIED",
                404 => "NOT_FOUND",
                429 => "RESOURCE_EXHAUSTED",
                500 => "INTERNAL",
                503 => "UNAVAILABLE",
                _ => "INVALID_ARGUMENT",
            };
            json!({"error": {"code": status, "message": "m", "status": name}})
        },
        errors: &[
            (400, "ClientError", "invalid_request"),
            (403, "ClientError", "permission_denied"),
            (404, "ClientError", "not_found"),
            (429, "ClientError", "rate_limited"),
            (500, "ServerError", "overloaded"),
            (503, "ServerError", "overloaded"),
        ],
        // Google says so with the status of any other mistake.
        stranger: Some((400, "ClientError", "auth")),
        counted: (16, 4),
        ids: Ids::Given,
    }
}

fn ollama_side() -> Side<ollama::Ollama> {
    Side {
        name: "Ollama",
        script: "ollama_sdk.py",
        selector: "ollama:qwen3:8b",
        key: "",
        said: Scene::ollama,
        refusal: |_| json!({"error": "m"}),
        errors: &[
            (400, "ResponseError", "invalid_request"),
            (404, "ResponseError", "not_found"),
            (500, "ResponseError", "overloaded"),
            (503, "ResponseError", "overloaded"),
        ],
        stranger: None,
        counted: (0, 0),
        ids: Ids::None,
    }
}
