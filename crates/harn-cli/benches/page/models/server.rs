//! A server on loopback that sends prepared bytes, so that hardly any of a measurement is its own time.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

pub struct Server {
    pub url: String,
    connections: Arc<AtomicUsize>,
}

impl Server {
    /// Answers every request with these bytes, on connections that stay open.
    pub async fn start(answer: Vec<u8>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let connections = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&connections);
        let answer: Arc<[u8]> = answer.into();
        tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                counted.fetch_add(1, Ordering::Relaxed);
                tokio::spawn(serve(socket, Arc::clone(&answer)));
            }
        });
        Self { url, connections }
    }

    /// How many connections were made so far.
    pub fn connections(&self) -> usize {
        self.connections.load(Ordering::Relaxed)
    }
}

async fn serve(mut socket: TcpStream, answer: Arc<[u8]>) {
    socket.set_nodelay(true).unwrap();
    let mut bytes = Vec::new();
    loop {
        let Some(length) = request_length(&bytes) else {
            match socket.read_buf(&mut bytes).await {
                Ok(count) if count > 0 => continue,
                _ => return,
            }
        };
        bytes.drain(..length);
        if socket.write_all(&answer).await.is_err() {
            return;
        }
    }
}

/// The length of the first request, head and body, once all of it is there.
fn request_length(bytes: &[u8]) -> Option<usize> {
    let head = bytes.windows(4).position(|window| window == b"\r\n\r\n")? + 4;
    let text = std::str::from_utf8(&bytes[..head]).unwrap().to_ascii_lowercase();
    let length = text.lines().find_map(|line| line.strip_prefix("content-length:")).unwrap();
    let whole = head + length.trim().parse::<usize>().unwrap();
    (bytes.len() >= whole).then_some(whole)
}
