//! Streams of server-sent events.

use std::collections::VecDeque;

use reqwest::Response;
use serde_json::{Value, json};
use tokio::sync::Mutex;

use super::{client, in_time};
use crate::calls::args::{Args, word};
use crate::calls::simple::Answer;
use crate::secrets::Filling;
use crate::tools::{ToolContext, ToolFailure};

/// What an event may have when a program says nothing.
const LARGEST: usize = 16 << 20;

/// A stream under way.
struct Events {
    response: Response,
    filling: Filling,
    lines: Lines,
    parts: Parts,
    largest: usize,
}

impl Events {
    /// The next event; none at the end. An event that the end cuts off is none.
    async fn next(&mut self) -> Result<Option<Value>, ToolFailure> {
        loop {
            while let Some(line) = self.lines.next() {
                if let Some(mut event) = self.parts.take(&line) {
                    self.filling.scrub(&mut event);
                    return Ok(Some(event));
                }
            }
            if self.lines.rest.len() + self.parts.size > self.largest {
                let most = self.largest;
                let message =
                    format!("An event of the stream has more than {most} bytes; `max_bytes` allows more.");
                return Err(ToolFailure::new(message));
            }
            match self.response.chunk().await.map_err(client::failed)? {
                Some(chunk) => self.lines.feed(&chunk),
                None => return Ok(None),
            }
        }
    }
}

/// Bytes as they arrive, and the lines in them. A line ends with a line feed, a carriage return, or both.
#[derive(Default)]
struct Lines {
    whole: VecDeque<String>,
    rest: Vec<u8>,
    /// The last byte ended a line, and a line feed after it belongs to that.
    after_return: bool,
    is_begun: bool,
}

impl Lines {
    fn feed(&mut self, bytes: &[u8]) {
        for byte in bytes {
            let after_return = std::mem::replace(&mut self.after_return, *byte == b'\r');
            match byte {
                b'\n' if after_return => {}
                b'\n' | b'\r' => {
                    let line = String::from_utf8_lossy(&std::mem::take(&mut self.rest)).into_owned();
                    // A stream may begin with a mark of its encoding.
                    let is_first = !std::mem::replace(&mut self.is_begun, true);
                    let line = line.strip_prefix('\u{feff}').filter(|_| is_first).unwrap_or(&line);
                    self.whole.push_back(line.to_owned());
                }
                byte => self.rest.push(*byte),
            }
        }
    }

    fn next(&mut self) -> Option<String> {
        self.whole.pop_front()
    }
}

/// The lines of an event so far, and what holds for those after it.
#[derive(Default)]
struct Parts {
    event: Option<String>,
    data: Vec<String>,
    size: usize,
    id: Option<String>,
    retry: Option<u64>,
}

impl Parts {
    /// One line; an empty one ends an event that has data.
    fn take(&mut self, line: &str) -> Option<Value> {
        self.size += line.len();
        if line.is_empty() {
            self.size = 0;
            let event = self.event.take().filter(|event| !event.is_empty());
            if self.data.is_empty() {
                return None;
            }
            let data = std::mem::take(&mut self.data).join("\n");
            let event = event.unwrap_or_else(|| "message".to_owned());
            return Some(
                json!({ "type": "event", "event": event, "data": data, "id": self.id, "retry": self.retry }),
            );
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => self.event = Some(value.to_owned()),
            "data" => self.data.push(value.to_owned()),
            "id" if !value.contains('\0') => self.id = Some(value.to_owned()),
            "retry" => self.retry = value.parse().ok().or(self.retry),
            // A comment keeps the connection alive, and may be all that comes for long.
            "" => self.size -= line.len(),
            _ => {}
        }
        None
    }
}

pub async fn open(ctx: ToolContext, args: Args) -> Answer {
    let (request, filling) = client::endless(&ctx.secrets, &args)?;
    let late = || ToolFailure::categorised("timeout", "The stream of events timed out while it was opened.");
    let response = in_time(&args, request.send()).await.ok_or_else(late)?.map_err(client::failed)?;
    let status = response.status().as_u16();
    let mut headers = client::shown_headers(response.headers());
    filling.scrub(&mut headers);
    let largest = args.get("max_bytes").and_then(Value::as_u64).and_then(|most| usize::try_from(most).ok());
    let (lines, parts, largest) = (Lines::default(), Parts::default(), largest.unwrap_or(LARGEST));
    let id = ctx.open.put_new("sse", Mutex::new(Events { response, filling, lines, parts, largest }));
    Ok(json!({ "stream": id, "id": id, "status": status, "headers": headers }))
}

pub async fn next(ctx: ToolContext, args: Args) -> Answer {
    let id = word(&args, "stream");
    let events = ctx.open.get::<Mutex<Events>>(id)?;
    let next = in_time(&args, ctx.open.while_open(id, async { events.lock().await.next().await })).await;
    Ok(next.flatten().transpose()?.flatten().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn events(chunks: &[&[u8]]) -> Vec<Value> {
        let (mut lines, mut parts) = (Lines::default(), Parts::default());
        chunks.iter().for_each(|chunk| lines.feed(chunk));
        std::iter::from_fn(|| lines.next()).filter_map(|line| parts.take(&line)).collect()
    }

    #[test]
    fn an_event_is_the_same_however_its_lines_end_and_its_bytes_arrive() {
        let expected = [json!({ "type": "event", "event": "e", "data": "one\n two", "id": "7", "retry": 5 })];
        for end in ["\n", "\r", "\r\n"] {
            let text =
                "\u{feff}: hello\nevent: e\nid: 7\nretry: 5\ndata: one\ndata:  two\nother: x\n\ndata: cut"
                    .replace('\n', end);
            let bytes: Vec<&[u8]> = text.as_bytes().chunks(1).collect();
            assert_eq!(events(&[text.as_bytes()]), expected, "{end:?}");
            assert_eq!(events(&bytes), expected, "{end:?}");
        }
    }

    #[test]
    fn an_id_stays_and_the_name_of_an_event_does_not() {
        let found = events(&[b"event: a\nid: 1\ndata\n\nretry: x\ndata: b\n\nevent: none\n\n"]);
        let shown: Vec<_> =
            found.iter().map(|event| (&event["event"], &event["data"], &event["id"])).collect();
        let one = json!("1");
        assert_eq!(shown, [(&json!("a"), &json!(""), &one), (&json!("message"), &json!("b"), &one)]);
    }
}
