//! What a run asks of people: questions, approvals, dual control and escalations are one thing with different answers.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::Timestamp;
use crate::hash::Sha256Hash;
use crate::run::EffectKey;
use crate::tool::ToolCall;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AskKind {
    Question,
    Approval,
    DualControl,
    Escalation,
}

impl AskKind {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Question => "question",
            Self::Approval => "approval",
            Self::DualControl => "dual_control",
            Self::Escalation => "escalation",
        }
    }

    pub fn parse(word: &str) -> Option<Self> {
        [Self::Question, Self::Approval, Self::DualControl, Self::Escalation]
            .into_iter()
            .find(|kind| kind.as_str() == word)
    }

    /// The function that asks so; rules name it as they name tools.
    pub fn function(self) -> &'static str {
        match self {
            Self::Question => "ask_user",
            Self::Approval => "request_approval",
            Self::DualControl => "dual_control",
            Self::Escalation => "escalate_to",
        }
    }
}

/// Who asks, and so what the answer looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asker {
    /// Through a tool call; the answer is its result.
    Model,
    /// The answer is a record of who said what.
    Script,
}

/// Something that is put before people.
#[derive(Clone, Debug, PartialEq)]
pub struct Ask {
    pub kind: AskKind,
    pub asker: Asker,
    /// As policy judges it; its id is known to whoever watches.
    pub call: ToolCall,
    /// The question, or what is to be approved, or why somebody else has to see to it.
    pub prompt: String,
    pub choices: Vec<Value>,
    pub default: Option<Value>,
    /// What a reply has to be: a word such as `int`, or a schema with a `type`.
    pub schema: Option<Value>,
    /// How many have to agree; none for as many as usual.
    pub quorum: Option<usize>,
    /// When given, only these may answer.
    pub reviewers: Vec<String>,
    pub timeout_ms: Option<u64>,
    pub deadline: Option<Timestamp>,
    pub evidence: Vec<Value>,
    pub role: Option<String>,
    pub metadata: Map<String, Value>,
    problem: Option<String>,
}

impl Ask {
    /// The question of a model, asked through a tool call.
    pub fn question(call: ToolCall, prompt: String) -> Self {
        Self {
            kind: AskKind::Question,
            asker: Asker::Model,
            call,
            prompt,
            choices: Vec::new(),
            default: None,
            schema: None,
            quorum: None,
            reviewers: Vec::new(),
            timeout_ms: None,
            deadline: None,
            evidence: Vec::new(),
            role: None,
            metadata: Map::new(),
            problem: None,
        }
    }

    /// What a script asks, as it says it.
    pub fn of_script(key: &EffectKey, said: Value) -> Self {
        let fields = Said(said.as_object().cloned().unwrap_or_default());
        let word = fields.text(&["kind"]).unwrap_or_default();
        let kind = AskKind::parse(&word);
        let shown = kind.unwrap_or(AskKind::Question);
        let call =
            ToolCall { id: key.to_string(), name: shown.function().to_owned(), args: fields.0.clone() };
        let prompt = fields.text(&["prompt", "action", "reason"]).unwrap_or_default();
        let mut ask = Self {
            kind: shown,
            asker: Asker::Script,
            choices: fields.list(&["choices", "options"]),
            default: fields.get(&["default"]).cloned(),
            schema: fields.get(&["schema", "type"]).cloned(),
            quorum: fields
                .number(&["quorum", "n", "approvers_required"])
                .and_then(|n| usize::try_from(n).ok()),
            reviewers: fields.texts(&["reviewers", "approvers"]),
            timeout_ms: fields.number(&["timeout_ms", "timeout"]),
            deadline: fields.get(&["deadline"]).and_then(|value| serde_json::from_value(value.clone()).ok()),
            evidence: fields.list(&["evidence_refs", "evidence"]),
            role: fields.text(&["role"]),
            metadata: fields.get(&["metadata"]).and_then(Value::as_object).cloned().unwrap_or_default(),
            ..Self::question(call, prompt)
        };
        ask.problem = match kind {
            None => Some(format!(
                "`{word}` is nothing that people can be asked; use question, approval, dual_control or escalation."
            )),
            Some(_) => ask.flaw(fields.number(&["m", "approvers_total"])),
        };
        ask
    }

    /// Why it cannot be asked.
    pub fn problem(&self) -> Option<&str> {
        self.problem.as_deref()
    }

    fn flaw(&self, of: Option<u64>) -> Option<String> {
        if self.prompt.trim().is_empty() {
            return Some(format!("`{}` needs words that say what it is about.", self.kind.function()));
        }
        let quorum = self.quorum?;
        if quorum == 0 {
            return Some("At least one person has to agree: the quorum is 0.".into());
        }
        let most = match self.reviewers.len() {
            0 => usize::try_from(of.unwrap_or(u64::MAX)).unwrap_or(usize::MAX),
            named => named,
        };
        (quorum > most).then(|| format!("{quorum} people have to agree, but only {most} may answer."))
    }

