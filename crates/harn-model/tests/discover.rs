//! Local servers on real sockets: what each says about its models, and what becomes of those that say nothing useful.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use harn_model::catalog::{Catalog, OverlayFile, OverlayKind};
use harn_model::discover::{Discovered, LocalServer, NoList, discover};
use harn_model::{Proxy, Transport, TransportOptions};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

#[derive(Clone)]
enum Says {
    Json(Value),
    Status(u16, &'static str),
    Bytes(&'static [u8]),
    /// More than anyone wants to read, without an end.
    Endless,
    /// Nothing at all, with the connection open.
    Silence,
}

/// A server that answers each path as told, and remembers the heads of the requests.
struct Fake {
    url: String,
    seen: Arc<Mutex<Vec<String>>>,
}

impl Fake {
    async fn start(paths: &[(&'static str, Says)]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let seen = Arc::new(Mutex::new(Vec::new()));
        let paths: Arc<HashMap<&str, Says>> = Arc::new(paths.iter().cloned().collect());
        let heads = Arc::clone(&seen);
        tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                tokio::spawn(answer(socket, Arc::clone(&paths), Arc::clone(&heads)));
            }
        });
        Self { url, seen }
    }

    /// `METHOD path` of every request.
    fn asked(&self) -> Vec<String> {
        let seen = self.seen.lock().unwrap();
        seen.iter().map(|head| head.split(" HTTP").next().unwrap().to_owned()).collect()
    }
}

async fn answer(mut socket: TcpStream, paths: Arc<HashMap<&str, Says>>, seen: Arc<Mutex<Vec<String>>>) {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        match socket.read_u8().await {
            Ok(byte) => head.push(byte),
            Err(_) => return,
        }
    }
    let head = String::from_utf8(head).unwrap();
    let path = head.split_whitespace().nth(1).unwrap().to_owned();
    seen.lock().unwrap().push(head);
    let whole = |status: u16, more: &str, body: &[u8]| {
        let start = format!(
            "HTTP/1.1 {status} X\r\nconnection: close\r\ncontent-length: {}\r\n{more}\r\n",
            body.len()
        );
        [start.as_bytes(), body].concat()
    };
    let bytes = match paths.get(path.as_str()) {
        Some(Says::Json(body)) => {
            whole(200, "content-type: application/json\r\n", body.to_string().as_bytes())
        }
        Some(Says::Status(status, more)) => whole(*status, more, b"{}"),
        Some(Says::Bytes(bytes)) => whole(200, "", bytes),
        Some(Says::Endless) => {
            let _ = socket.write_all(b"HTTP/1.1 200 OK\r\n\r\n[").await;
            while socket.write_all(&[b' '; 65_536]).await.is_ok() {}
            return;
        }
        Some(Says::Silence) => {
            let _ = socket.read_u8().await;
            return;
        }
        None => whole(404, "", b"not here"),
    };
    let _ = socket.write_all(&bytes).await;
}

/// Asks the provider with this id, whose address and key are in these variables.
async fn ask(provider: &str, overlay: &str, env: &[(&str, &str)]) -> Vec<LocalServer> {
    let transport =
        Transport::new(&TransportOptions { proxy: Proxy::None, ..TransportOptions::default() }).unwrap();
    let file = OverlayFile { kind: OverlayKind::Providers, path: "providers.toml", text: overlay };
    let catalog = Catalog::builtin().overlaid(&[file]).unwrap();
    let variable =
        |name: &str| env.iter().find(|(given, _)| *given == name).map(|(_, value)| (*value).to_owned());
    discover(&catalog, Some(provider), &variable, &transport).await
}

async fn models(provider: &str, variable: &str, url: &str) -> Result<Vec<Discovered>, NoList> {
    let mut servers = ask(provider, "", &[(variable, url)]).await;
    assert_eq!(servers.len(), 1);
    servers.remove(0).models
}

fn found(provider: &str, id: &str, context_window: Option<u64>, size_bytes: Option<u64>) -> Discovered {
    Discovered { provider: provider.into(), id: id.into(), context_window, size_bytes }
}

