//! Our adapters at aimock, a server that nobody here wrote.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use futures::{StreamExt, stream};
use harn_core::chat::{ModelAnswer, ModelRequest};
use harn_model::providers::anthropic::AnthropicCodec;
use harn_model::providers::gemini::GeminiCodec;
use harn_model::providers::ollama::OllamaCodec;
use harn_model::providers::openai_chat::OpenAiChatCodec;
use harn_model::providers::openai_responses::OpenAiResponsesCodec;
use harn_model::{Auth, Chunk, Codec, Credential, Delivery, HttpModel, Model, ModelError, Target, collect};
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::Child;

use super::adapter::{Adapters, options};
use super::cases::{Ability, Case, Expected, all};
use super::conversations::{results, turn};
use super::install::Peers;
use super::report::Report;
use super::told::{outcome, same, without_ids};
use super::{material, process, target};

/// A format of aimock, and the adapter that speaks it.
struct Format {
    name: &'static str,
    selector: &'static str,
    /// What follows aimock's address in the base URL.
    base: &'static str,
    codec: fn() -> Arc<dyn Codec>,
    auth: fn() -> Auth,
    ids: Ids,
    finish: Finish,
    /// What aimock cannot do in this format, and why.
    lacks: &'static [(Ability, &'static str)],
}

/// Whether aimock gives calls the ids of its fixtures.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ids {
    Kept,
    Lost,
}

/// How an answer with calls ends.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Finish {
    AsItDoes,
    /// As every other answer. aimock's own `FUNCTION_CALL` is no word of Gemini: its SDK does not have it, and the
    /// provider says `STOP`.
    AsWords,
}

fn header(name: &str) -> Auth {
    Auth::Header(name.into())
}

const FORMATS: &[Format] = &[
    Format {
        name: "Anthropic Messages",
        selector: "anthropic:claude-sonnet-5-5",
        base: "",
        codec: || Arc::new(AnthropicCodec),
        auth: || header("x-api-key"),
        ids: Ids::Kept,
        finish: Finish::AsItDoes,
        lacks: &[(Ability::Filter, "aimock ends it with `content_filter`, which Anthropic does not say")],
    },
    Format {
        name: "OpenAI Responses",
        selector: "openai:gpt-6.1-sol",
        base: "/v1",
        codec: || Arc::new(OpenAiResponsesCodec),
        auth: || Auth::Bearer,
        ids: Ids::Kept,
        finish: Finish::AsItDoes,
        lacks: &[
            (Ability::Limit, "aimock leaves out `incomplete_details`, which say why"),
            (Ability::Filter, "aimock sends a failure without its error"),
        ],
    },
    Format {
        name: "OpenAI Chat Completions",
        selector: "compatible:gpt-6.1-terra",
        base: "/v1",
        codec: || Arc::new(OpenAiChatCodec),
        auth: || Auth::Bearer,
        ids: Ids::Kept,
        finish: Finish::AsItDoes,
        lacks: &[],
    },
    Format {
        name: "OpenRouter",
        selector: "openrouter:openai/gpt-6.1-terra",
        base: "/api/v1",
        codec: || Arc::new(OpenAiChatCodec),
        auth: || Auth::Bearer,
        ids: Ids::Kept,
        finish: Finish::AsItDoes,
        lacks: &[],
    },
    Format {
        name: "Azure OpenAI",
        selector: "azure:gpt-6.1-terra",
        base: "",
        codec: || Arc::new(OpenAiChatCodec),
        auth: || header("api-key"),
        ids: Ids::Kept,
        finish: Finish::AsItDoes,
        lacks: &[],
    },
    Format {
        name: "Gemini",
        selector: "google:gemini-3.8-flash",
        base: "/v1beta",
        codec: || Arc::new(GeminiCodec),
        auth: || header("x-goog-api-key"),
        ids: Ids::Kept,
        finish: Finish::AsWords,
        lacks: &[],
    },
    Format {
        name: "Ollama",
        selector: "ollama:qwen3:8b",
        base: "",
        codec: || Arc::new(OllamaCodec),
        auth: || Auth::None,
        ids: Ids::Lost,
        finish: Finish::AsItDoes,
        lacks: &[
            (Ability::Usage, "aimock counts no tokens in this format"),
            (Ability::Thinking, "aimock sends it as `reasoning_content`, which Ollama does not"),
            (Ability::Limit, "aimock always ends with `stop` in this format"),
            (Ability::Filter, "Ollama has no filter"),
        ],
    },
];

pub async fn check(peers: &Peers, report: &mut Report) -> anyhow::Result<()> {
    let adapters = Adapters::new()?;
    for format in FORMATS {
        report.heading(&format!("{}: our adapter at aimock", format.name))?;
        // One for each format, because some of its fixtures count how often they were asked for.
        let server = Server::start(&peers.aimock, &fixtures(format)?).await?;
        let url = format!("{}{}", server.url, format.base);
        let streaming = adapters.connect(format.selector, &url, "key")?;
        for case in all() {
            let lacking = format.lacks.iter().find(|(ability, _)| Some(*ability) == case.needs);
            match lacking {
                Some((_, why)) => report.skipped(case.name, why)?,
                None => {
                    let model = streaming.clone().with_options(options(case.attempts));
                    report
                        .check(&format!("streamed: {}", case.name), run(&model, &case, format.ids).await)?;
                }
            }
        }
        let whole = whole(format, &adapters, &url);
        let at_once = ["words", "two calls", "words and a call", "a call, its result, and words"];
        for case in all().iter().filter(|case| at_once.contains(&case.name)) {
            report.check(&format!("whole: {}", case.name), run(&whole, case, format.ids).await)?;
        }
    }
    Ok(())
}

