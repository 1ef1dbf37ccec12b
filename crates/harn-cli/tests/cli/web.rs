//! A web server that says the same to everybody and remembers what it was asked.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};

pub struct Web {
    pub url: String,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Web {
    /// One that answers with this text.
    pub fn saying(text: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (asked, text) = (Arc::new(Mutex::new(Vec::new())), text.to_owned());
        let heard = Arc::clone(&asked);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(mut stream) = stream else { return };
                let lines = BufReader::new(&stream).lines().map_while(Result::ok);
                let head: Vec<String> = lines.take_while(|line| !line.is_empty()).collect();
                heard.lock().unwrap().push(head.join("\n"));
                let length = text.len();
                let answer =
                    format!("HTTP/1.1 200 OK\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{text}");
                let _ = stream.write_all(answer.as_bytes());
            }
        });
        Self { url, asked }
    }

    /// The heads of the requests so far.
    pub fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}
