//! A folder with a program and its files, and a provider that plays the model.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

use harn_testkit::providers::anthropic::{Fake, KEY, Turn};
use serde_json::{Value, json};

pub const HARN: &str = env!("CARGO_BIN_EXE_harn");

/// How a program ended.
#[derive(Debug, PartialEq)]
pub struct Ran {
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

/// What a tool gave the model.
#[derive(Debug, PartialEq)]
pub struct Result {
    pub text: String,
    pub is_error: bool,
}

pub struct Stage {
    folder: tempfile::TempDir,
    fake: Fake,
    program: String,
}

impl Stage {
    /// The program lies in the folder, so that what it keeps beside itself is in there, too.
    pub async fn new(program: &str, files: &[(&str, &str)], turns: Vec<Turn>) -> Self {
        Self::with(program, files, Fake::start(turns).await)
    }

    pub fn with(program: &str, files: &[(&str, &str)], fake: Fake) -> Self {
        Self::within(tempfile::tempdir().unwrap(), program, files, fake)
    }

    /// In a folder that is there already, for a provider that does something in it.
    pub fn within(folder: tempfile::TempDir, program: &str, files: &[(&str, &str)], fake: Fake) -> Self {
        let stage = Self { folder, fake, program: program.to_owned() };
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/agents").join(program);
        stage.write(program, &std::fs::read_to_string(source).unwrap());
        files.iter().for_each(|(name, text)| stage.write(name, text));
        stage
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    pub fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }

    pub fn has(&self, name: &str) -> bool {
        self.path(name).exists()
    }

    /// The bodies of all requests that the provider got.
    pub fn asked(&self) -> Vec<Value> {
        self.fake.asked().into_iter().map(|asked| asked.body).collect()
    }

    /// Any command in the folder, with the provider that plays the model and nothing of the machine's own settings.
    pub fn command(&self, program: &str, args: &[&str]) -> Command {
        let mut command = Command::new(program);
        command.args(args).current_dir(self.folder.path()).stdin(Stdio::null()).env_clear();
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default()).env("HOME", self.folder.path());
        command.env("ANTHROPIC_API_KEY", KEY).env("ANTHROPIC_BASE_URL", &self.fake.url);
        command
    }

    pub fn program(&self, args: &[&str]) -> Command {
        self.command(HARN, &[&["run", self.program.as_str(), "--"], args].concat())
    }

    pub fn run(&self, args: &[&str]) -> Ran {
        ran(&self.program(args).output().unwrap())
    }

    pub fn harn(&self, args: &[&str]) -> Ran {
        ran(&self.command(HARN, args).output().unwrap())
    }
}

pub fn ran(output: &Output) -> Ran {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    Ran { code: output.status.code(), out: text(&output.stdout), err: text(&output.stderr) }
}

/// The model says something, and that is all.
pub fn says(text: &str) -> Turn {
    answer(json!([{ "type": "text", "text": text }]), "end_turn")
}

/// The model wants these tools: name and arguments.
pub fn calls(wanted: &[(&str, Value)]) -> Turn {
    answer(wanted.iter().map(|(name, input)| call("tool_use", name, input)).collect(), "tool_use")
}

/// The provider searches for tools, finds these, and the model calls the first of them.
pub fn finds(query: &str, found: &[&str], input: Value) -> Turn {
    let looks = call("server_tool_use", "tool_search_tool_bm25", &json!({ "query": query }));
    let reference = |name: &&str| json!({ "type": "tool_reference", "tool_name": name });
    let references: Vec<Value> = found.iter().map(reference).collect();
    let content = json!({ "type": "tool_search_tool_search_result", "tool_references": references });
    let result = json!({ "type": "tool_search_tool_result", "tool_use_id": looks["id"], "content": content });
    answer(json!([looks, result, call("tool_use", found[0], &input)]), "tool_use")
}

fn call(kind: &str, name: &str, input: &Value) -> Value {
    static LAST: AtomicUsize = AtomicUsize::new(0);
    let id = format!("toolu_{}", LAST.fetch_add(1, Ordering::Relaxed));
    json!({ "type": kind, "id": id, "name": name, "input": input })
}

fn answer(content: Value, stop: &str) -> Turn {
    let usage = json!({ "input_tokens": 1000, "output_tokens": 100 });
    Turn::Answer(json!({ "content": content, "stop_reason": stop, "usage": usage }))
}

/// All text of one message of a request, or of a block of one: what was said, and what tools gave.
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

fn last_message(request: &Value) -> &Value {
    request["messages"].as_array().unwrap().last().unwrap()
}

/// The text of the last message of a request.
pub fn last(request: &Value) -> String {
    text(last_message(request))
}

/// The instructions of a request.
pub fn system(request: &Value) -> String {
    text(&json!({ "content": request["system"] }))
}

/// What tools gave back in the last message of a request. The provider has checked which call each is for.
pub fn results(request: &Value) -> Vec<Result> {
    let blocks = last_message(request)["content"].as_array().into_iter().flatten();
    let found = blocks.filter(|block| block["type"] == "tool_result");
    found.map(|block| Result { text: text(block), is_error: block["is_error"] == true }).collect()
}

pub fn result(text: &str) -> Result {
    Result { text: text.to_owned(), is_error: false }
}

/// The names of the tools that a request offers.
pub fn tools(request: &Value) -> Vec<&str> {
    request["tools"].as_array().into_iter().flatten().filter_map(|tool| tool["name"].as_str()).collect()
}