/// The fixtures for a format, in a file of their own.
fn fixtures(format: &Format) -> anyhow::Result<PathBuf> {
    let mut all: Value = serde_json::from_str(&std::fs::read_to_string(material().join("aimock.json"))?)?;
    for fixture in all["fixtures"].as_array_mut().into_iter().flatten() {
        if format.finish == Finish::AsWords && fixture["response"].get("toolCalls").is_some() {
            fixture["response"]["finishReason"] = "stop".into();
        }
    }
    let file = target().join("interop/aimock.json");
    std::fs::write(&file, all.to_string())?;
    Ok(file)
}

/// An adapter that asks for the answer at once, which no configuration does yet.
fn whole(format: &Format, adapters: &Adapters, url: &str) -> HttpModel {
    let (provider, model) = format.selector.split_once(':').unwrap_or_default();
    let mut target = Target::new(provider, model, url, (format.auth)());
    target.delivery = Delivery::Whole;
    if provider == "azure" {
        target.options.insert("dialect".into(), "azure".into());
    }
    let key = Credential::new("key", "KEY");
    HttpModel::new((format.codec)(), target, key, adapters.transport()).with_options(options(1))
}

async fn run(model: &HttpModel, case: &Case, ids: Ids) -> Result<(), String> {
    let (answer, pieces) = ask(model, case.ask.clone()).await;
    match &case.expected {
        Expected::Answer(told) => as_told(told, &answer, ids),
        Expected::Pieces(told) => {
            as_told(told, &answer, ids)?;
            if pieces > 1 { Ok(()) } else { Err(format!("it came in {pieces} piece")) }
        }
        Expected::Counted(told, input, output) => {
            as_told(told, &answer, ids)?;
            let used = answer.map(|answer| answer.usage).unwrap_or_default();
            let (wanted, found) = ((*input, *output), (used.input_tokens, used.output_tokens));
            if wanted == found { Ok(()) } else { Err(format!("the tokens are {found:?} and not {wanted:?}")) }
        }
        Expected::Trip(told, words) => {
            as_told(told, &answer, ids)?;
            let answer = answer.map_err(|error| error.to_string())?;
            let mut messages = case.ask.messages.to_vec();
            messages.push(turn(&answer));
            messages.extend(results(&answer));
            let (answer, _) =
                ask(model, ModelRequest { messages: messages.into(), ..case.ask.clone() }).await;
            match answer {
                Ok(answer) if answer.text == *words => Ok(()),
                other => Err(format!("after the result: {}", outcome(&other))),
            }
        }
        Expected::Error(code, wait) => match answer {
            Err(error) if error.code() == *code && asked_wait(&error) == *wait => Ok(()),
            other => Err(format!("instead of {code} with a wait of {wait:?}: {other:?}")),
        },
    }
}

fn asked_wait(error: &ModelError) -> Option<u64> {
    match error {
        ModelError::RateLimited { retry_after_ms, .. } => *retry_after_ms,
        _ => None,
    }
}

fn as_told(expected: &Value, answer: &Result<ModelAnswer, ModelError>, ids: Ids) -> Result<(), String> {
    let mut found = outcome(answer);
    if let Some(told) = found.as_object_mut() {
        told.remove("usage");
    }
    match ids {
        Ids::Kept => same(expected, &found),
        Ids::Lost => same(&without_ids(expected.clone()), &without_ids(found)),
    }
}

/// The answer, and in how many pieces its words came.
async fn ask(model: &HttpModel, request: ModelRequest) -> (Result<ModelAnswer, ModelError>, usize) {
    let chunks: Vec<Result<Chunk, ModelError>> = model.stream(request).collect().await;
    let pieces = chunks.iter().filter(|chunk| matches!(chunk, Ok(Chunk::Text(_)))).count();
    (collect(stream::iter(chunks)).await, pieces)
}

/// aimock, as long as it is held.
struct Server {
    url: String,
    _child: Child,
}

impl Server {
    async fn start(script: &Path, fixtures: &Path) -> anyhow::Result<Self> {
        let mut command = process::command("node");
        command.arg(script).args(["--port", "0", "--validate-on-load", "--strict", "--fixtures"]);
        command.arg(fixtures).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().context("aimock could not be started")?;
        let stdout = child.stdout.take().context("aimock has no output")?;
        let mut lines = BufReader::new(stdout).lines();
        let listening = async {
            while let Some(line) = lines.next_line().await? {
                if let Some((_, url)) = line.split_once("listening on ") {
                    return Ok(url.trim().to_owned());
                }
            }
            anyhow::bail!("aimock ended before it listened; try it by hand: node {}", script.display())
        };
        let url = tokio::time::timeout(Duration::from_secs(30), listening)
            .await
            .context("aimock did not listen within 30 seconds")??;
        // Its log has to be read, lest it waits for a reader.
        tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
        Ok(Self { url, _child: child })
    }
}
