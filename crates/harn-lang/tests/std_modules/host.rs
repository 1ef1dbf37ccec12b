//! A host that is all in memory: a clock that only moves when a program sleeps, files, a store, checkpoints,
//! waitpoints, and answers for the calls that mocks stand for. Whatever else is asked is answered with the question.

use std::collections::BTreeMap;
use std::sync::Arc;

use harn_lang::bytecode::Source;
use harn_lang::compile::{Loader, Settings, compile};
use harn_lang::fault::Fault;
use harn_lang::value::Value;
use harn_lang::vm::{Call, Channel, Limits, State, Vm};

/// What a program printed; an error that nobody caught is the last line.
pub fn run(text: &str, loader: &dyn Loader) -> String {
    let source = Source { name: "main.harn".into(), text: text.into() };
    let program = match compile(source, loader, &Settings::default()) {
        Ok(program) => program,
        Err(problems) => {
            let messages: Vec<&str> = problems.all.iter().map(|problem| problem.message.as_str()).collect();
            return messages.join("\n");
        }
    };
    let mut host = Host::default();
    let mut vm = Vm::new(Arc::new(program), Vec::new(), Limits::default(), 1);
    let mut output = String::new();
    let mut timers: Vec<(i64, u64)> = Vec::new();
    loop {
        let turn = vm.run(1_000_000);
        let out = turn.output.iter().filter(|part| part.to == Channel::Out);
        out.for_each(|part| output.push_str(&part.text));
        // Time passes when nothing else is to be done.
        timers.retain(|(_, id)| !turn.dropped.contains(id));
        let (sleeps, others): (Vec<Call>, Vec<Call>) =
            turn.calls.into_iter().partition(|call| matches!(call.builtin, "sleep" | "__sleep"));
        timers.extend(sleeps.iter().map(|call| (host.now + call.args[0].as_int().unwrap_or(0), call.id)));
        timers.sort_unstable();
        if others.is_empty() && matches!(turn.state, State::Waiting) && !timers.is_empty() {
            let (due, id) = timers.remove(0);
            host.now = host.now.max(due);
            vm.complete(id, Ok(Value::Nil));
        }
        for call in others {
            let answer = host.answer(&call);
            vm.complete(call.id, answer);
        }
        match turn.state {
            State::Done(_) => return output,
            State::Failed(failure) => return output + &failure.fault.to_string(),
            State::OutOfFuel | State::Waiting => {}
        }
    }
}

#[derive(Default)]
struct Host {
    now: i64,
    files: BTreeMap<String, String>,
    folders: BTreeMap<String, ()>,
    store: BTreeMap<String, Value>,
    checkpoints: BTreeMap<String, Value>,
    waitpoints: BTreeMap<String, Value>,
}

impl Host {
    fn answer(&mut self, call: &Call) -> Result<Value, Fault> {
        let arg = |at: usize| call.args.get(at).cloned().unwrap_or_default();
        let text = |at: usize| arg(at).display();
        let nil = Ok(Value::Nil);
        match call.builtin {
            "__monotonic_ms" => Ok(Value::Int(self.now)),
            "__now_ms" => Ok(Value::Int(self.now)),
            "store_get" => Ok(self.store.get(&text(0)).cloned().unwrap_or_default()),
            "store_set" => {
                self.store.insert(text(0), arg(1));
                nil
            }
            "store_save" => nil,
            "checkpoint" => {
                self.checkpoints.insert(text(0), arg(1));
                nil
            }
            "checkpoint_exists" => Ok(Value::Bool(self.checkpoints.contains_key(&text(0)))),
            "checkpoint_get" => Ok(self.checkpoints.get(&text(0)).cloned().unwrap_or_default()),
            "__host_tools" => Ok(Value::list(vec![Value::record([("name", Value::str("read"))])])),
            "__ask" if field(&arg(0), "kind").display() == "question" => Ok(Value::record([
                ("status", Value::str("answered")),
                ("value", Value::str(format!("asked: {}", field(&arg(0), "prompt")))),
            ])),
            "__ask" => Ok(Value::record([
                ("status", Value::str("approved")),
                ("reviewers", field(&arg(0), "reviewers")),
            ])),
            "__http" => Ok(http_answer(&arg(0))),
            "__exec" | "__shell" => Ok(command(&call.args)),
            _ => self.files(call).or_else(|| self.waitpoint(call)).unwrap_or_else(|| {
                Ok(Value::record([
                    ("asked", Value::str(call.builtin)),
                    ("with", Value::list(call.args.clone())),
                ]))
            }),
        }
    }

    fn files(&mut self, call: &Call) -> Option<Result<Value, Fault>> {
        let path = call.args.first().map(Value::display).unwrap_or_default();
        let path = path.trim_end_matches('/').to_owned();
        Some(match call.builtin {
            "mkdir" => {
                let mut folder = path;
                while !folder.is_empty() {
                    let above = parent(&folder);
                    self.folders.insert(folder, ());
                    folder = above;
                }
                Ok(Value::Nil)
            }
            "write_file" => {
                let text = call.args.get(1).map(Value::display).unwrap_or_default();
                self.files.insert(path, text);
                Ok(Value::Nil)
            }
            "read_file" => match self.files.get(&path) {
                Some(text) => Ok(Value::str(text.as_str())),
                None => Err(Fault::thrown(format!("Failed to read file {path}"))),
            },
            "file_exists" => {
                Ok(Value::Bool(self.files.contains_key(&path) || self.folders.contains_key(&path)))
            }
            "delete_file" => {
                self.files.remove(&path);
                Ok(Value::Nil)
            }
            "stat" => Ok(Value::record([("is_dir", Value::Bool(self.folders.contains_key(&path)))])),
            "list_dir" => {
                let all = self.files.keys().chain(self.folders.keys());
                let mut names: Vec<&str> = all
                    .filter(|known| parent(known) == path)
                    .map(|known| known.rsplit('/').next().unwrap_or(known))
                    .collect();
                names.sort_unstable();
                Ok(Value::list(names.into_iter().map(Value::str).collect()))
            }
            _ => return None,
        })
    }

    fn waitpoint(&mut self, call: &Call) -> Option<Result<Value, Fault>> {
        if call.builtin != "__waitpoint" {
            return None;
        }
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
                return Some(Ok(Value::record([
                    ("status", status),
                    ("waitpoints", Value::list(vec![known])),
                ])));
            }
        };
        let made = Value::record([
            ("id", Value::str(id.as_str())),
            ("status", Value::str(status)),
            ("value", value),
        ]);
        self.waitpoints.insert(id, made.clone());
        Some(Ok(made))
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
        Some("status") => "## fix...origin/fix\n M src/a.rs\n?? new file.txt\n".to_owned(),
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

fn parent(path: &str) -> String {
    path.rsplit_once('/').map_or(String::new(), |(parent, _)| parent.to_owned())
}
