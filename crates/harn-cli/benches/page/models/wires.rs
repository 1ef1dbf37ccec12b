//! Prepared answers: what each provider sends, head and chunks, as many deltas as a measurement wants.

use std::sync::Arc;

use harn_model::Codec;
use harn_model::providers::anthropic::AnthropicCodec;
use harn_model::providers::gemini::GeminiCodec;
use harn_model::providers::ollama::OllamaCodec;
use harn_model::providers::openai_chat::OpenAiChatCodec;
use harn_model::providers::openai_responses::OpenAiResponsesCodec;
use serde_json::json;

/// About as long as a token or four.
const WORDS: &str = "and then the cat sat";
/// A piece of a call's arguments.
const ARGUMENTS: &str =
    "all that was asked of this call, in words that need no escape, again and again, until it is a MB";
const FINGERPRINT: &str = "\"service_tier\":\"default\",\"system_fingerprint\":\"fp_44709d6fcb\"";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wire {
    Anthropic,
    Chat,
    Responses,
    Gemini,
    Ollama,
}

impl Wire {
    pub const ALL: [Self; 5] = [Self::Anthropic, Self::Chat, Self::Responses, Self::Gemini, Self::Ollama];
    /// Those that send the arguments of a call in pieces.
    pub const IN_PIECES: [Self; 3] = [Self::Anthropic, Self::Chat, Self::Responses];

    pub fn name(self) -> &'static str {
        match self {
            Self::Anthropic => "Anthropic Messages",
            Self::Chat => "OpenAI Chat",
            Self::Responses => "OpenAI Responses",
            Self::Gemini => "Gemini",
            Self::Ollama => "Ollama",
        }
    }

    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|wire| wire.name() == name)
    }

    pub fn codec(self) -> Arc<dyn Codec> {
        match self {
            Self::Anthropic => Arc::new(AnthropicCodec),
            Self::Chat => Arc::new(OpenAiChatCodec),
            Self::Responses => Arc::new(OpenAiResponsesCodec),
            Self::Gemini => Arc::new(GeminiCodec),
            Self::Ollama => Arc::new(OllamaCodec),
        }
    }

    /// An answer of that many pieces of text.
    pub fn text(self, deltas: usize) -> Vec<u8> {
        let frames = match self {
            Self::Anthropic => anthropic(
                r#"{"type":"text","text":""}"#,
                &delta_of_anthropic("text_delta", "text", WORDS),
                deltas,
                "end_turn",
            ),
            Self::Chat => chat(&format!(r#"{{"content":"{WORDS}"}}"#), deltas, "stop"),
            Self::Responses => responses_text(deltas),
            Self::Gemini => gemini(deltas),
            Self::Ollama => ollama(deltas),
        };
        self.answer(&frames)
    }

    /// An answer of one call whose arguments come in that many pieces, for those of `IN_PIECES`.
    pub fn call(self, pieces: usize) -> Vec<u8> {
        let frames = match self {
            Self::Anthropic => anthropic_call(pieces),
            Self::Chat => chat_call(pieces),
            Self::Responses => responses_call(pieces),
            Self::Gemini | Self::Ollama => Vec::new(),
        };
        self.answer(&frames)
    }

    /// The answer as it goes over the wire: the head, each frame in a chunk of its own, the end.
    fn answer(self, frames: &[String]) -> Vec<u8> {
        let mut bytes = format!(
            "HTTP/1.1 200 OK\r\n{}\r\ndate: Mon, 16 Nov 2026 06:00:00 GMT\r\ntransfer-encoding: chunked\r\n\r\n",
            self.head()
        )
        .into_bytes();
        for frame in frames {
            bytes.extend_from_slice(format!("{:x}\r\n{frame}\r\n", frame.len()).as_bytes());
        }
        bytes.extend_from_slice(b"0\r\n\r\n");
        bytes
    }

    fn head(self) -> &'static str {
        match self {
            Self::Anthropic => {
                "content-type: text/event-stream; charset=utf-8\r\ncache-control: no-cache\r\n\
                 anthropic-ratelimit-requests-limit: 4000\r\nanthropic-ratelimit-requests-remaining: 3999\r\n\
                 anthropic-ratelimit-requests-reset: 2026-11-16T06:00:00Z\r\n\
                 anthropic-ratelimit-tokens-limit: 480000\r\nanthropic-ratelimit-tokens-remaining: 480000\r\n\
                 anthropic-ratelimit-tokens-reset: 2026-11-16T06:00:00Z\r\n\
                 request-id: req_011CSHoEeqs5C35K2UUqR7Fy\r\nserver: cloudflare\r\nx-robots-tag: none"
            }
            Self::Chat | Self::Responses => {
                "content-type: text/event-stream; charset=utf-8\r\nopenai-version: 2020-10-01\r\n\
                 openai-processing-ms: 201\r\nopenai-organization: org-1\r\nx-ratelimit-limit-requests: 10000\r\n\
                 x-ratelimit-limit-tokens: 2000000\r\nx-ratelimit-remaining-requests: 9999\r\n\
                 x-ratelimit-remaining-tokens: 1999980\r\nx-ratelimit-reset-requests: 6ms\r\n\
                 x-ratelimit-reset-tokens: 0s\r\nx-request-id: req_8f0a2c3b9d5e4f7a\r\nserver: cloudflare\r\n\
                 x-content-type-options: nosniff"
            }
            Self::Gemini => {
                "content-type: text/event-stream\r\ncontent-disposition: attachment\r\nvary: Origin, X-Origin, \
                 Referer\r\nserver: scaffolding on HTTPServer2\r\nx-xss-protection: 0\r\nx-frame-options: \
                 SAMEORIGIN\r\nx-content-type-options: nosniff\r\nserver-timing: gfet4t7; dur=512"
            }
            Self::Ollama => "content-type: application/x-ndjson",
        }
    }
}

