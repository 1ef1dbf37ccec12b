//! Ten thousand answers that nobody waits for: no connection is left of them.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use std::sync::Arc;
use std::time::Duration;

use futures::{StreamExt, stream};
use harn_core::chat::ChatMessage;
use harn_model::providers::anthropic::AnthropicCodec;
use harn_model::{Auth, Chunk, Credential, HttpModel, Model, Target};
use support::{Reply, Server, Step, options, request, transport};

const STREAMS: usize = 10_000;

#[cfg(target_os = "linux")]
#[tokio::test]
async fn nothing_is_left_of_cancelled_streams() {
    let text =
        "data: {\"type\":\"content_block_delta\",\"delta\":{\"type\":\"text_delta\",\"text\":\"a\"}}\n\n";
    let mut server = Server::start(vec![Reply::events(text).then(Step::Hold)]).await;
    let target = Target::new("anthropic", "claude-x", &server.url, Auth::None);
    let key = Credential::missing("ANTHROPIC_API_KEY");
    let model = HttpModel::new(Arc::new(AnthropicCodec), target, key, transport()).with_options(options(1));
    let tasks = || tokio::runtime::Handle::current().metrics().num_alive_tasks();
    let files = || std::fs::read_dir("/proc/self/fd").unwrap().count();
    let (tasks_before, files_before) = (tasks(), files());
    stream::iter(0..STREAMS)
        .for_each_concurrent(50, |_| async {
            let mut stream = model.stream(request(vec![ChatMessage::user("hello")]));
            assert_eq!(stream.next().await, Some(Ok(Chunk::Text("a".into()))));
        })
        .await;
    let gone = async {
        for _ in 0..STREAMS {
            server.closed().await;
        }
        // The server's own tasks end right after they have told that the client is gone.
        while tasks() > tasks_before || files() > files_before {
            tokio::task::yield_now().await;
        }
    };
    let waited = tokio::time::timeout(Duration::from_secs(60), gone).await;
    assert_eq!(
        waited,
        Ok(()),
        "{} tasks and {} files are left",
        tasks() - tasks_before,
        files() - files_before
    );
}
