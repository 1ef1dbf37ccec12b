//! A host that is all in memory: files, a store, checkpoints, waitpoints, and answers for the calls that mocks stand for.
//! Whatever else is asked is answered with the question.

use std::collections::BTreeMap;

use harn_lang::bytecode::Source;
use harn_lang::compile::Loader;
use harn_lang::fault::Fault;
use harn_lang::value::Value;
use harn_lang::vm::{Call, Limits};

use crate::support::{Answers, Files, run_for};

/// What a program printed; an error that nobody caught is the last line.
pub fn run(text: &str, loader: &dyn Loader) -> String {
    let source = Source { name: "main.harn".into(), text: text.into() };
    let ran = run_for(source, loader, Limits::default(), &mut Host::default());
    ran.output + &ran.result.err().unwrap_or_default()
}

#[derive(Default)]
struct Host {
    files: Files,
    store: BTreeMap<String, Value>,
    checkpoints: BTreeMap<String, Value>,
    waitpoints: BTreeMap<String, Value>,
}

impl Answers for Host {
    fn answer(&mut self, call: &Call, now: i64) -> Option<Result<Value, Fault>> {
        let arg = |at: usize| call.args.get(at).cloned().unwrap_or_default();
        let text = |at: usize| arg(at).display();
        Some(Ok(match call.builtin {
            "__monotonic_ms" | "__now_ms" => Value::Int(now),
            "store_get" => self.store.get(&text(0)).cloned().unwrap_or_default(),
            "store_set" => {
                self.store.insert(text(0), arg(1));
                Value::Nil
            }
            "store_save" => Value::Nil,
            "cwd" => "/home/ann".into(),
            "checkpoint" => {
                self.checkpoints.insert(text(0), arg(1));
                Value::Nil
            }
            "checkpoint_exists" => Value::Bool(self.checkpoints.contains_key(&text(0))),
            "checkpoint_get" => self.checkpoints.get(&text(0)).cloned().unwrap_or_default(),
            "__host_tools" => Value::list(vec![Value::record([("name", Value::str("read"))])]),
            "__ask" if field(&arg(0), "kind").display() == "question" => Value::record([
                ("status", Value::str("answered")),
                ("value", Value::str(format!("asked: {}", field(&arg(0), "prompt")))),
            ]),
            "__ask" => Value::record([
                ("status", Value::str("approved")),
                ("reviewers", field(&arg(0), "reviewers")),
            ]),
            "__http" => http_answer(&arg(0)),
            "__exec" | "__shell" => command(&call.args),
            "__waitpoint" => self.waitpoint(call),
            other => {
                let question = || {
                    let with = Value::list(call.args.clone());
                    Ok(Value::record([("asked", Value::str(other)), ("with", with)]))
                };
                return Some(self.files.answer(call).unwrap_or_else(question));
            }
        }))
    }
}

impl Host {
    fn waitpoint(&mut self, call: &Call) -> Value {
        let args = call.args.get(1).cloned().unwrap_or_default();
        let id = match field(&args, "ids") {
            Value::List(ids) => ids.first().cloned().unwrap_or_default().display(),
            _ => field(&args, "id").display(),
        };
        let (status, value) = match call.args.first().map(Value::display).unwrap_or_default().as_str() {
            "create" => ("open", Value::Nil),
            "complete" => ("completed", field(&args, "value")),
            "cancel" => ("cancelled", Value::Nil),
            _ => {
                let known = self.waitpoints.get(&id).cloned().unwrap_or_default();
                let status = match field(&known, "status").display().as_str() {
                    "open" => Value::str("timed_out"),
                    _ => field(&known, "status"),
                };
                return Value::record([("status", status), ("waitpoints", Value::list(vec![known]))]);
            }
        };
        let made = Value::record([
            ("id", Value::str(id.as_str())),
            ("status", Value::str(status)),
            ("value", value),
        ]);
        self.waitpoints.insert(id, made.clone());
        made
    }
}

/// The name of a user, and what was asked.
fn http_answer(request: &Value) -> Value {
    let part = |name: &'static str| (name, field(request, name));
    let options = Value::record([part("headers"), part("timeout_ms")]);
    let asked = Value::list(vec![field(request, "url"), field(request, "body"), options]).display();
    let body = Value::record([
        ("data", Value::record([("user", Value::record([("name", Value::str("Ada"))]))])),
        ("extensions", Value::record([("asked", Value::str(asked))])),
    ]);
    Value::record([("status", Value::Int(200)), ("body", body)])
}

/// What Git would print; the command itself for everything but `status`.
fn command(args: &[Value]) -> Value {
    let words = args.iter().flat_map(|arg| match arg {
        Value::List(list) => list.to_vec(),
        other => vec![other.clone()],
    });
    let words: Vec<String> = words.map(|word| word.display()).collect();
    let is_fine = words.first().is_none_or(|folder| folder != "broken");
    let output = match words.get(2).map(String::as_str) {
        Some("status") => "## fix...origin/fix\0 M src/a.rs\0R  b.rs\0old.rs\0?? new file.txt\0".to_owned(),
        _ => words.join(" "),
    };
    Value::record([
        ("stdout", Value::str(output)),
        ("stderr", Value::str(if is_fine { "" } else { "fatal: not a repository\n" })),
        ("status", Value::Int(if is_fine { 0 } else { 128 })),
        ("success", Value::Bool(is_fine)),
    ])
}

fn field(value: &Value, name: &str) -> Value {
    match value {
        Value::Dict(dict) => dict.get(name).cloned().unwrap_or_default(),
        _ => Value::Nil,
    }
}
