//! Every way in which an answer goes wrong, for every wire format: one table of formats, one test for each way.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use std::time::Duration;

use harn_core::chat::{ModelAnswer, ModelRequest, StopReason, Usage};
use harn_model::wire::FRAME_LIMIT;
use harn_model::{Chunk, Framing, Headers, HttpOptions, Model, ModelError, collect};
use support::adapters::{Adapter, KEY, Script, all, hello};
use support::chunks::{distorted, said};
use support::{Reply, Server, Step, gzip, options, run};

/// The adapter's answer to one request that gets this reply.
async fn asked(adapter: &Adapter, reply: Reply, options: HttpOptions) -> Result<ModelAnswer, ModelError> {
    let server = Server::start(vec![reply]).await;
    collect(adapter.model(adapter.target(&server.url), options).stream(hello())).await
}

fn greeting() -> ModelAnswer {
    ModelAnswer {
        text: "Grüße 🙂".into(),
        usage: Usage::new(3, 2),
        ..ModelAnswer::stopped(StopReason::EndTurn)
    }
}

fn greets(adapter: &Adapter) -> Vec<u8> {
    adapter.script(&Script::says("Grüße 🙂"))
}

#[tokio::test]
async fn every_status_has_its_kind() {
    let cases = [
        (400, "invalid_request"),
        (401, "auth"),
        (402, "permission_denied"),
        (403, "permission_denied"),
        (404, "not_found"),
        (408, "timeout"),
        (409, "invalid_request"),
        (410, "not_found"),
        (413, "context_too_long"),
        (422, "invalid_request"),
        (429, "rate_limited"),
        (451, "content_filter"),
        (500, "overloaded"),
        (502, "overloaded"),
        (503, "overloaded"),
        (504, "timeout"),
        (529, "overloaded"),
    ];
    for adapter in all() {
        for (status, code) in cases {
            let bodies = ["".to_owned(), "words".to_owned(), (adapter.complaint)("it is so").to_string()];
            for body in bodies {
                let reply = Reply::new(status, &[("content-type", "application/json")], &body);
                let error = asked(&adapter, reply, options(1)).await.unwrap_err();
                assert_eq!(error.code(), code, "{} {status} {body:?}", adapter.name);
                assert!(!body.contains("it is so") || error.message().contains("it is so"), "{error}");
            }
        }
    }
}

#[test]
fn no_status_and_no_body_confuses_the_reader_of_refusals() {
    let bodies =
        ["", "{", "[]", "[{}]", "null", "5", "{\"error\":5}", "{\"error\":{\"message\":[]}}", "<html>"];
    for adapter in all() {
        for status in 400..=599 {
            let found =
                bodies.map(|body| adapter.codec().refusal(status, &Headers::new(), body.as_bytes()).code());
            assert_eq!(found, [found[0]; 9], "{} {status}", adapter.name);
        }
    }
}

#[tokio::test]
async fn the_message_of_a_refusal_tells_a_conversation_that_is_too_long() {
    for adapter in all() {
        let body = (adapter.complaint)("the prompt exceeds the maximum context length of the model");
        let error = asked(&adapter, Reply::json(400, &body), options(1)).await.unwrap_err();
        assert_eq!(error.code(), "context_too_long", "{}", adapter.name);
    }
}

#[tokio::test]
async fn a_key_that_is_quoted_in_part_is_not_shown() {
    for adapter in all() {
        for quoted in [KEY, "sk-very-****", "sk-ve***-key", "sk-very-...key"] {
            let body = (adapter.complaint)(&format!("Incorrect API key provided: {quoted}. Look it up."));
            let error = asked(&adapter, Reply::json(401, &body), options(1)).await.unwrap_err();
            let message =
                "Incorrect API key provided: [key]. Look it up.; check the key in THE_KEY".to_owned();
            assert_eq!(error, ModelError::Auth { message }, "{}", adapter.name);
        }
    }
}

