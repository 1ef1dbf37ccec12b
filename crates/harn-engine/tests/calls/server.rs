//! A server on this machine whose connections do exactly what a test says.

use std::io::Read;
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;

pub struct Server {
    address: String,
}

impl Server {
    /// Each connection is served beside the others.
    pub fn start(serve: impl Fn(TcpStream) + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let serve = Arc::new(serve);
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let serve = Arc::clone(&serve);
                thread::spawn(move || serve(stream));
            }
        });
        Self { address }
    }

    /// An address of this server: `http`, `ws`.
    pub fn url(&self, scheme: &str, path: &str) -> String {
        format!("{scheme}://{}{path}", self.address)
    }
}

/// The head of a request, in small letters.
pub fn head(stream: &mut TcpStream) -> String {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") && stream.read(&mut byte).is_ok_and(|count| count == 1) {
        head.push(byte[0]);
    }
    String::from_utf8(head).unwrap().to_lowercase()
}

/// Waits until the other side is gone.
pub fn until_gone(stream: &mut TcpStream) {
    let _ = std::io::copy(stream, &mut std::io::sink());
}
