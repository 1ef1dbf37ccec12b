//! A folder with a program and its files, and a provider that plays the model.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use harn_testkit::providers::Asked;
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
    pub id: String,
    pub text: String,
    pub is_error: bool,
}

pub struct Stage {
    folder: tempfile::TempDir,
    pub fake: Fake,
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

    /// The binary, with the provider that plays the model and no other.
    pub fn harn(&self, args: &[&str]) -> Command {
        let mut command = Command::new(HARN);
        command.args(args).current_dir(self.folder.path()).stdin(Stdio::null());
        for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("HARN_")) {
            command.env_remove(name);
        }
        command.env("ANTHROPIC_API_KEY", KEY).env("ANTHROPIC_BASE_URL", &self.fake.url);
        command.env("HARN_LLM_MODEL", "anthropic:claude-sonnet-5-5");
        command
    }

    pub fn program(&self, args: &[&str]) -> Command {
        let mut command = self.harn(&["run", &self.program, "--"]);
        command.args(args);
        command
    }

    pub fn run(&self, args: &[&str]) -> Ran {
        ran(&self.program(args).output().unwrap())
    }

    pub fn asked(&self) -> Vec<Asked> {
        self.fake.asked()
    }
}

pub fn ran(output: &std::process::Output) -> Ran {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    Ran { code: output.status.code(), out: text(&output.stdout), err: text(&output.stderr) }
}

/// The model says something, and that is all.
pub fn says(text: &str) -> Turn {
    answer(json!([{ "type": "text", "text": text }]), "end_turn")
}

/// The model wants these tools: id, name, arguments.
pub fn calls(calls: &[(&str, &str, Value)]) -> Turn {
    let block = |(id, name, input): &(&str, &str, Value)| json!({ "type": "tool_use", "id": id, "name": name, "input": input });
    answer(calls.iter().map(block).collect(), "tool_use")
}

fn answer(content: Value, stop: &str) -> Turn {
    let usage = json!({ "input_tokens": 20, "output_tokens": 10 });
    Turn::Answer(json!({ "content": content, "stop_reason": stop, "usage": usage }))
}

/// The text of a message, or of a part of one.
pub fn text_of(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().map(text_of).collect(),
        part => part["text"].as_str().unwrap_or_default().to_owned(),
    }
}

/// The last message of a request.
pub fn last_message(asked: &Asked) -> Value {
    asked.body["messages"].as_array().unwrap().last().unwrap()["content"].clone()
}

/// What tools gave back in the last message of a request.
pub fn results(asked: &Asked) -> Vec<Result> {
    let content = last_message(asked);
    let found = content.as_array().into_iter().flatten().filter(|block| block["type"] == "tool_result");
    found
        .map(|block| Result {
            id: block["tool_use_id"].as_str().unwrap().to_owned(),
            text: text_of(&block["content"]),
            is_error: block["is_error"] == true,
        })
        .collect()
}

pub fn result(id: &str, text: &str) -> Result {
    Result { id: id.to_owned(), text: text.to_owned(), is_error: false }
}

/// The names of the tools that a request offers.
pub fn offered(asked: &Asked) -> Vec<String> {
    let tools = asked.body["tools"].as_array().into_iter().flatten();
    tools.map(|tool| tool["name"].as_str().unwrap_or_default().to_owned()).collect()
}