    /// When it is over by itself.
    pub fn due(&self, now: Timestamp) -> Option<Timestamp> {
        let by_time = self.timeout_ms.map(|ms| now.plus_millis(i64::try_from(ms).unwrap_or(i64::MAX)));
        [by_time, self.deadline].into_iter().flatten().min()
    }

    /// What a script gets when it is settled without a request.
    pub fn settled(&self, verdict: Settled, reason: Option<String>) -> Value {
        let record = Record {
            kind: self.kind,
            request_id: None,
            role: self.role.clone(),
            verdict,
            reason,
            value: self.default.clone().filter(|_| verdict == Settled::Timeout),
            ballots: Vec::new(),
        };
        record.value()
    }
}

/// The options of a request, under any of their names.
struct Said(Map<String, Value>);

impl Said {
    fn get(&self, names: &[&str]) -> Option<&Value> {
        names.iter().find_map(|name| self.0.get(*name).filter(|value| !value.is_null()))
    }

    fn text(&self, names: &[&str]) -> Option<String> {
        self.get(names).map(text_of)
    }

    /// A number, or a duration as scripts send it.
    fn number(&self, names: &[&str]) -> Option<u64> {
        let value = self.get(names)?;
        let value = value.get("$duration").unwrap_or(value);
        value.as_u64().or_else(|| value.as_f64().filter(|number| *number >= 0.0).map(|number| number as u64))
    }

    fn list(&self, names: &[&str]) -> Vec<Value> {
        match self.get(names) {
            Some(Value::Array(items)) => items.clone(),
            Some(Value::Object(fields)) => match fields.get("$set").and_then(Value::as_array) {
                Some(items) => items.clone(),
                None => vec![Value::Object(fields.clone())],
            },
            Some(one) => vec![one.clone()],
            None => Vec::new(),
        }
    }

    fn texts(&self, names: &[&str]) -> Vec<String> {
        self.list(names).iter().map(text_of).collect()
    }
}

/// A text as it is, and anything else as it is written in JSON.
pub fn text_of(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// How a request to people was settled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Settled {
    Yes,
    No,
    Timeout,
    Canceled,
}

/// One person's word.
#[derive(Clone, Debug, PartialEq)]
pub struct Ballot {
    pub reviewer: String,
    pub approved: bool,
    pub at: Timestamp,
}

/// All that is known about a settled request; a script gets it as a dict.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    pub kind: AskKind,
    pub request_id: Option<String>,
    pub role: Option<String>,
    pub verdict: Settled,
    pub reason: Option<String>,
    /// The reply to a question.
    pub value: Option<Value>,
    pub ballots: Vec<Ballot>,
}

impl Record {
    pub fn value(&self) -> Value {
        let status = match (self.verdict, self.kind) {
            (Settled::Yes, AskKind::Question) => "answered",
            (Settled::Yes, AskKind::Escalation) => "accepted",
            (Settled::Yes, _) => "approved",
            (Settled::No, _) => "denied",
            (Settled::Timeout, _) => "timeout",
            (Settled::Canceled, _) => "canceled",
        };
        let last = self.ballots.last();
        let (by, at) = (last.map(|ballot| &ballot.reviewer), last.map(|ballot| ballot.at));
        let mut told = match self.kind {
            AskKind::Question => json!({ "value": self.value, "responder": by, "responded_at": at }),
            AskKind::Approval | AskKind::DualControl => {
                let reviewers: Vec<&String> = self.ballots.iter().map(|ballot| &ballot.reviewer).collect();
                let signatures: Vec<Value> =
                    self.ballots.iter().map(|ballot| self.signature(ballot)).collect();
                let approved_at = at.filter(|_| self.verdict == Settled::Yes);
                json!({ "reviewers": reviewers, "signatures": signatures, "approved_at": approved_at })
            }
            AskKind::Escalation => {
                let accepted_at = at.filter(|_| self.verdict == Settled::Yes);
                json!({ "role": self.role, "reviewer": by, "accepted_at": accepted_at })
            }
        };
        told["status"] = status.into();
        told["reason"] = json!(self.reason);
        told["request_id"] = json!(self.request_id);
        told
    }

    /// A hash over what was said, by whom and when. It shows that a record was not changed by accident; without a
    /// signing key it proves nothing about the person.
    fn signature(&self, ballot: &Ballot) -> Value {
        let decision = if ballot.approved { "approved" } else { "denied" };
        let (id, at) = (self.request_id.as_deref().unwrap_or_default(), ballot.at.to_string());
        let pieces = [id, &ballot.reviewer, decision, &at].map(str::as_bytes);
        let signature = Sha256Hash::of_pieces(&pieces).to_string();
        json!({ "reviewer": ballot.reviewer, "signed_at": ballot.at, "signature": signature })
    }
}

