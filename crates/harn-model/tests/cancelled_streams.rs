//! Ten thousand answers that nobody waits for: no connection, no task and no memory is left of them.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::{StreamExt, stream};
use harn_core::chat::ChatMessage;
use harn_model::providers::anthropic::AnthropicCodec;
use harn_model::{Auth, Chunk, Credential, HttpModel, Model, Target};
use support::{Reply, Step, options, request, serve, transport};
use tokio::net::TcpListener;
use tokio::sync::mpsc;

const BATCHES: usize = 10;
const STREAMS_OF_A_BATCH: usize = 1000;
/// Far more than an allocator keeps for later, and far less than nine thousand streams hold.
const GROWTH_KB: u64 = 16 * 1024;

/// Answers every request with the beginning of a text and then holds; tells when a client has gone. Unlike `Server` it
/// does not remember what it was asked, which would be memory too.
async fn server() -> (String, mpsc::UnboundedReceiver<()>) {
    let text =
        "data: {\"type\":\"content_block_delta\",\"delta\":{\"type\":\"text_delta\",\"text\":\"a\"}}\n\n";
    let replies = Arc::new(Mutex::new(VecDeque::from([Reply::events(text).then(Step::Hold)])));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let (told, closed) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        while let Ok((socket, _)) = listener.accept().await {
            tokio::spawn(serve(socket, Arc::clone(&replies), Arc::default(), told.clone()));
        }
    });
    (url, closed)
}

fn tasks() -> usize {
    tokio::runtime::Handle::current().metrics().num_alive_tasks()
}

fn files() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count()
}

fn resident_kb() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

/// Begins the streams of a batch, and drops each after its first piece.
async fn cancel_a_batch(model: &HttpModel) {
    stream::iter(0..STREAMS_OF_A_BATCH)
        .for_each_concurrent(50, |_| async {
            let mut stream = model.stream(request(vec![ChatMessage::user("hello")]));
            assert_eq!(stream.next().await, Some(Ok(Chunk::Text("a".into()))));
        })
        .await;
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn nothing_is_left_of_cancelled_streams() {
    let (url, mut closed) = server().await;
    let target = Target::new("anthropic", "claude-x", &url, Auth::None);
    let key = Credential::missing("ANTHROPIC_API_KEY");
    let model = HttpModel::new(Arc::new(AnthropicCodec), target, key, transport()).with_options(options(1));
    let (tasks_before, files_before) = (tasks(), files());
    let mut resident = Vec::new();
    for batch in 1..=BATCHES {
        cancel_a_batch(&model).await;
        let gone = async {
            for _ in 0..STREAMS_OF_A_BATCH {
                closed.recv().await.unwrap();
            }
            // The server's own tasks end right after they have told that the client is gone.
            while tasks() > tasks_before || files() > files_before {
                tokio::task::yield_now().await;
            }
        };
        let waited = tokio::time::timeout(Duration::from_secs(60), gone).await;
        let left = format!(
            "batch {batch}: {} tasks and {} files, before it were {tasks_before} and {files_before}",
            tasks(),
            files()
        );
        assert_eq!(waited, Ok(()), "{left}");
        resident.push(resident_kb());
    }
    let grown = resident[BATCHES - 1].saturating_sub(resident[0]);
    assert!(grown < GROWTH_KB, "memory grows with cancelled streams, in kB: {resident:?}");
}
