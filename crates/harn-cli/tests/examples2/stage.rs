//! A folder with one of the programs in it, and a provider that answers from a script.

use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

use harn_testkit::providers::anthropic::{Fake, KEY, Turn};
use serde_json::{Value, json};

pub struct Stage {
    folder: tempfile::TempDir,
    fake: Fake,
    program: String,
}

/// How a command ended.
#[derive(Debug)]
pub struct Ran {
    pub out: String,
    pub err: String,
    pub code: Option<i32>,
}

impl Stage {
    pub async fn new(program: &str, turns: Vec<Turn>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let program = format!("{program}.harn");
        let example = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../examples/agents").join(&program);
        std::fs::copy(example, folder.path().join(&program)).unwrap();
        Self { folder, fake: Fake::start(turns).await, program }
    }

    pub fn write(&self, name: &str, text: &str) {
        let file = self.folder.path().join(name);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, text).unwrap();
    }

    pub fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.folder.path().join(name)).unwrap()
    }

    pub fn has(&self, name: &str) -> bool {
        self.folder.path().join(name).exists()
    }

    /// The bodies of all requests that the provider got.
    pub fn asked(&self) -> Vec<Value> {
        self.fake.asked().into_iter().map(|asked| asked.body).collect()
    }

    /// Runs the program with these arguments.
    pub fn run(&self, args: &[&str]) -> Ran {
        let mut all = vec!["run", self.program.as_str(), "--"];
        all.extend(args);
        self.harn(&all)
    }

    /// Runs the binary in the folder.
    pub fn harn(&self, args: &[&str]) -> Ran {
        self.command(env!("CARGO_BIN_EXE_harn"), args)
    }

    /// Runs any command in the folder, with nothing of the machine's own settings.
    pub fn command(&self, program: &str, args: &[&str]) -> Ran {
        let mut command = Command::new(program);
        command.args(args).current_dir(self.folder.path()).env_clear();
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default()).env("HOME", self.folder.path());
        command.env("ANTHROPIC_API_KEY", KEY).env("ANTHROPIC_BASE_URL", &self.fake.url);
        let done = command.output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Ran { out: text(&done.stdout), err: text(&done.stderr), code: done.status.code() }
    }
}

/// An answer in words.
pub fn says(text: &str) -> Turn {
    answer(json!([{ "type": "text", "text": text }]), "end_turn")
}

/// An answer that calls tools: each with its name and its arguments.
pub fn calls(wanted: &[(&str, Value)]) -> Turn {
    static LAST: AtomicUsize = AtomicUsize::new(0);
    let blocks = wanted.iter().map(|(name, input)| {
        let id = format!("toolu_{}", LAST.fetch_add(1, Ordering::Relaxed));
        json!({ "type": "tool_use", "id": id, "name": name, "input": input })
    });
    answer(blocks.collect(), "tool_use")
}

fn answer(content: Value, stop: &str) -> Turn {
    let usage = json!({ "input_tokens": 1000, "output_tokens": 100 });
    Turn::Answer(json!({ "content": content, "stop_reason": stop, "usage": usage }))
}

/// The names of the tools that a request offers.
pub fn tools(request: &Value) -> Vec<&str> {
    request["tools"].as_array().into_iter().flatten().filter_map(|tool| tool["name"].as_str()).collect()
}

/// All text of one message of a request: what was said, and what tools gave.
pub fn text(message: &Value) -> String {
    if let Some(text) = message["content"].as_str() {
        return text.to_owned();
    }
    let blocks = message["content"].as_array().into_iter().flatten();
    let texts = blocks.map(|block| match &block["content"] {
        Value::Null => block["text"].as_str().unwrap_or_default().to_owned(),
        Value::String(text) => text.clone(),
        other => text(&json!({ "content": other })),
    });
    texts.collect::<Vec<_>>().join("\n")
}

/// The text of the last message of a request.
pub fn last(request: &Value) -> String {
    request["messages"].as_array().and_then(|all| all.last()).map(text).unwrap_or_default()
}

/// The instructions of a request.
pub fn system(request: &Value) -> String {
    text(&json!({ "content": request["system"] }))
}
