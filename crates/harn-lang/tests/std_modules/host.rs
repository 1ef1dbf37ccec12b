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
    loop {
        let turn = vm.run(1_000_000);
        let out = turn.output.iter().filter(|part| part.to == Channel::Out);
        out.for_each(|part| output.push_str(&part.text));
        for call in turn.calls {
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
    host: Mocks,
    models: Mocks,
}

/// Made-up answers and the calls that they were given for; scopes are put aside on a stack.
#[derive(Default)]
struct Mocks {
    answers: Vec<Vec<Value>>,
    calls: Vec<Value>,
    aside: Vec<(Vec<Vec<Value>>, Vec<Value>)>,
}

impl Mocks {
    fn push(&mut self) {
        let (answers, calls) = (std::mem::take(&mut self.answers), std::mem::take(&mut self.calls));
        self.aside.push((answers, calls));
    }

    fn pop(&mut self) {
        (self.answers, self.calls) = self.aside.pop().unwrap_or_default();
    }
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

impl Host {
    fn answer(&mut self, call: &Call) -> Result<Value, Fault> {
        let arg = |at: usize| call.args.get(at).cloned().unwrap_or_default();
        let text = |at: usize| arg(at).display();
        let nil = Ok(Value::Nil);
        match call.builtin {
            "sleep" | "sleep_ms" => {
                self.now += arg(0).as_int().unwrap_or(0);
                nil
            }
            "monotonic_ms" => Ok(Value::Int(self.now)),
            "timestamp" => Ok(Value::Float(self.now as f64 / 1000.0)),
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
            "host_tool_list" => Ok(Value::list(vec![Value::record([("name", Value::str("read"))])])),
            "request_approval" => Ok(Value::record([
                ("approved", Value::Bool(true)),
                ("reviewers", field(&arg(1), "reviewers")),
            ])),
            "http_post" => Ok(http_answer(&call.args)),
            "exec_at" | "shell_at" => Ok(command(&call.args)),
            _ => {
                self.files(call).or_else(|| self.mocks(call)).or_else(|| self.waitpoint(call)).unwrap_or_else(
                    || {
                        Ok(Value::record([
                            ("asked", Value::str(call.builtin)),
                            ("with", Value::list(call.args.clone())),
                        ]))
                    },
                )
            }
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

    fn mocks(&mut self, call: &Call) -> Option<Result<Value, Fault>> {
        let arg = |at: usize| call.args.get(at).cloned().unwrap_or_default();
        match call.builtin {
            "host_mock" => self.host.answers.push(call.args.clone()),
            "host_mock_clear" => self.host = Mocks::default(),
            "host_mock_push_scope" => self.host.push(),
            "host_mock_pop_scope" => self.host.pop(),
            "host_mock_calls" => return Some(Ok(Value::list(self.host.calls.clone()))),
            "host_call" => {
                let name = arg(0).display();
                let (cap, op) = name.split_once('.')?;
                let is_it = |mock: &&Vec<Value>| mock[0].display() == cap && mock[1].display() == op;
                let config = self.host.answers.iter().rev().find(is_it)?[2].clone();
                self.host.calls.push(Value::record([
                    ("capability", Value::str(cap)),
                    ("operation", Value::str(op)),
                    ("params", arg(1)),
                ]));
                return Some(match field(&config, "error") {
                    Value::Nil => Ok(field(&config, "result")),
                    error => Err(Fault::thrown(error.display())),
                });
            }
            "llm_mock" => self.models.answers.push(call.args.clone()),
            "llm_mock_push_scope" => self.models.push(),
            "llm_mock_pop_scope" => self.models.pop(),
            "llm_mock_calls" => return Some(Ok(Value::list(self.models.calls.clone()))),
            "llm_call" => {
                self.models.calls.push(Value::record([("prompt", arg(0))]));
                return Some(Ok(self.models.answers.first()?[0].clone()));
            }
            _ => return None,
        }
        Some(Ok(Value::Nil))
    }

    fn waitpoint(&mut self, call: &Call) -> Option<Result<Value, Fault>> {
        let first = call.args.first().cloned().unwrap_or_default();
        let first = match &first {
            Value::List(list) => list.first().cloned().unwrap_or_default(),
            _ => first,
        };
        let id = match field(&first, "id") {
            Value::Nil => first.display(),
            id => id.display(),
        };
        let (status, value) = match call.builtin {
            "waitpoint_create" => ("open", Value::Nil),
            "waitpoint_complete" => ("completed", call.args.get(1).cloned().unwrap_or_default()),
            "waitpoint_cancel" => ("cancelled", Value::Nil),
            "waitpoint_wait" => {
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
            _ => return None,
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
fn http_answer(args: &[Value]) -> Value {
    let asked = Value::list(args.to_vec()).display();
    let body = Value::record([
        ("data", Value::record([("user", Value::record([("name", Value::str("Ada"))]))])),
        ("extensions", Value::record([("asked", Value::str(asked))])),
    ]);
    Value::record([("status", Value::Int(200)), ("body", body)])
}

/// What Git would print; the command itself for everything but `status`.
fn command(args: &[Value]) -> Value {
    let words: Vec<String> = args.iter().map(Value::display).collect();
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
