//! The events of a task or a session, in order and each once, over as many connections as that takes.

use std::time::Duration;

use harn_client::{Client, ClientError, EventStream, Frame, LAST_EVENT_HEADER, Method};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

/// The pauses before each new attempt to connect; then the server counts as gone.
const PAUSES: [Duration; 9] = [
    Duration::from_millis(100),
    Duration::from_millis(200),
    Duration::from_millis(400),
    Duration::from_millis(800),
    Duration::from_millis(1600),
    Duration::from_millis(3200),
    Duration::from_secs(5),
    Duration::from_secs(5),
    Duration::from_secs(5),
];

/// Events that may wait to be shown.
const AHEAD: usize = 64;

#[derive(Debug)]
pub enum Item {
    Event {
        json: String,
    },
    /// The stream broke; said once until it is back.
    Broken,
    /// There will be no more.
    Lost(ClientError),
}

/// Reads ahead in a task of its own, which ends with the feed.
pub struct Feed {
    items: mpsc::Receiver<Item>,
    reader: JoinHandle<()>,
}

impl Drop for Feed {
    fn drop(&mut self) {
        self.reader.abort();
    }
}

impl Feed {
    /// From the beginning of the stream at this path.
    pub fn open(client: Client, path: String) -> Self {
        Self::patient(client, path, &PAUSES)
    }

    fn patient(client: Client, path: String, pauses: &'static [Duration]) -> Self {
        let (sender, items) = mpsc::channel(AHEAD);
        let reader = tokio::spawn(async move {
            let mut reader = Reader { client, path, pauses, last: None, seen: 0, sender };
            let lost = reader.read().await;
            let _ = reader.sender.send(Item::Lost(lost)).await;
        });
        Self { items, reader }
    }

    /// None after the last item. Cancel-safe.
    pub async fn next(&mut self) -> Option<Item> {
        self.items.recv().await
    }
}

struct Reader {
    client: Client,
    path: String,
    pauses: &'static [Duration],
    last: Option<String>,
    /// Ids only grow, so what is not above this has been shown.
    seen: u64,
    sender: mpsc::Sender<Item>,
}

impl Reader {
    /// Reads until nothing more can be read, and says why.
    async fn read(&mut self) -> ClientError {
        let mut broken = 0;
        loop {
            let before = self.last.clone();
            let error = match self.connect().await {
                Ok(mut stream) => match self.drain(&mut stream).await {
                    Ok(()) => ClientError::Protocol("the server closed the stream".into()),
                    Err(error) => error,
                },
                Err(error) => error,
            };
            if is_final(&error) || self.sender.is_closed() {
                return error;
            }
            if self.last != before {
                broken = 0;
            }
            if broken == 0 && self.sender.send(Item::Broken).await.is_err() {
                return error;
            }
            let Some(pause) = self.pauses.get(broken) else { return error };
            broken += 1;
            tokio::time::sleep(*pause).await;
        }
    }

    async fn connect(&self) -> Result<EventStream, ClientError> {
        let request = self.client.request(Method::GET, &self.path);
        match &self.last {
            Some(id) => request.header(LAST_EVENT_HEADER, id).events().await,
            None => request.events().await,
        }
    }

    async fn drain(&mut self, stream: &mut EventStream) -> Result<(), ClientError> {
        while let Some(frame) = stream.next().await? {
            if frame.comment {
                continue;
            }
            if frame.event == "error" {
                return Err(told(&frame));
            }
            if let Some(id) = frame.id {
                let number: Option<u64> = id.parse().ok();
                if number.is_some_and(|number| number <= self.seen) {
                    continue;
                }
                self.seen = number.unwrap_or(self.seen);
                self.last = Some(id);
            }
            if self.sender.send(Item::Event { json: frame.data }).await.is_err() {
                return Ok(());
            }
        }
        Ok(())
    }
}

/// What a server says on a stream that it cannot go on with.
fn told(frame: &Frame) -> ClientError {
    let envelope: serde_json::Value = serde_json::from_str(&frame.data).unwrap_or_default();
    let text = |key: &str| envelope["error"][key].as_str().unwrap_or_default().to_owned();
    ClientError::Refused {
        status: 410,
        code: text("code"),
        message: text("message"),
        details: Box::default(),
        param: None,
        request_id: None,
    }
}

/// Asking again would give the same answer.
fn is_final(error: &ClientError) -> bool {
    match error {
        ClientError::Invalid(_) | ClientError::Tls { .. } => true,
        ClientError::Refused { status, .. } => !matches!(status, 429 | 500..),
        ClientError::Unreachable { .. } | ClientError::Timeout { .. } | ClientError::Protocol(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpListener;

    use super::*;

    const AT_ONCE: [Duration; 2] = [Duration::ZERO; 2];

    fn frame(id: u64) -> String {
        format!("id: {id}\nevent: x\ndata: {{\"id\":{id}}}\n\n")
    }

    /// Answers one connection after another with these bodies, then is gone. Gives the requests.
    fn server(bodies: Vec<String>) -> (String, std::thread::JoinHandle<Vec<String>>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let asked = std::thread::spawn(move || {
            let answer = |body: String| {
                let (mut stream, _) = listener.accept().unwrap();
                let mut head = [0; 4096];
                let read = stream.read(&mut head).unwrap();
                let text = format!(
                    "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n{body}"
                );
                stream.write_all(text.as_bytes()).unwrap();
                String::from_utf8_lossy(&head[..read]).to_lowercase()
            };
            bodies.into_iter().map(answer).collect()
        });
        (url, asked)
    }

    #[tokio::test]
    async fn a_broken_stream_goes_on_after_the_last_event_and_shows_each_once() {
        let bodies = vec![frame(3) + &frame(7) + "id: 9\nevent: x\nda", frame(7) + &frame(9), String::new()];
        let (url, asked) = server(bodies);
        let mut feed = Feed::patient(Client::to_url(&url, None).unwrap(), "/events".into(), &AT_ONCE);
        let mut told = Vec::new();
        while let Some(item) = feed.next().await {
            told.push(match item {
                Item::Event { json } => json,
                Item::Broken => "broken".into(),
                Item::Lost(ClientError::Unreachable { .. }) => "lost".into(),
                Item::Lost(other) => format!("{other}"),
            });
        }
        assert_eq!(told, [r#"{"id":3}"#, r#"{"id":7}"#, "broken", r#"{"id":9}"#, "broken", "lost"]);
        let asked = asked.join().unwrap();
        let resumed: Vec<bool> = asked.iter().map(|head| head.contains("last-event-id:")).collect();
        assert_eq!(resumed, [false, true, true]);
        assert!(asked[1].contains("last-event-id: 7\r\n"), "{}", asked[1]);
    }

    #[tokio::test]
    async fn what_the_server_refuses_is_not_asked_again() {
        let error = r#"event: error
data: {"error":{"code":"cursor_expired","message":"Start again."}}

"#;
        let (url, _asked) = server(vec![error.to_owned()]);
        let mut feed = Feed::patient(Client::to_url(&url, None).unwrap(), "/events".into(), &AT_ONCE);
        let Some(Item::Lost(ClientError::Refused { code, message, .. })) = feed.next().await else {
            panic!("the refusal was not told")
        };
        assert_eq!((code.as_str(), message.as_str()), ("cursor_expired", "Start again."));
        assert!(feed.next().await.is_none());
    }
}
