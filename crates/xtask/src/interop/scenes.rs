//! Answers that every fake can give: the same scene in the form of each provider.

use harn_testkit::providers::{anthropic, openai_chat, openai_responses};
use serde_json::{Value, json};

/// What a model says.
#[derive(Clone, Copy)]
pub struct Scene {
    pub name: &'static str,
    pub thinking: &'static str,
    pub text: &'static str,
    /// Id and city.
    pub calls: &'static [(&'static str, &'static str)],
    pub stop: Stop,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    EndTurn,
    ToolUse,
    MaxTokens,
}

const PLAIN: Scene = Scene { name: "", thinking: "", text: "", calls: &[], stop: Stop::EndTurn };

pub const SCENES: [Scene; 6] = [
    Scene { name: "words", text: "Grüße, 世界! It is \"cold\" 🙂\n\tin Oslo.", ..PLAIN },
    Scene { name: "thinking and words", thinking: "Two cities, a little thought.", text: "Yes.", ..PLAIN },
    Scene { name: "one call", calls: &[("call_1", "Oslo")], stop: Stop::ToolUse, ..PLAIN },
    Scene {
        name: "words and two calls",
        text: "I look it up.",
        calls: &[("call_1", "Oslo"), ("call_2", "Rome \"quoted\" \\ 🙂")],
        stop: Stop::ToolUse,
        ..PLAIN
    },
    Scene {
        name: "thinking, words and two calls",
        thinking: "Both cities are needed.",
        text: "I look it up.",
        calls: &[("call_1", "Oslo"), ("call_2", "Rome")],
        stop: Stop::ToolUse,
    },
    Scene { name: "words cut at the limit", text: "It is co", stop: Stop::MaxTokens, ..PLAIN },
];

/// A signature in base64, which is what the SDK of Google takes.
const SIGNATURE: &str = "c2lnbmF0dXJl";

impl Scene {
    fn args(city: &str) -> Value {
        json!({"city": city, "days": [1, 2.5, null], "more": {"deep": {"yes": true}}})
    }

    fn word(&self, end: &'static str, tool: &'static str, limit: &'static str) -> &'static str {
        match self.stop {
            Stop::EndTurn => end,
            Stop::ToolUse => tool,
            Stop::MaxTokens => limit,
        }
    }

    /// What every client should make of it.
    pub fn told(&self, cached: u64, thinking: u64) -> Value {
        let calls: Vec<Value> = self
            .calls
            .iter()
            .map(|(id, city)| json!({"id": id, "name": "weather", "args": Self::args(city)}))
            .collect();
        let usage = json!({"input": 20, "output": 9, "cached": cached, "thinking": thinking});
        json!({"thinking": self.thinking, "text": self.text, "calls": calls,
               "stop": self.word("end_turn", "tool_use", "max_tokens"), "usage": usage})
    }

    pub fn anthropic(&self) -> Value {
        let mut content = Vec::new();
        if !self.thinking.is_empty() {
            let mut block = json!({"type": "thinking", "thinking": self.thinking});
            block["signature"] = anthropic::signature(&block);
            content.push(block);
            content.push(json!({"type": "redacted_thinking", "data": "hidden"}));
        }
        if !self.text.is_empty() {
            content.push(json!({"type": "text", "text": self.text}));
        }
        content.extend(self.calls.iter().map(
            |(id, city)| json!({"type": "tool_use", "id": id, "name": "weather", "input": Self::args(city)}),
        ));
        json!({"content": content, "stop_reason": self.word("end_turn", "tool_use", "max_tokens"),
               "usage": {"input_tokens": 3, "cache_read_input_tokens": 16, "cache_creation_input_tokens": 1,
                         "output_tokens": 9, "output_tokens_details": {"thinking_tokens": 4}}})
    }

    pub fn openai_chat(&self) -> openai_chat::Said {
        openai_chat::Said {
            reasoning: self.thinking,
            text: self.text,
            calls: self.calls.iter().map(|(id, city)| (*id, "weather", Self::args(city))).collect(),
            finish: self.word("stop", "tool_calls", "length"),
        }
    }

    pub fn openai_responses(&self) -> Vec<Value> {
        let mut items = Vec::new();
        if !self.thinking.is_empty() {
            items.push(openai_responses::reasoning(self.thinking, "gAAAencrypted"));
        }
        if !self.text.is_empty() {
            let mut message = openai_responses::message(self.text);
            if self.stop == Stop::MaxTokens {
                message["status"] = json!("incomplete");
            }
            items.push(message);
        }
        items.extend(
            self.calls.iter().map(|(id, city)| openai_responses::call(id, "weather", &Self::args(city))),
        );
        items
    }

    /// In several pieces, as a stream brings it.
    pub fn gemini(&self) -> Vec<Value> {
        let mut pieces = Vec::new();
        if !self.thinking.is_empty() {
            pieces.push(json!({"text": self.thinking, "thought": true}));
        }
        pieces.extend(halves(self.text).map(|half| json!({"text": half})));
        for (index, (id, city)) in self.calls.iter().enumerate() {
            let call = json!({"id": id, "name": "weather", "args": Self::args(city)});
            let mut part = json!({ "functionCall": call });
            if index == 0 {
                part["thoughtSignature"] = json!(SIGNATURE);
            }
            pieces.push(part);
        }
        let last = pieces.len().saturating_sub(1);
        let response = |(index, part): (usize, Value)| {
            let content = json!({"role": "model", "parts": [part]});
            let mut candidate = json!({"content": content, "index": 0});
            let mut usage = json!({"promptTokenCount": 20, "totalTokenCount": 20});
            if index == last {
                candidate["finishReason"] = json!(self.word("STOP", "STOP", "MAX_TOKENS"));
                usage = json!({"promptTokenCount": 20, "cachedContentTokenCount": 16, "candidatesTokenCount": 5,
                               "thoughtsTokenCount": 4, "totalTokenCount": 29});
            }
            json!({"candidates": [candidate], "usageMetadata": usage, "modelVersion": "gemini-3.8-flash",
                   "responseId": "r"})
        };
        pieces.into_iter().enumerate().map(response).collect()
    }

    pub fn ollama(&self) -> Vec<Value> {
        let line = |message: Value| json!({"model": "qwen3:8b", "created_at": "2026-01-01T00:00:00Z", "message": message, "done": false});
        let mut lines: Vec<Value> = halves(self.thinking)
            .map(|half| line(json!({"role": "assistant", "content": "", "thinking": half})))
            .collect();
        lines.extend(halves(self.text).map(|half| line(json!({"role": "assistant", "content": half}))));
        lines.extend(self.calls.iter().map(|(_, city)| {
            let call = json!({"function": {"name": "weather", "arguments": Self::args(city)}});
            line(json!({"role": "assistant", "content": "", "tool_calls": [call]}))
        }));
        let mut last = line(json!({"role": "assistant", "content": ""}));
        last["done"] = json!(true);
        last["done_reason"] = json!(self.word("stop", "stop", "length"));
        last["prompt_eval_count"] = json!(20);
        last["eval_count"] = json!(9);
        lines.push(last);
        lines
    }
}

fn halves(text: &str) -> impl Iterator<Item = &str> {
    let middle = text.char_indices().nth(text.chars().count() / 2).map_or(0, |(at, _)| at);
    let (first, second) = text.split_at(middle);
    [first, second].into_iter().filter(|half| !half.is_empty())
}