fn event(name: &str, data: &str) -> String {
    format!("event: {name}\ndata: {data}\n\n")
}

fn delta_of_anthropic(kind: &str, field: &str, piece: &str) -> String {
    let data = format!(
        r#"{{"type":"content_block_delta","index":0,"delta":{{"type":"{kind}","{field}":{}}}}}"#,
        json!(piece)
    );
    event("content_block_delta", &data)
}

fn anthropic(block: &str, delta: &str, deltas: usize, stop: &str) -> Vec<String> {
    anthropic_of(block, vec![delta.to_owned(); deltas], stop)
}

fn anthropic_call(pieces: usize) -> Vec<String> {
    let block = r#"{"type":"tool_use","id":"toolu_01T1x1fJ34qAmk2tNTrN7Up6","name":"write_file","input":{}}"#;
    let delta = |piece: &String| delta_of_anthropic("input_json_delta", "partial_json", piece);
    anthropic_of(block, arguments(pieces).iter().map(delta).collect(), "tool_use")
}

fn anthropic_of(block: &str, deltas: Vec<String>, stop: &str) -> Vec<String> {
    let start = event(
        "message_start",
        r#"{"type":"message_start","message":{"id":"msg_014p7gG3wDgGV9EUtLvnow3U","type":"message","role":"assistant","model":"claude-x","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":472,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":2}}}"#,
    );
    let begin = format!(r#"{{"type":"content_block_start","index":0,"content_block":{block}}}"#);
    let mut frames = vec![start, event("content_block_start", &begin)];
    frames.extend(deltas);
    frames.push(event("content_block_stop", r#"{"type":"content_block_stop","index":0}"#));
    let end = format!(
        r#"{{"type":"message_delta","delta":{{"stop_reason":"{stop}","stop_sequence":null}},"usage":{{"output_tokens":89}}}}"#
    );
    frames.push(event("message_delta", &end));
    frames.push(event("message_stop", r#"{"type":"message_stop"}"#));
    frames
}

fn chat(delta: &str, deltas: usize, stop: &str) -> Vec<String> {
    chat_of(
        &[r#"{"role":"assistant","content":"","refusal":null}"#.to_owned()],
        vec![delta.to_owned(); deltas],
        stop,
    )
}

fn chat_call(pieces: usize) -> Vec<String> {
    let first = r#"{"role":"assistant","content":null,"tool_calls":[{"index":0,"id":"call_1","type":"function","function":{"name":"write_file","arguments":""}}],"refusal":null}"#;
    let delta = |piece: &String| {
        format!(r#"{{"tool_calls":[{{"index":0,"function":{{"arguments":{}}}}}]}}"#, json!(piece))
    };
    chat_of(&[first.to_owned()], arguments(pieces).iter().map(delta).collect(), "tool_calls")
}

fn chat_of(first: &[String], deltas: Vec<String>, stop: &str) -> Vec<String> {
    let chunk = |choices: &str, usage: &str| {
        format!(
            "data: {{\"id\":\"chatcmpl-BzFc2S9r1\",\"object\":\"chat.completion.chunk\",\"created\":1763272800,\
             \"model\":\"gpt-x\",{FINGERPRINT},\"choices\":[{choices}],\"usage\":{usage},\"obfuscation\":\"f8Kq2\"}}\n\n"
        )
    };
    let delta = |delta: &String| {
        let choice = format!(r#"{{"index":0,"delta":{delta},"logprobs":null,"finish_reason":null}}"#);
        chunk(&choice, "null")
    };
    let mut frames: Vec<String> = first.iter().chain(&deltas).map(delta).collect();
    let end = format!(r#"{{"index":0,"delta":{{}},"logprobs":null,"finish_reason":"{stop}"}}"#);
    frames.push(chunk(&end, "null"));
    frames.push(chunk("", r#"{"prompt_tokens":19,"completion_tokens":10,"total_tokens":29}"#));
    frames.push("data: [DONE]\n\n".to_owned());
    frames
}

fn responses_text(deltas: usize) -> Vec<String> {
    let text = WORDS.repeat(deltas);
    let part = format!(r#"{{"type":"output_text","annotations":[],"logprobs":[],"text":"{text}"}}"#);
    let item = |status: &str, content: &str| {
        format!(
            r#"{{"id":"msg_68a1","type":"message","status":"{status}","content":[{content}],"role":"assistant"}}"#
        )
    };
    let delta = format!(
        r#""item_id":"msg_68a1","output_index":0,"content_index":0,"delta":"{WORDS}","logprobs":[],"obfuscation":"f8Kq2""#
    );
    let place = r#""item_id":"msg_68a1","output_index":0,"content_index":0"#;
    let mut events = vec![
        ("output_item.added", format!(r#""output_index":0,"item":{}"#, item("in_progress", ""))),
        (
            "content_part.added",
            format!(r#"{place},"part":{{"type":"output_text","annotations":[],"logprobs":[],"text":""}}"#),
        ),
    ];
    events.extend(vec![("output_text.delta", delta); deltas]);
    events.push(("output_text.done", format!(r#"{place},"text":"{text}","logprobs":[]"#)));
    events.push(("content_part.done", format!(r#"{place},"part":{part}"#)));
    responses_of(events, &item("completed", &part))
}

fn responses_call(pieces: usize) -> Vec<String> {
    let arguments = arguments(pieces);
    let whole = json!(arguments.concat());
    let item = |status: &str, arguments: &str| {
        format!(
            r#"{{"id":"fc_68a1","type":"function_call","status":"{status}","arguments":{arguments},"call_id":"call_1","name":"write_file"}}"#
        )
    };
    let place = r#""item_id":"fc_68a1","output_index":0"#;
    let mut events =
        vec![("output_item.added", format!(r#""output_index":0,"item":{}"#, item("in_progress", r#""""#)))];
    let delta = |piece: &String| {
        let piece = json!(piece);
        ("function_call_arguments.delta", format!(r#"{place},"delta":{piece},"obfuscation":"f8Kq2""#))
    };
    events.extend(arguments.iter().map(delta));
    events.push(("function_call_arguments.done", format!(r#"{place},"arguments":{whole}"#)));
    responses_of(events, &item("completed", &whole.to_string()))
}

/// The events between the beginning and the end of a response with this one item.
fn responses_of(events: Vec<(&str, String)>, item: &str) -> Vec<String> {
    let response = |status: &str, output: &str, usage: &str| {
        format!(
            r#""response":{{"id":"resp_68a1","object":"response","created_at":1763272800,"status":"{status}","error":null,"model":"gpt-x","output":[{output}],"parallel_tool_calls":true,"store":false,"usage":{usage}}}"#
        )
    };
    let usage = r#"{"input_tokens":36,"input_tokens_details":{"cached_tokens":0},"output_tokens":87,"output_tokens_details":{"reasoning_tokens":0},"total_tokens":123}"#;
    let mut all = vec![("created", response("in_progress", "", "null"))];
    all.extend(events);
    all.push(("output_item.done", format!(r#""output_index":0,"item":{item}"#)));
    all.push(("completed", response("completed", item, usage)));
    let frame = |(number, (kind, fields)): (usize, (&str, String))| {
        let data = format!(r#"{{"type":"response.{kind}","sequence_number":{number},{fields}}}"#);
        event(&format!("response.{kind}"), &data)
    };
    all.into_iter().enumerate().map(frame).collect()
}

fn gemini(deltas: usize) -> Vec<String> {
    let frame = |text: &str, end: &str| {
        format!(
            "data: {{\"candidates\": [{{\"content\": {{\"parts\": [{{\"text\": \"{text}\"}}],\"role\": \"model\"}}{end},\
             \"index\": 0}}],\"usageMetadata\": {{\"promptTokenCount\": 11,\"candidatesTokenCount\": 73,\
             \"totalTokenCount\": 84,\"promptTokensDetails\": [{{\"modality\": \"TEXT\",\"tokenCount\": 11}}]}},\
             \"modelVersion\": \"gemini-x\",\"responseId\": \"mNoHaN2kJ5-Xz7IPg\"}}\r\n\r\n"
        )
    };
    let mut frames = vec![frame(WORDS, ""); deltas];
    frames.push(frame("", ",\"finishReason\": \"STOP\""));
    frames
}

fn ollama(deltas: usize) -> Vec<String> {
    let line = |text: &str, end: &str| {
        format!(
            "{{\"model\":\"llama-x\",\"created_at\":\"2026-11-16T06:00:00.123456Z\",\"message\":{{\"role\":\"assistant\",\
             \"content\":\"{text}\"}},{end}}}\n"
        )
    };
    let mut frames = vec![line(WORDS, "\"done\":false"); deltas];
    frames.push(line(
        "",
        "\"done_reason\":\"stop\",\"done\":true,\"total_duration\":4883583458,\"load_duration\":1334875,\
         \"prompt_eval_count\":26,\"prompt_eval_duration\":342546000,\"eval_count\":282,\"eval_duration\":4535599000",
    ));
    frames
}

/// A JSON object as text in that many pieces of about a hundred bytes.
fn arguments(pieces: usize) -> Vec<String> {
    let mut all = vec![ARGUMENTS.to_owned(); pieces];
    if let Some(first) = all.first_mut() {
        first.insert_str(0, "{\"path\":\"a.txt\",\"content\":\"");
    }
    if let Some(last) = all.last_mut() {
        last.push_str("\"}");
    }
    all
}
