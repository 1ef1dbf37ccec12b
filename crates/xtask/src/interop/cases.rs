//! What aimock is asked, and what should come of it. The words are those of `interop/aimock.json`.

use harn_core::chat::{ChatMessage, ModelRequest, OutputSchema};
use serde_json::{Value, json};

use super::conversations::request;

/// One question.
pub struct Case {
    pub name: &'static str,
    pub ask: ModelRequest,
    pub attempts: u32,
    pub expected: Expected,
    /// What a server has to be able to do for this.
    pub needs: Option<Ability>,
}

pub enum Expected {
    /// What is told, without the usage.
    Answer(Value),
    /// The same, and it comes in more than one piece.
    Pieces(Value),
    /// The same, with tokens of input and output.
    Counted(Value, u64, u64),
    /// A call of a tool; with its result the question is asked again and answered with these words.
    Trip(Value, &'static str),
    /// The code of an error, and the wait that the server asks for.
    Error(&'static str, Option<u64>),
}

/// What aimock does for some formats only.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ability {
    Thinking,
    Usage,
    Limit,
    Filter,
    Cut,
}

fn said(thinking: &str, text: &str, calls: Value, stop: &str) -> Value {
    json!({"thinking": thinking, "text": text, "calls": calls, "stop": stop})
}

fn words(text: &str) -> Value {
    said("", text, json!([]), "end_turn")
}

fn oslo() -> Value {
    json!({"id": "call_1", "name": "weather", "args": {"city": "Oslo"}})
}

fn case(name: &'static str, prompt: &str, expected: Expected) -> Case {
    Case { name, ask: request(vec![ChatMessage::user(prompt)]), attempts: 1, expected, needs: None }
}

pub fn all() -> Vec<Case> {
    answers().into_iter().chain(calls()).chain(refusals()).collect()
}

fn answers() -> Vec<Case> {
    use Expected::{Answer, Counted, Error, Pieces};
    let greeting = || words("Grüße, 世界! \"Quoted\" 🙂 and\nmore.");
    let mut ada = case("instructions", "who are you", Answer(words("Ada.")));
    ada.ask.system = "You are Ada.".into();
    let mut shape = case(
        "a given shape",
        "give a shape",
        Answer(words(r#"{"colder":"Oslo","degrees":[-5,30],"note":null}"#)),
    );
    let schema =
        json!({"type": "object", "properties": {"colder": {"type": "string"}}, "required": ["colder"]});
    shape.ask.tools = [].into();
    shape.ask.output_schema = Some(OutputSchema { name: "comparison".into(), schema });
    let needing = |ability, case| Case { needs: Some(ability), ..case };
    let thought = said("Two and two, in a long thought.", "Four.", json!([]), "end_turn");
    let cut = said("", "It is co", json!([]), "max_tokens");
    let filtered = said("", "I ca", json!([]), "refusal");
    vec![
        case("words", "say words", Answer(greeting())),
        needing(Ability::Usage, case("usage", "say words", Counted(greeting(), 20, 9))),
        case("words in pieces", "slowly, in pieces", Pieces(words("One piece after the other."))),
        ada,
        shape,
        needing(Ability::Thinking, case("thinking and words", "think and say", Answer(thought))),
        needing(Ability::Limit, case("words cut at the limit", "talk for too long", Answer(cut))),
        needing(
            Ability::Filter,
            case("words that a filter cut", "say something forbidden", Answer(filtered)),
        ),
        needing(Ability::Cut, case("a stream that breaks off", "break off", Error("cut_stream", None))),
    ]
}

fn calls() -> Vec<Case> {
    use Expected::{Answer, Trip};
    let one = json!({"id": "call_1", "name": "weather", "args": {"city": "Oslo", "days": [1, 2.5, null]}});
    let two = json!([
        {"id": "call_1", "name": "weather", "args": {"city": "Oslo \"quoted\" 🙂"}},
        {"id": "call_2", "name": "weather", "args": {"city": "Rome", "more": {"deep": {"yes": true}}}},
    ]);
    let thought = said("I need the weather.", "", json!([oslo()]), "tool_use");
    vec![
        case("one call", "call one tool", Answer(said("", "", json!([one]), "tool_use"))),
        case("two calls", "call two tools", Answer(said("", "", two, "tool_use"))),
        case(
            "words and a call",
            "talk and call",
            Answer(said("", "I look it up.", json!([oslo()]), "tool_use")),
        ),
        case(
            "a call, its result, and words",
            "use a tool",
            Trip(said("", "", json!([oslo()]), "tool_use"), "It is cold."),
        ),
        Case {
            needs: Some(Ability::Thinking),
            ..case("thinking and a call", "think and call", Answer(thought))
        },
    ]
}

fn refusals() -> Vec<Case> {
    let mut cases: Vec<Case> = [
        ("status 400", "fail with 400", "invalid_request", None),
        ("status 401", "fail with 401", "auth", None),
        ("status 403", "fail with 403", "permission_denied", None),
        ("status 404", "fail with 404", "not_found", None),
        ("status 429 with Retry-After", "fail with 429", "rate_limited", Some(7000)),
        ("status 500", "fail with 500", "overloaded", None),
        ("status 503", "fail with 503", "overloaded", None),
    ]
    .into_iter()
    .map(|(name, prompt, code, wait)| case(name, prompt, Expected::Error(code, wait)))
    .collect();
    let again =
        case("status 429, and words at the second try", "fail only once", Expected::Answer(words("Now.")));
    cases.push(Case { attempts: 2, ..again });
    cases
}