#[tokio::test]
async fn ollama_tells_what_was_pulled_and_the_window_of_what_is_loaded() {
    let tags = json!({"models": [
        {"name": "qwen3:8b", "model": "qwen3:8b", "size": 5_225_388_164_u64, "details": {"family": "qwen3"}},
        {"name": "old", "size": "big"},
        {"name": 7}, "odd",
    ]});
    let running = json!({"models": [{"name": "qwen3:8b", "model": "qwen3:8b", "context_length": 16_384}]});
    let fake =
        Fake::start(&[("/api/tags", Says::Json(tags.clone())), ("/api/ps", Says::Json(running))]).await;
    let expected = vec![
        found("ollama", "qwen3:8b", Some(16_384), Some(5_225_388_164)),
        found("ollama", "old", None, None),
    ];
    assert_eq!(models("ollama", "OLLAMA_HOST", &fake.url).await, Ok(expected));
    assert_eq!(fake.asked(), ["GET /api/tags", "GET /api/ps"]);

    // What is only nice to know may be missing, wrong, or never come.
    for odd in [Says::Status(500, ""), Says::Json(json!({"models": 3})), Says::Silence] {
        let fake = Fake::start(&[("/api/tags", Says::Json(tags.clone())), ("/api/ps", odd)]).await;
        let expected =
            vec![found("ollama", "qwen3:8b", None, Some(5_225_388_164)), found("ollama", "old", None, None)];
        assert_eq!(models("ollama", "OLLAMA_HOST", &fake.url).await, Ok(expected));
    }
}

#[tokio::test]
async fn servers_that_speak_like_openai_tell_the_window_each_in_its_way() {
    let list = |row: Value| Says::Json(json!({"object": "list", "data": [row]}));
    let vllm =
        Fake::start(&[("/v1/models", list(json!({"id": "org/model", "max_model_len": 32_768})))]).await;
    let expected = vec![found("vllm", "org/model", Some(32_768), None)];
    assert_eq!(models("vllm", "VLLM_BASE_URL", &format!("{}/v1", vllm.url)).await, Ok(expected));

    let row = json!({"id": "m.gguf", "meta": {"n_ctx_train": 131_072, "size": 4_912_898_304_u64}});
    let props = json!({"default_generation_settings": {"n_ctx": 8192}});
    let llama = Fake::start(&[("/v1/models", list(row.clone())), ("/props", Says::Json(props))]).await;
    let expected = vec![found("llama.cpp", "m.gguf", Some(8192), Some(4_912_898_304))];
    assert_eq!(models("llama.cpp", "LLAMA_CPP_BASE_URL", &format!("{}/v1/", llama.url)).await, Ok(expected));
    let older = Fake::start(&[("/v1/models", list(row))]).await;
    let expected = vec![found("llama.cpp", "m.gguf", Some(131_072), Some(4_912_898_304))];
    assert_eq!(models("llama.cpp", "LLAMA_CPP_BASE_URL", &format!("{}/v1", older.url)).await, Ok(expected));

    let own = Says::Json(json!({"data": [
        {"id": "a", "type": "llm", "state": "loaded", "loaded_context_length": 4096, "max_context_length": 32_768},
        {"id": "b", "type": "vlm", "state": "not-loaded", "max_context_length": 65_536},
        {"id": "embed", "type": "embeddings", "max_context_length": 2048},
    ]}));
    let studio = Fake::start(&[("/api/v0/models", own)]).await;
    let expected = vec![found("lmstudio", "a", Some(4096), None), found("lmstudio", "b", Some(65_536), None)];
    assert_eq!(models("lmstudio", "LM_STUDIO_BASE_URL", &format!("{}/v1", studio.url)).await, Ok(expected));
    let plain = Fake::start(&[("/v1/models", list(json!({"id": "a"})))]).await;
    let expected = vec![found("lmstudio", "a", None, None)];
    assert_eq!(models("lmstudio", "LM_STUDIO_BASE_URL", &format!("{}/v1", plain.url)).await, Ok(expected));
    assert_eq!(plain.asked(), ["GET /api/v0/models", "GET /v1/models"]);
}

