//! Conversations of many kinds, to be sent by every adapter.

use harn_core::chat::{
    ChatMessage, Media, MediaSource, ModelAnswer, ModelRef, ModelRequest, OutputSchema, Thinking, Thought,
};
use harn_core::tool::{Annotations, Class, SideEffect, ToolCall, ToolOutcome, ToolSpec};
use serde_json::{Value, json};

/// A small image, and what stands for a document.
const PNG: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==";
const PDF: &str = "JVBERi0xLjQK";

pub fn request(messages: Vec<ChatMessage>) -> ModelRequest {
    ModelRequest {
        model: ModelRef { provider: "interop".into(), model: "interop".into() },
        system: "Be brief.".into(),
        messages: messages.into(),
        tools: [weather()].into(),
        max_output_tokens: 4096,
        thinking: Thinking::Auto,
        output_schema: None,
        sampling: Default::default(),
    }
}

pub fn weather() -> ToolSpec {
    let schema = json!({
        "type": "object",
        "properties": {
            "city": {"type": "string", "description": "Its name."},
            "unit": {"type": "string", "enum": ["celsius", "kelvin"]},
            "days": {"type": "array", "items": {"type": ["number", "null"]}, "maxItems": 7},
            "more": {"type": "object", "properties": {"deep": {"type": "object"}}},
        },
        "required": ["city"],
        "additionalProperties": false,
    });
    tool("weather", "The weather in a city.", schema)
}

fn tool(name: &str, description: &str, input_schema: Value) -> ToolSpec {
    ToolSpec {
        name: name.into(),
        description: description.into(),
        input_schema,
        output_schema: json!({}),
        class: Class::Read,
        side_effect: SideEffect::ReadOnly,
        annotations: Annotations::default(),
    }
}

/// The turn of the assistant that this answer is.
pub fn turn(answer: &ModelAnswer) -> ChatMessage {
    ChatMessage::Assistant {
        text: answer.text.clone(),
        tool_calls: answer.tool_calls.clone(),
        thoughts: answer.thoughts.clone(),
    }
}

/// What the tools of an answer gave.
pub fn results(answer: &ModelAnswer) -> impl Iterator<Item = ChatMessage> {
    answer.tool_calls.iter().map(|call| result(call, ToolOutcome::Ok, "-5 degrees", vec![]))
}

fn result(call: &ToolCall, outcome: ToolOutcome, output: &str, media: Vec<Media>) -> ChatMessage {
    ChatMessage::Tool {
        call_id: call.id.clone(),
        name: call.name.clone(),
        outcome,
        output: output.into(),
        media,
    }
}

fn call(id: &str, city: &str) -> ToolCall {
    let args = json!({"city": city, "days": [1, 2.5, null]});
    ToolCall { id: id.into(), name: "weather".into(), args: args.as_object().cloned().unwrap_or_default() }
}

fn data(mime_type: &str, data: &str) -> Media {
    Media { mime_type: mime_type.into(), source: MediaSource::Data(data.into()) }
}

fn link(mime_type: &str, url: &str) -> Media {
    Media { mime_type: mime_type.into(), source: MediaSource::Url(url.into()) }
}

fn shape() -> Option<OutputSchema> {
    let schema = json!({
        "type": "object",
        "properties": {
            "colder": {"type": "string"},
            "degrees": {"type": "array", "items": {"type": "integer", "minimum": -100}},
            "note": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        },
        "required": ["colder"],
    });
    Some(OutputSchema { name: "comparison".into(), schema })
}

/// Requests of every kind, by name. `answer` is one of this provider, with thoughts and calls.
pub fn all(provider: &str, answer: &ModelAnswer) -> Vec<(String, ModelRequest)> {
    let mut all: Vec<(String, ModelRequest)> = words();
    all.extend(media());
    all.extend(tools(provider, answer));
    all.extend(shapes());
    all.extend(Thinking::ALL.into_iter().map(|thinking| {
        let asked = ModelRequest { thinking, ..request(vec![ChatMessage::user("Think.")]) };
        (format!("thinking {thinking}"), asked)
    }));
    all
}

