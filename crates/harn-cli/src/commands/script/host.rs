//! What a script of the command line gets from its host: arguments, a clock, the environment, and files to read.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use harn_lang::fault::Fault;
use harn_lang::value::Value;
use harn_lang::vm::{Call, Vm};

/// The names that a script finds defined, in the order of `values`.
pub fn names() -> Vec<Arc<str>> {
    ["argv", "pi", "e", "task", "project", "context"].into_iter().map(Arc::from).collect()
}

pub fn values(args: &[String]) -> Vec<Value> {
    let argv = args.iter().map(|arg| Value::str(arg.as_str())).collect();
    let folder = std::env::current_dir().map(|folder| folder.display().to_string()).unwrap_or_default();
    let task = Value::str("");
    let context =
        [("task", task.clone()), ("project_root", Value::str(folder.as_str())), ("task_type", Value::Nil)];
    vec![
        Value::list(argv),
        Value::Float(std::f64::consts::PI),
        Value::Float(std::f64::consts::E),
        task,
        Value::str(folder.as_str()),
        Value::record(context),
    ]
}

/// Answers the calls of one script.
pub struct Host {
    started: Instant,
    /// When which timer is due; those of the same time in the order in which they came.
    timers: BTreeMap<(Instant, u64), u64>,
    /// `exit(n)` was called.
    pub exit: Option<u8>,
}

impl Host {
    pub fn new() -> Self {
        Self { started: Instant::now(), timers: BTreeMap::new(), exit: None }
    }

    pub fn take(&mut self, call: Call, vm: &mut Vm) {
        let text = |at: usize| call.args.get(at).map(Value::display).unwrap_or_default();
        let answer = match call.builtin {
            "sleep" | "sleep_ms" | "deadline" => {
                let due = Instant::now() + duration(call.args.first());
                self.timers.insert((due, call.id), call.id);
                return;
            }
            "exit" => {
                let code = call.args.first().and_then(Value::as_int).unwrap_or(0);
                self.exit = Some(u8::try_from(code & 0xff).unwrap_or(1));
                return;
            }
            "timestamp" => Ok(Value::Float(since_epoch().as_secs_f64())),
            "now_ms" => Ok(Value::Int(millis(since_epoch()))),
            "elapsed" | "monotonic_ms" => Ok(Value::Int(millis(self.started.elapsed()))),
            "env" => Ok(std::env::var(text(0)).map(Value::str).unwrap_or_default()),
            "env_or" => Ok(std::env::var(text(0))
                .map(Value::str)
                .unwrap_or_else(|_| call.args.get(1).cloned().unwrap_or_default())),
            "cwd" | "execution_root" | "project_root" => {
                let folder = std::env::current_dir().map(|folder| folder.display().to_string());
                folder.map(Value::str).map_err(|error| Fault::thrown(format!("{}: {error}", call.builtin)))
            }
            "read_file" => read_file(&text(0)).map_err(Fault::thrown),
            "read_file_result" => Ok(match read_file(&text(0)) {
                Ok(content) => Value::ok(content),
                Err(message) => Value::err(Value::str(message)),
            }),
            "file_exists" => Ok(Value::Bool(std::path::Path::new(&text(0)).exists())),
            other => Err(Fault::thrown(format!("{other}: `harn run` has no host for this builtin yet"))),
        };
        vm.complete(call.id, answer);
    }

    pub fn forget(&mut self, call: u64) {
        self.timers.retain(|_, waiting| *waiting != call);
    }

    /// Brings the answers of all timers that are due.
    pub fn ring(&mut self, vm: &mut Vm) {
        let now = Instant::now();
        while let Some(entry) = self.timers.first_entry()
            && entry.key().0 <= now
        {
            vm.complete(entry.remove(), Ok(Value::Nil));
        }
    }

    /// Waits until the next timer is due. Gives false if there is none.
    pub fn wait(&self) -> bool {
        let Some(((due, _), _)) = self.timers.first_key_value() else { return false };
        std::thread::sleep(due.saturating_duration_since(Instant::now()));
        true
    }
}

fn read_file(path: &str) -> Result<Value, String> {
    std::fs::read_to_string(path)
        .map(Value::str)
        .map_err(|error| format!("Failed to read file {path}: {error}"))
}

fn duration(value: Option<&Value>) -> Duration {
    let ms = match value {
        Some(Value::Duration(ms) | Value::Int(ms)) => *ms,
        Some(Value::Float(ms)) => *ms as i64,
        _ => 0,
    };
    // Nobody waits longer than a century.
    Duration::from_millis(u64::try_from(ms).unwrap_or(0).min(3_155_760_000_000))
}

fn since_epoch() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}