#[tokio::test]
async fn a_useless_answer_is_told_for_what_it_is() {
    let elsewhere = Fake::start(&[]).await;
    let location: &'static str = format!("location: {}/api/tags\r\n", elsewhere.url).leak();
    let deep: &'static [u8] = "[".repeat(100_000).leak().as_bytes();
    type Expected = fn(String) -> NoList;
    let cases: [(Says, Expected); 9] = [
        (Says::Status(500, ""), |url| NoList::Status { url, status: 500 }),
        (Says::Status(401, ""), |url| NoList::Status { url, status: 401 }),
        (Says::Status(302, location), |url| NoList::Status { url, status: 302 }),
        (Says::Bytes(b"<html>hello</html>"), |url| NoList::NotAList { url }),
        (Says::Bytes(b"{\"models\": [{\"name\": "), |url| NoList::NotAList { url }),
        (Says::Bytes(deep), |url| NoList::NotAList { url }),
        (Says::Json(json!({"models": "none"})), |url| NoList::NotAList { url }),
        (Says::Endless, |url| NoList::TooLarge { url }),
        (Says::Silence, |url| NoList::Silent { url }),
    ];
    for (says, expected) in cases {
        let fake = Fake::start(&[("/api/tags", says)]).await;
        let url = format!("{}/api/tags", fake.url);
        assert_eq!(models("ollama", "OLLAMA_HOST", &fake.url).await, Err(expected(url)));
        assert_eq!(fake.asked(), ["GET /api/tags"]);
    }
    assert_eq!(elsewhere.asked(), Vec::<String>::new());

    let locked = Fake::start(&[("/models", Says::Status(401, ""))]).await;
    let advice = |servers: Vec<LocalServer>| servers[0].advice.clone().unwrap();
    assert_eq!(
        advice(ask("vllm", "", &[("VLLM_BASE_URL", &locked.url)]).await),
        "set VLLM_API_KEY to its key"
    );
    assert_eq!(
        advice(ask("ollama", "", &[("OLLAMA_HOST", &locked.url)]).await),
        "if Ollama is elsewhere, set OLLAMA_HOST"
    );
}

#[tokio::test]
async fn a_server_that_does_not_run_is_told_with_what_to_do() {
    let free = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let cases = [
        ("ollama", "OLLAMA_HOST", "start it with `ollama serve` or set OLLAMA_HOST"),
        ("vllm", "VLLM_BASE_URL", "start it with `vllm serve MODEL` or set VLLM_BASE_URL"),
        ("llama.cpp", "LLAMA_CPP_BASE_URL", "start it with `llama-server -m FILE` or set LLAMA_CPP_BASE_URL"),
        ("lmstudio", "LM_STUDIO_BASE_URL", "start it with `lms server start` or set LM_STUDIO_BASE_URL"),
    ];
    for (provider, variable, advice) in cases {
        let url = format!("http://{free}");
        let expected = LocalServer {
            provider: provider.into(),
            base_url: Some(url.clone()),
            models: Err(NoList::NotRunning { url: url.clone() }),
            advice: Some(advice.into()),
        };
        assert_eq!(ask(provider, "", &[(variable, &url)]).await, [expected]);
    }
}

#[tokio::test]
async fn only_local_servers_are_asked_and_keys_go_only_where_they_are_configured() {
    let list = Says::Json(json!({"data": [{"id": "a"}]}));
    let fake = Fake::start(&[("/v1/models", list)]).await;
    let url = format!("{}/v1", fake.url);
    let key = |fake: &Fake| {
        let head = fake.seen.lock().unwrap().last().unwrap().to_ascii_lowercase();
        head.lines().find_map(|line| line.strip_prefix("authorization: ").map(str::to_owned))
    };
    ask("vllm", "", &[("VLLM_BASE_URL", &url), ("OPENAI_API_KEY", "other")]).await;
    assert_eq!(key(&fake), None);
    ask("vllm", "", &[("VLLM_BASE_URL", &url), ("VLLM_API_KEY", "mine")]).await;
    assert_eq!(key(&fake).as_deref(), Some("bearer mine"));

    let ours = format!(
        "[[providers]]\nid = \"ours\"\nwire = \"openai_chat\"\nlocation = \"local\"\nbase_url = \"{url}\"\n\
         auth = {{ kind = \"none\" }}\n"
    );
    let servers = ask("ours", &ours, &[]).await;
    assert_eq!(servers[0].models, Ok(vec![found("ours", "a", None, None)]));
    assert_eq!(ask("openai", "", &[("OPENAI_API_KEY", "k")]).await, []);
    assert_eq!(fake.asked().len(), 3);
}
