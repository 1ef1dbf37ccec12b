//! Uploads: a raw body streamed into the harness's own folder, then handed over as an artifact's content.

use std::path::PathBuf;
use std::time::Duration;

use axum::body::Body;
use futures::StreamExt;
use harn_core::{Code, Error, Result};
use tokio::io::AsyncWriteExt;
use ulid::Ulid;

use crate::intake::discard;

/// A client that sends nothing for this long has gone.
const PATIENCE: Duration = Duration::from_secs(30);

/// A file on its way in. Removed when dropped, unless the harness has moved it by then.
pub struct Incoming {
    pub path: PathBuf,
}

impl Drop for Incoming {
    fn drop(&mut self) {
        // Absent when the upload succeeded: the harness has taken it.
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Writes a body of at most `limit` bytes into a new file of `folder`.
pub async fn receive(body: Body, folder: PathBuf, limit: u64) -> Result<Incoming> {
    let incoming = Incoming { path: folder.join(format!("upload-{}", Ulid::generate())) };
    let mut file = tokio::fs::File::create_new(&incoming.path).await.map_err(unwritable)?;
    let mut chunks = body.into_data_stream();
    let mut size = 0u64;
    loop {
        let next = tokio::time::timeout(PATIENCE, chunks.next()).await;
        let next =
            next.map_err(|_| Error::new(Code::DeadlineExceeded, "The content did not arrive in time."))?;
        let Some(chunk) = next else { break };
        let chunk = chunk
            .map_err(|_| Error::new(Code::InvalidRequest, "The content ended before it was complete."))?;
        size += chunk.len() as u64;
        if size > limit {
            discard(Body::from_stream(chunks)).await;
            return Err(too_large(limit));
        }
        file.write_all(&chunk).await.map_err(unwritable)?;
    }
    file.flush().await.map_err(unwritable)?;
    Ok(incoming)
}

pub fn too_large(limit: u64) -> Error {
    Error::new(Code::PayloadTooLarge, format!("The content is larger than {limit} bytes."))
        .detail("limit_bytes", limit)
}

fn unwritable(error: std::io::Error) -> Error {
    tracing::error!(%error, "an upload could not be written");
    match error.kind() {
        std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded => Error::new(
            Code::ServiceUnavailable,
            "The harness's storage is full; nothing was written. Free some space.",
        ),
        _ => Error::internal("The content could not be stored. The server's own log has the cause."),
    }
}