/// A reply as the asker wants it: one of the choices, or of the wanted type. Text stands for what it spells. The
/// error says what would be understood.
pub fn fit(choices: &[Value], schema: Option<&Value>, reply: Value) -> Result<Value, String> {
    if !choices.is_empty() {
        let spelled = text_of(&reply);
        let found = choices.iter().find(|choice| **choice == reply || spellings(choice).contains(&spelled));
        let shown = || choices.iter().map(shown_choice).collect::<Vec<_>>().join(", ");
        return found.map(meant).ok_or_else(|| format!("Reply with one of: {}.", shown()));
    }
    let Some(word) = schema.and_then(type_word) else { return Ok(reply) };
    let parsed = match &reply {
        Value::String(text) if word != "string" => serde_json::from_str(text).unwrap_or(reply),
        _ => reply,
    };
    let fits = match word {
        "string" => parsed.is_string(),
        "int" | "integer" => parsed.is_i64() || parsed.is_u64(),
        "float" | "number" => parsed.is_number(),
        "bool" | "boolean" => parsed.is_boolean(),
        "list" | "array" => parsed.is_array(),
        "dict" | "object" => parsed.is_object(),
        "nil" | "null" => parsed.is_null(),
        _ => true,
    };
    if fits { Ok(parsed) } else { Err(format!("The reply has to be of type {word}.")) }
}

fn type_word(schema: &Value) -> Option<&str> {
    schema.as_str().or_else(|| schema["type"].as_str())
}

/// What a choice stands for: itself, or the value that it labels.
fn meant(choice: &Value) -> Value {
    choice.get("value").unwrap_or(choice).clone()
}

fn spellings(choice: &Value) -> Vec<String> {
    let named = ["value", "label"].iter().filter_map(|name| choice.get(name));
    std::iter::once(choice).chain(named).map(text_of).collect()
}

/// A choice as people read it.
pub fn shown_choice(choice: &Value) -> String {
    text_of(choice.get("label").or_else(|| choice.get("value")).unwrap_or(choice))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replies_are_taken_as_the_asker_wants_them() {
        let colours = [json!("red"), json!("blue")];
        let levels = [json!(1), json!({ "label": "high", "value": 2 })];
        type Case<'a> = (&'a [Value], Value, Value, Result<Value, &'a str>);
        let cases: [Case<'_>; 9] = [
            (&[], Value::Null, json!("as it is"), Ok(json!("as it is"))),
            (&colours, Value::Null, json!("blue"), Ok(json!("blue"))),
            (&colours, Value::Null, json!("green"), Err("Reply with one of: red, blue.")),
            (&levels, Value::Null, json!("1"), Ok(json!(1))),
            (&levels, Value::Null, json!("high"), Ok(json!(2))),
            (&[], json!("int"), json!("7"), Ok(json!(7))),
            (&[], json!("string"), json!("7"), Ok(json!("7"))),
            (&[], json!({ "type": "boolean" }), json!("maybe"), Err("The reply has to be of type boolean.")),
            (&[], json!("dict"), json!("{\"a\": 1}"), Ok(json!({ "a": 1 }))),
        ];
        for (choices, schema, reply, expected) in cases {
            let schema = (!schema.is_null()).then_some(schema);
            let fitted = fit(choices, schema.as_ref(), reply.clone());
            assert_eq!(fitted, expected.map_err(str::to_owned), "{reply}");
        }
    }

    /// `request_approval`, `dual_control` and `ask_user` have words of their own for it.
    #[test]
    fn the_words_of_the_builtins_are_understood() {
        let key = EffectKey::new("ask", "main", 1);
        let said =
            json!({ "kind": "approval", "prompt": "x", "approvers_required": 2, "reviewers": ["a", "b"] });
        let ask = Ask::of_script(&key, said);
        assert_eq!((ask.quorum, ask.reviewers.len(), ask.problem()), (Some(2), 2, None));
        let said =
            json!({ "kind": "dual_control", "prompt": "x", "approvers_required": 3, "approvers_total": 2 });
        assert!(Ask::of_script(&key, said).problem().is_some());
        let said = json!({ "kind": "question", "prompt": "x", "options": ["red"] });
        assert_eq!(Ask::of_script(&key, said).choices, [json!("red")]);
    }

    #[test]
    fn what_cannot_be_asked_says_why() {
        let key = EffectKey::new("ask", "main", 1);
        let problem = |said: Value| Ask::of_script(&key, said).problem().map(str::to_owned);
        assert_eq!(problem(json!({ "kind": "question", "prompt": "Sure?" })), None);
        let cases = [
            (json!({ "kind": "poll", "prompt": "x" }), "`poll` is nothing that people can be asked"),
            (json!({ "kind": "approval", "prompt": " " }), "`request_approval` needs words"),
            (
                json!({ "kind": "dual_control", "prompt": "x", "n": 3, "m": 2 }),
                "3 people have to agree, but only 2",
            ),
            (
                json!({ "kind": "dual_control", "prompt": "x", "n": 2, "approvers": ["ann"] }),
                "2 people have to agree, but only 1",
            ),
            (json!({ "kind": "approval", "prompt": "x", "quorum": 0 }), "At least one person"),
        ];
        for (said, words) in cases {
            let found = problem(said.clone()).unwrap_or_default();
            assert!(found.contains(words), "{said}: {found}");
        }
    }
}
