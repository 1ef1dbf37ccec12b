//! `--local`: models and providers as the servers of this machine tell them, and only when asked.

use std::process::Output;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::extract::State;
use axum::http::{StatusCode, Uri};
use serde_json::{Value, json};

use crate::kit::Project;

/// A server with a list of models at one path.
struct Fake {
    url: String,
    asked: Arc<Mutex<Vec<String>>>,
}

type Known = (&'static str, Value, Arc<Mutex<Vec<String>>>);

impl Fake {
    async fn start(path: &'static str, body: Value) -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let asked = Arc::new(Mutex::new(Vec::new()));
        let app = Router::new().fallback(answer).with_state((path, body, Arc::clone(&asked)));
        tokio::spawn(async move { axum::serve(listener, app).await });
        Self { url, asked }
    }
}

async fn answer(State((path, body, asked)): State<Known>, uri: Uri) -> (StatusCode, String) {
    asked.lock().unwrap().push(uri.to_string());
    let status = if uri.path() == path { StatusCode::OK } else { StatusCode::NOT_FOUND };
    (status, body.to_string())
}

/// An Ollama with two models, one of them known to the catalog; a vLLM that is something else; nothing more.
struct Machine {
    project: Project,
    ollama: Fake,
    vllm: Fake,
    /// Where nobody listens.
    free: String,
}

impl Machine {
    async fn start() -> Self {
        let tags = json!({"models": [
            {"name": "known:1b", "size": 1_300_000_000},
            {"name": "new\u{1b}[31m:8b", "size": 5_225_388_164_u64},
        ]});
        let ollama = Fake::start("/api/tags", tags).await;
        let vllm = Fake::start("/v1/models", json!("hello")).await;
        let free = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
        let project = Project::new();
        let known = "[[models]]\nprovider = \"ollama\"\nid = \"known:1b\"\ncontext_window = 32_768\n";
        std::fs::write(project.path().join("providers.toml"), known).unwrap();
        Self { project, ollama, vllm, free: format!("http://{free}") }
    }

    async fn run(&self, args: &[&str]) -> Output {
        let mut command = self.project.command(args);
        command
            .env("OLLAMA_HOST", &self.ollama.url)
            .env("VLLM_BASE_URL", format!("{}/v1", self.vllm.url))
            .env("LLAMA_CPP_BASE_URL", &self.free)
            .env("LM_STUDIO_BASE_URL", &self.free);
        let output = tokio::process::Command::from(command).output().await.unwrap();
        assert!(output.status.success(), "{output:?}");
        output
    }

    fn unheard(&self) -> String {
        let (free, vllm) = (&self.free, &self.vllm.url);
        format!(
            "llama.cpp: not running at {free}; start it with `llama-server -m FILE` or set LLAMA_CPP_BASE_URL\n\
             lmstudio: not running at {free}; start it with `lms server start` or set LM_STUDIO_BASE_URL\n\
             vllm: {vllm}/v1/models did not answer with a list of models; if vLLM is elsewhere, set VLLM_BASE_URL\n"
        )
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// The line that begins with this word, its words apart.
fn line(out: &str, first: &str) -> Vec<String> {
    let found = out.lines().find(|line| line.split_whitespace().next() == Some(first));
    found.unwrap_or_else(|| panic!("no {first} in\n{out}")).split_whitespace().map(str::to_owned).collect()
}

#[tokio::test]
async fn models_of_local_servers_stand_beside_those_of_the_catalog() {
    let machine = Machine::start().await;
    let output = machine.run(&["models", "list", "--local"]).await;
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(err, machine.unheard());
    assert_eq!(
        line(&out, "ollama:known:1b"),
        ["ollama:known:1b", "32768", "unknown", "unknown", "1.3", "GB", "catalog,", "discovered"]
    );
    assert_eq!(
        line(&out, "ollama:new\\x1b[31m:8b"),
        ["ollama:new\\x1b[31m:8b", "unknown", "5.2", "GB", "discovered"]
    );
    assert_eq!(line(&out, "anthropic:claude-sonnet-5-5").last().unwrap(), "catalog");

    let output = machine.run(&["models", "list", "--local", "--provider", "ollama", "--json"]).await;
    assert_eq!(text(&output.stderr), "");
    let rows: Value = serde_json::from_slice(&output.stdout).unwrap();
    let rows = rows.as_array().unwrap();
    let known = rows.iter().find(|row| row["id"] == "known:1b").unwrap();
    assert_eq!((&known["context_window"], &known["discovered"]), (&json!(32_768), &json!(true)));
    let new = json!({"provider": "ollama", "id": "new\u{1b}[31m:8b", "context_window": null,
                     "size_bytes": 5_225_388_164_u64, "discovered": true});
    assert_eq!(rows.last().unwrap(), &new);
}

#[tokio::test]
async fn providers_say_which_local_servers_run() {
    let machine = Machine::start().await;
    let out = text(&machine.run(&["providers", "list", "--local"]).await.stdout);
    let told = |provider: &str| line(&out, provider).join(" ");
    let (ollama, free) = (&machine.ollama.url, &machine.free);
    assert_eq!(
        told("ollama"),
        format!("ollama running {ollama} 2 models: ollama:known:1b, ollama:new\\x1b[31m:8b")
    );
    assert_eq!(
        told("lmstudio"),
        format!("lmstudio not running {free} start it with `lms server start` or set LM_STUDIO_BASE_URL")
    );
    assert!(told("vllm").starts_with("vllm no list "), "{out}");
    assert!(told("openai").starts_with("openai no key "), "{out}");

    let rows = machine.run(&["providers", "list", "--local", "--json"]).await.stdout;
    let rows: Vec<Value> = serde_json::from_slice(&rows).unwrap();
    let row = |id: &str| rows.iter().find(|row| row["provider"] == id).unwrap().clone();
    let named: Vec<Value> =
        row("ollama")["models"].as_array().unwrap().iter().map(|m| m["id"].clone()).collect();
    assert_eq!((row("ollama")["running"].clone(), named.len()), (json!(true), 2));
    assert_eq!((&row("ollama")["hint"], &row("ollama")["status"]), (&Value::Null, &json!("not_probed")));
    assert_eq!((&row("lmstudio")["running"], &row("lmstudio")["models"]), (&json!(false), &json!([])));
    assert_eq!(row("openai").get("running"), None);
}

#[tokio::test]
async fn nobody_is_asked_without_the_flag() {
    let machine = Machine::start().await;
    for args in [
        &["models", "list"][..],
        &["models", "list", "--json"],
        &["providers", "list"],
        &["providers", "export"],
    ] {
        machine.run(args).await;
    }
    assert_eq!(*machine.ollama.asked.lock().unwrap(), Vec::<String>::new());
    machine.run(&["models", "list", "--local"]).await;
    assert_eq!(*machine.ollama.asked.lock().unwrap(), ["/api/tags", "/api/ps"]);
}

#[test]
fn a_provider_is_tested_with_its_default_model() {
    let project = Project::new();
    let said = |args: &[&str], env: &[(&str, &str)]| {
        let output = project.command(args).envs(env.iter().copied()).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        String::from_utf8(output.stderr).unwrap()
    };
    let nowhere = [("ANTHROPIC_API_KEY", "k"), ("ANTHROPIC_BASE_URL", "http://127.0.0.1:9")];
    let told = said(&["providers", "test", "anthropic"], &nowhere);
    assert!(told.starts_with("error: anthropic:claude-sonnet-5-5 gave no answer\n"), "{told}");
    let told = said(&["providers", "test", "ollama"], &[]);
    assert!(told.contains("harn providers test ollama:MODEL"), "{told}");
}
