//! The server as a process: subscribers on a busy session, start-up time, and resident memory.

use std::io::Write;
use std::time::{Duration, Instant};

use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::commit::folder;
use crate::support::server::{KEY, Server};
use crate::support::user;

const SUBSCRIBERS: usize = 1000;
const MESSAGES: usize = 200;
const SESSIONS: usize = 2000;
const PARKED: usize = 500;

pub fn report(out: &mut dyn Write) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        start_up(out);
        subscribers(out).await;
        memory(out).await;
    });
}

fn start_up(out: &mut dyn Write) {
    let folder = folder();
    drop(Server::start(folder.path()));
    let mut times: Vec<Duration> = (0..11)
        .map(|_| {
            let start = Instant::now();
            let server = Server::start(folder.path());
            let took = start.elapsed();
            drop(server);
            took
        })
        .collect();
    times.sort();
    writeln!(out, "\nStart-up until it listens, data directory there: {:?} (target 60 ms)", times[5])
        .unwrap();
}

/// Resident memory of a process in kB.
fn resident(server: &Server) -> f64 {
    kilobytes(&server.pid().to_string(), "VmRSS:")
}

/// A size that the kernel tells about a process, in kB.
pub fn kilobytes(process: &str, field: &str) -> f64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with(field)).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

async fn new_session(server: &Server, workspace: &str) -> String {
    let made = server.api().post("/v1/sessions", json!({ "workspace_id": workspace })).await.expect(201);
    made["id"].as_str().unwrap().to_owned()
}

/// Reads one SSE stream until it has seen the last message; gives how many `user.message` frames came.
async fn listen(url: String, session: String, ready: tokio::sync::mpsc::Sender<()>) -> usize {
    let address = url.trim_start_matches("http://").to_owned();
    let mut stream = TcpStream::connect(&address).await.unwrap();
    let request = format!(
        "GET /v1/sessions/{session}/events/stream HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {KEY}\r\n\
         Harn-Agents-Protocol-Version: {}\r\n\r\n",
        harn_core::PROTOCOL_VERSION
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut seen = 0;
    let mut tail = Vec::new();
    let mut buffer = vec![0; 64 << 10];
    let marker = b"event: user.message\n";
    let mut told = false;
    while seen < MESSAGES {
        let Ok(Ok(read)) = tokio::time::timeout(Duration::from_secs(60), stream.read(&mut buffer)).await
        else {
            break;
        };
        if read == 0 {
            break;
        }
        if !told {
            told = true;
            ready.send(()).await.unwrap();
        }
        tail.extend_from_slice(&buffer[..read]);
        seen += tail.windows(marker.len()).filter(|window| window == marker).count();
        // Keep what may be the beginning of a marker that the next piece completes.
        let keep = tail.len().min(marker.len() - 1);
        tail.drain(..tail.len() - keep);
    }
    seen
}

async fn subscribers(out: &mut dyn Write) {
    let folder = folder();
    let server = Server::start(folder.path());
    let workspace = server.workspace().await;
    let session = new_session(&server, &workspace).await;
    let (ready, mut readies) = tokio::sync::mpsc::channel(SUBSCRIBERS);
    let mut listeners = tokio::task::JoinSet::new();
    for _ in 0..SUBSCRIBERS {
        listeners.spawn(listen(server.url.clone(), session.clone(), ready.clone()));
    }
    for _ in 0..SUBSCRIBERS {
        readies.recv().await.unwrap();
    }
    let idle = resident(&server);
    let start = Instant::now();
    let api = server.api();
    let path = format!("/v1/sessions/{session}/messages");
    for n in 0..MESSAGES {
        api.post(&path, json!({ "message": user(&format!("message {n}")) })).await.expect(201);
    }
    let counts = listeners.join_all().await;
    let took = start.elapsed().as_secs_f64();
    let lost = counts.iter().filter(|count| **count != MESSAGES).count();
    // Every message is two events to everybody.
    let rate = (SUBSCRIBERS * MESSAGES * 2) as f64 / took;
    writeln!(
        out,
        "{SUBSCRIBERS} SSE subscribers on one session, {MESSAGES} messages: {rate:.0} events/s delivered, {lost} \
         subscribers missed any; {:.0} kB resident each",
        (resident(&server) - idle).max(0.0) / SUBSCRIBERS as f64 + idle / SUBSCRIBERS as f64
    )
    .unwrap();
}

async fn memory(out: &mut dyn Write) {
    let folder = folder();
    let server = Server::start(folder.path());
    let workspace = server.workspace().await;
    let idle = resident(&server);
    writeln!(out, "Resident memory idle: {:.1} MB (target 40 MB)", idle / 1024.0).unwrap();
    let mut sessions = Vec::new();
    for _ in 0..SESSIONS {
        sessions.push(new_session(&server, &workspace).await);
    }
    let open = resident(&server);
    let each = (open - idle).max(0.0) / SESSIONS as f64;
    writeln!(out, "  per open session {each:.2} kB ({SESSIONS} sessions)").unwrap();
    let api = server.api();
    for session in sessions.iter().take(PARKED) {
        let input = user("write x.txt: x");
        api.post(&format!("/v1/sessions/{session}/tasks"), json!({ "input": input })).await.expect(202);
    }
    let mut waiting = 0;
    while waiting < PARKED {
        let page = api.get("/v1/tasks?limit=200").await.expect(200);
        let mut cursor = page["page"]["next_cursor"].clone();
        waiting = parked(&page);
        while let Some(next) = cursor.as_str() {
            let page = api.get(&format!("/v1/tasks?limit=200&cursor={next}")).await.expect(200);
            waiting += parked(&page);
            cursor = page["page"]["next_cursor"].clone();
        }
    }
    let each = (resident(&server) - open).max(0.0) / PARKED as f64;
    writeln!(out, "  per parked run {each:.2} kB ({PARKED} runs waiting for approval)").unwrap();
}

fn parked(page: &serde_json::Value) -> usize {
    page["data"].as_array().unwrap().iter().filter(|task| task["status"] == "AUTH_REQUIRED").count()
}