#[test]
fn a_cut_at_any_byte_is_never_taken_for_a_whole_answer() {
    let script =
        Script { text: "Grüße 🙂", ..Script::calls(&[(Some("a"), "{\"n\":1}"), (Some("b"), "{}")]) };
    for adapter in all() {
        let bytes = adapter.script(&script);
        let (whole, none) = adapter.decode(&hello(), &bytes);
        assert_eq!(none, None, "{}", adapter.name);
        // What tells the end is the last frame, wherever in it the end is told.
        let last = adapter.bytes(adapter.frames(&script).split_last().unwrap().1).len();
        for cut in 0..bytes.len() {
            let place = format!("{} cut at {cut}", adapter.name);
            let (chunks, error) = adapter.decode(&hello(), &bytes[..cut]);
            assert!("Grüße 🙂".starts_with(&said(&chunks)), "{place}");
            let is_whole = matches!(chunks.last(), Some(Chunk::Stop(_)));
            assert_eq!(is_whole, error.is_none(), "{place}");
            assert!(!is_whole || (cut > last && chunks == whole), "{place}: {chunks:?}");
            assert!(error.is_none_or(|error| error.code() == "cut_stream"), "{place}");
        }
    }
}

#[tokio::test]
async fn arguments_that_broke_off_are_kept_for_diagnosis() {
    let script = Script::calls(&[(Some("a"), "{\"path\": \"a.t")]);
    let streamed = all().into_iter().filter(|adapter| !matches!(adapter.name, "gemini" | "ollama"));
    for adapter in streamed {
        let frames = adapter.frames(&script);
        let end = frames.iter().position(|frame| frame.to_string().contains("a.t")).unwrap() + 1;
        let reply = adapter.reply(adapter.bytes(&frames[..end]));
        let error = asked(&adapter, reply, options(1)).await.unwrap_err();
        assert_eq!(error.code(), "cut_stream", "{}", adapter.name);
        let told = "the call of `look` got as far as `{\"path\": \"a.t`";
        assert!(error.message().ends_with(told), "{}: {error}", adapter.name);
    }
}

#[tokio::test]
async fn frames_that_are_no_json_are_malformed() {
    for adapter in all() {
        let broken = match adapter.framing {
            Framing::Lines => "{\"message\": {\n",
            Framing::Events | Framing::Whole => "data: {\"type\": {\n\n",
        };
        let error = asked(&adapter, adapter.reply(broken), options(1)).await.unwrap_err();
        assert_eq!(error.code(), "malformed", "{}: {error}", adapter.name);
    }
}

#[tokio::test]
async fn slow_bytes_and_packed_bytes_are_the_same_answer() {
    for adapter in all() {
        let bytes = greets(&adapter);
        let slow = bytes.iter().fold(adapter.reply(""), |reply, byte| reply.then(Step::Send(vec![*byte])));
        let headers = [("content-type", adapter.content_type()), ("content-encoding", "gzip")];
        let packed = Reply::new(200, &headers, gzip(&bytes));
        for reply in [adapter.reply(&bytes), slow, packed] {
            assert_eq!(asked(&adapter, reply, options(1)).await, Ok(greeting()), "{}", adapter.name);
        }
    }
}

#[tokio::test]
async fn silence_ends_in_a_timeout() {
    let brief = Duration::from_millis(40);
    for adapter in all() {
        let bytes = greets(&adapter);
        let half = &bytes[..bytes.len() / 2];
        let cases = [
            (Reply(vec![Step::Hold]), HttpOptions { first_byte: brief, ..options(1) }),
            (adapter.reply("").then(Step::Hold), HttpOptions { first_byte: brief, ..options(1) }),
            (adapter.reply(half).then(Step::Hold), HttpOptions { stall: brief, ..options(1) }),
            (adapter.reply(half).then(Step::Hold), HttpOptions { answer: brief, ..options(1) }),
        ];
        for (reply, options) in cases {
            let error = asked(&adapter, reply, options).await.unwrap_err();
            assert_eq!(error.code(), "timeout", "{}: {error}", adapter.name);
        }
    }
}

#[tokio::test]
async fn a_foreign_content_type_is_no_answer() {
    for adapter in all() {
        for kind in ["text/html", "text/plain", "image/png", "application/octet-stream"] {
            let reply = Reply::new(200, &[("content-type", kind)], greets(&adapter));
            let error = asked(&adapter, reply, options(1)).await.unwrap_err();
            assert_eq!(error.code(), "malformed", "{} {kind}", adapter.name);
            assert!(!error.to_string().contains(KEY));
        }
    }
}