fn words() -> Vec<(String, ModelRequest)> {
    let hello = || request(vec![ChatMessage::user("Hello 🙂 \"world\"")]);
    let talk = vec![
        ChatMessage::user("One?"),
        ChatMessage::assistant("One.", vec![]),
        ChatMessage::System { text: "From now on, be polite.".into() },
        ChatMessage::user("Two?"),
        ChatMessage::user("And three?"),
    ];
    let long: Vec<ChatMessage> = (0..12)
        .flat_map(|number| {
            [ChatMessage::user(format!("{number}?")), ChatMessage::assistant(format!("{number}."), vec![])]
        })
        .chain([ChatMessage::user("And now?")])
        .collect();
    vec![
        ("words".into(), hello()),
        (
            "words without instructions or tools".into(),
            ModelRequest { system: "".into(), tools: [].into(), ..hello() },
        ),
        ("a talk with instructions in between".into(), request(talk)),
        ("a long talk, marked for the cache where there are marks".into(), request(long)),
    ]
}

fn media() -> Vec<(String, ModelRequest)> {
    let cases = [
        ("an image", vec![data("image/png", PNG)]),
        ("an image by address", vec![link("image/jpeg", "https://example.com/a.jpg")]),
        ("a document", vec![data("application/pdf", PDF)]),
        ("a document by address", vec![link("application/pdf", "https://example.com/a.pdf")]),
        ("an image and a document", vec![data("image/png", PNG), data("application/pdf", PDF)]),
    ];
    let asked = |(name, media): (&str, Vec<Media>)| {
        (name.to_owned(), request(vec![ChatMessage::User { text: "Look.".into(), media }]))
    };
    cases.into_iter().map(asked).collect()
}

fn tools(provider: &str, answer: &ModelAnswer) -> Vec<(String, ModelRequest)> {
    let asked = |tail: Vec<ChatMessage>| {
        request([ChatMessage::user("Is Oslo colder than Rome?")].into_iter().chain(tail).collect())
    };
    let (one, two) = (call("call_1", "Oslo"), call("call_2", "Rome"));
    let called = |calls: &[&ToolCall]| {
        ChatMessage::assistant("I look.", calls.iter().map(|&call| call.clone()).collect())
    };
    let image = result(&one, ToolOutcome::Ok, "A map.", vec![data("image/png", PNG)]);
    let several = vec![
        called(&[&one, &two]),
        result(&two, ToolOutcome::Error, "no signal", vec![]),
        result(&one, ToolOutcome::Ok, "", vec![]),
        ChatMessage::user("And?"),
    ];
    let thought_of = |provider: &str| {
        let mut answer = answer.clone();
        for thought in &mut answer.thoughts {
            thought.provider = provider.into();
        }
        let results: Vec<ChatMessage> = results(&answer).collect();
        asked([vec![turn(&answer)], results, vec![ChatMessage::user("Sure?")]].concat())
    };
    let mut many = asked(vec![]);
    let bare = tool("now", "The time.", json!({"type": "object"}));
    many.tools = [weather(), bare, tool("mcp__a__b", "", json!({"type": "object", "properties": {}}))].into();
    vec![
        ("several tools".into(), many),
        ("a result".into(), asked(vec![called(&[&one]), result(&one, ToolOutcome::Ok, "-5", vec![])])),
        (
            "a result that is an error".into(),
            asked(vec![called(&[&one]), result(&one, ToolOutcome::Error, "no signal", vec![])]),
        ),
        ("a result with an image".into(), asked(vec![called(&[&one]), image])),
        ("several results, one of them empty".into(), asked(several)),
        ("thoughts of its own".into(), thought_of(provider)),
        ("thoughts of another provider".into(), thought_of("another")),
        ("a thought that is no block".into(), asked(vec![odd_thought(provider), ChatMessage::user("Sure?")])),
    ]
}

/// As an older version, or another program, may have left it in a journal.
fn odd_thought(provider: &str) -> ChatMessage {
    let thought = Thought { provider: provider.into(), text: "hm".into(), opaque: Value::Null };
    ChatMessage::Assistant { text: "Yes.".into(), tool_calls: vec![], thoughts: vec![thought] }
}

fn shapes() -> Vec<(String, ModelRequest)> {
    let hello = || ModelRequest { output_schema: shape(), ..request(vec![ChatMessage::user("Compare.")]) };
    vec![
        ("a given shape".into(), ModelRequest { tools: [].into(), ..hello() }),
        ("a given shape, and tools".into(), hello()),
        ("a given shape, after thinking".into(), ModelRequest { thinking: Thinking::High, ..hello() }),
    ]
}