#[tokio::test]
async fn an_answer_or_a_frame_of_absurd_size_is_given_up() {
    for adapter in all() {
        let small = HttpOptions { answer_limit: 60, ..options(1) };
        let error = asked(&adapter, adapter.reply(greets(&adapter)), small).await.unwrap_err();
        assert_eq!(error.code(), "malformed", "{}", adapter.name);

        let endless = [b"data: ".as_slice(), &vec![b'x'; FRAME_LIMIT + 1]].concat();
        let error = asked(&adapter, adapter.reply(endless).then(Step::Hold), options(1)).await.unwrap_err();
        assert_eq!(error.code(), "malformed", "{}", adapter.name);
        assert!(error.message().contains("longer than"), "{}: {error}", adapter.name);
    }
}

#[tokio::test]
async fn ids_that_are_doubled_or_missing_become_unique() {
    let script = Script::calls(&[(Some("a"), "{}"), (Some("a"), "{}"), (None, "{}"), (None, "{}")]);
    for adapter in all() {
        let answer = asked(&adapter, adapter.reply(adapter.script(&script)), options(1)).await.unwrap();
        let ids: Vec<_> = answer.tool_calls.iter().map(|call| call.id.as_str()).collect();
        assert_eq!(ids, ["a", "a_2", "call", "call_2"], "{}", adapter.name);
        assert_eq!(answer.stop, StopReason::ToolUse, "{}", adapter.name);
    }
}

#[tokio::test]
async fn arguments_that_are_no_object_are_malformed_and_kept() {
    for adapter in all() {
        for raw in ["{\"a\": ", "[1]", "{} {}", "null", "{'a': 1}"] {
            let script = Script::calls(&[(Some("a"), raw)]);
            let server = Server::start(vec![adapter.reply(adapter.script(&script))]).await;
            let model = adapter.model(adapter.target(&server.url), options(3));
            let (chunks, error) = run(&model, hello()).await;
            let kept = chunks.iter().find_map(|chunk| match chunk {
                Chunk::PartialCall(call) => Some((call.name.as_str(), call.raw.as_str())),
                _ => None,
            });
            let place = format!("{} {raw}", adapter.name);
            assert_eq!((kept, error.unwrap().code()), (Some(("look", raw)), "malformed"), "{place}");
            assert_eq!(server.seen().len(), 1, "{place}: asking again does not help");
        }
    }
}

#[test]
fn a_value_of_any_wrong_kind_anywhere_ends_in_one_stop_or_in_an_error() {
    let script = Script { text: "hi", ..Script::calls(&[(Some("a"), "{\"n\":1}")]) };
    for adapter in all() {
        for frames in distorted(&adapter.frames(&script)) {
            let (chunks, error) = adapter.decode(&hello(), &adapter.bytes(&frames));
            let stops = chunks.iter().filter(|chunk| matches!(chunk, Chunk::Stop(_))).count();
            let is_last = matches!(chunks.last(), Some(Chunk::Stop(_)));
            let expected = (usize::from(error.is_none()), error.is_none());
            assert_eq!((stops, is_last), expected, "{}: {frames:?}", adapter.name);
        }
    }
}

#[test]
fn what_nobody_knows_is_passed_over() {
    for adapter in all() {
        let frames = adapter.frames(&Script::says("Grüße 🙂"));
        let (expected, _) = adapter.decode(&hello(), &adapter.bytes(&frames));
        for place in 0..frames.len() {
            let mut frames = frames.clone();
            frames.insert(place, (adapter.novelty)());
            let found = adapter.decode(&hello(), &adapter.bytes(&frames));
            assert_eq!(found, (expected.clone(), None), "{} at {place}", adapter.name);
        }
    }
}

#[tokio::test]
async fn a_reason_to_stop_that_nobody_knows_is_no_success() {
    for adapter in all() {
        let script = Script { stop: Some("novelty"), ..Script::says("half") };
        let answer = asked(&adapter, adapter.reply(adapter.script(&script)), options(1)).await.unwrap();
        assert_eq!(answer.stop, StopReason::Other("novelty".into()), "{}", adapter.name);
    }
}

/// Every request of these tests has to be one that the adapter can write.
#[test]
fn the_table_writes_requests_without_a_key() {
    let request: ModelRequest = hello();
    for adapter in all() {
        let call = adapter.codec().call(&request, &adapter.target("https://a.example")).unwrap();
        assert_eq!(call.framing, adapter.framing, "{}", adapter.name);
        assert!(!format!("{call:?}").contains(KEY));
    }
}
