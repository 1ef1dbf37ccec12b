//! One question to the server and what came back, with assertions that say what was expected.

use std::time::Duration;

use harn_client::{Answer, ClientError, IDEMPOTENCY_HEADER, Method, RequestBuilder};
use serde_json::Value;

use crate::check::{Verdict, failed, skipped};
use crate::probe::Probe;

const EXCERPT: usize = 300;
const MESSAGE: usize = 1000;
/// Pages of a list are read one after the other, and many of them are kept.
const BODY_LIMIT: usize = 4 * 1024 * 1024;
const PATIENCE_WITH_RATE_LIMITS: usize = 5;

#[derive(Clone)]
enum Body {
    None,
    Json(Value),
    Raw(&'static str),
}

#[derive(Clone)]
pub(crate) struct Ask<'p> {
    probe: &'p Probe,
    method: Method,
    path: String,
    body: Body,
    headers: Vec<(&'static str, Option<String>)>,
    query: Vec<(&'static str, String)>,
}

impl<'p> Ask<'p> {
    pub(crate) fn new(probe: &'p Probe, method: Method, path: impl Into<String>) -> Ask<'p> {
        Ask { probe, method, path: path.into(), body: Body::None, headers: Vec::new(), query: Vec::new() }
    }

    pub(crate) fn body(mut self, body: Value) -> Ask<'p> {
        self.body = Body::Json(body);
        self
    }

    pub(crate) fn raw(mut self, body: &'static str) -> Ask<'p> {
        self.body = Body::Raw(body);
        self
    }

    pub(crate) fn query(mut self, name: &'static str, value: impl ToString) -> Ask<'p> {
        self.query.push((name, value.to_string()));
        self
    }

    pub(crate) fn header(mut self, name: &'static str, value: impl Into<String>) -> Ask<'p> {
        self.headers.push((name, Some(value.into())));
        self
    }

    pub(crate) fn without(mut self, name: &'static str) -> Ask<'p> {
        self.headers.push((name, None));
        self
    }

    pub(crate) fn key(self, key: &str) -> Ask<'p> {
        self.header(IDEMPOTENCY_HEADER, key)
    }

    pub(crate) fn request(&self) -> RequestBuilder {
        let mut request = self.probe.client().request(self.method.clone(), &self.path);
        request = match &self.body {
            Body::None => request,
            Body::Json(value) => request.json(value),
            Body::Raw(text) => request.body(text.as_bytes().into(), "application/json"),
        };
        for (name, value) in &self.headers {
            request = match value {
                Some(value) => request.header(name, value),
                None => request.without_header(name),
            };
        }
        let query: Vec<_> = self.query.iter().map(|(name, value)| (*name, value.as_str())).collect();
        request.query(&query).timeout(self.probe.options().timeout).body_limit(BODY_LIMIT)
    }

    /// Sends it, and again when the server says that we are too fast.
    pub(crate) async fn send(&self) -> Verdict<Seen> {
        let mut left = PATIENCE_WITH_RATE_LIMITS;
        loop {
            let answer = match self.request().send().await {
                Ok(answer) => answer,
                Err(error) => return failed(format!("{}: {error}", self.what())),
            };
            if answer.status != 429 || left == 0 {
                let excerpt = self.excerpt(&answer.body);
                return Ok(Seen { what: self.what(), excerpt, answer });
            }
            left -= 1;
            tokio::time::sleep(pause(&answer)).await;
        }
    }

    /// Sends it and wants one of these statuses.
    pub(crate) async fn expect(&self, statuses: &[u16]) -> Verdict<Seen> {
        let seen = self.send().await?;
        seen.status(statuses)?;
        Ok(seen)
    }

    /// The key goes before the cut, which might leave a half of it.
    fn excerpt(&self, body: &[u8]) -> String {
        let text = String::from_utf8_lossy(body);
        match &self.probe.options().api_key {
            Some(key) if !key.is_empty() => cut(&text.replace(key.as_str(), "[key]")),
            _ => cut(&text),
        }
    }

    pub(crate) async fn events(&self) -> Result<harn_client::EventStream, ClientError> {
        self.request().events().await
    }

    pub(crate) fn what(&self) -> String {
        let mut what = format!("{} {}", self.method, self.path);
        for (position, (name, value)) in self.query.iter().enumerate() {
            what.push(if position == 0 { '?' } else { '&' });
            what.push_str(&format!("{name}={value}"));
        }
        what
    }
}

fn pause(answer: &Answer) -> Duration {
    let seconds = answer.headers.get("retry-after").and_then(|value| value.to_str().ok());
    let seconds = seconds.and_then(|text| text.parse().ok()).unwrap_or(1);
    Duration::from_secs(u64::min(seconds, 5))
}

pub(crate) struct Seen {
    pub(crate) what: String,
    pub(crate) answer: Answer,
    excerpt: String,
}

impl Seen {
    pub(crate) fn succeeded(&self) -> bool {
        (200..300).contains(&self.answer.status)
    }

    /// A server may leave this out: not there, not allowed here, or not implemented.
    pub(crate) fn absent(&self) -> bool {
        matches!(self.answer.status, 404 | 405 | 501)
    }

    /// Wants any success, for what a check needs before it can begin.
    pub(crate) fn needed(&self, thing: &str) -> Verdict {
        if self.answer.status == 501 {
            return skipped(format!("this needs a {thing}, and {} is not implemented (501)", self.what));
        }
        match self.succeeded() {
            true => Ok(()),
            false => failed(format!("this needs a {thing}, but {} gave {}", self.what, self.got())),
        }
    }

    pub(crate) fn status(&self, statuses: &[u16]) -> Verdict {
        if statuses.contains(&self.answer.status) {
            return Ok(());
        }
        // 501 says that the server does not do this at all, which is never a wrong answer.
        if self.answer.status == 501 {
            return skipped(format!("{} is not implemented by this server (501)", self.what));
        }
        let wanted: Vec<_> = statuses.iter().map(u16::to_string).collect();
        failed(format!("{}: expected {}, got {}", self.what, wanted.join(" or "), self.got()))
    }

    /// `409: {…}`, for the end of a message.
    pub(crate) fn got(&self) -> String {
        format!("{}: {}", self.answer.status, self.excerpt)
    }

    pub(crate) fn value(&self) -> Verdict<Value> {
        match serde_json::from_slice(&self.answer.body) {
            Ok(value) => Ok(value),
            Err(cause) => {
                failed(format!("{}: expected a JSON body ({cause}), got {}", self.what, self.got()))
            }
        }
    }

    pub(crate) fn error_code(&self) -> Option<String> {
        let body: Value = serde_json::from_slice(&self.answer.body).ok()?;
        body["error"]["code"].as_str().map(str::to_owned)
    }

    /// Wants this refusal: the status, and the code in the envelope.
    pub(crate) fn refused(&self, status: u16, code: &str) -> Verdict {
        if self.answer.status == 501 {
            return self.status(&[status]);
        }
        if self.answer.status == status && self.error_code().as_deref() == Some(code) {
            return Ok(());
        }
        failed(format!("{}: expected {status} with code {code}, got {}", self.what, self.got()))
    }

    pub(crate) fn id(&self) -> Verdict<String> {
        match self.value()?["id"].as_str() {
            Some(id) if !id.is_empty() => Ok(id.to_owned()),
            _ => failed(format!("{}: expected a resource with an id, got {}", self.what, self.got())),
        }
    }

    /// The items of a list; what else its envelope holds is the business of one check.
    pub(crate) fn items(&self) -> Verdict<Vec<Value>> {
        match self.value()?["data"].take() {
            Value::Array(items) => Ok(items),
            _ => failed(format!("{}: expected a list with `data`, got {}", self.what, self.got())),
        }
    }
}

/// At most so many characters, for a part of a message.
pub(crate) fn cut(text: &str) -> String {
    shortened(text, EXCERPT)
}

/// A message as it may be shown: not endless, without the key, and nothing that steers a terminal.
pub(crate) fn presentable(text: &str, key: Option<&str>) -> String {
    let text = match key {
        Some(key) if !key.is_empty() => text.replace(key, "[key]"),
        _ => text.to_owned(),
    };
    let steers = |letter: char| {
        letter.is_control()
            || matches!(letter, '\u{200e}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    shortened(&text.replace(steers, "\u{fffd}"), MESSAGE)
}

fn shortened(text: &str, letters: usize) -> String {
    match text.char_indices().nth(letters) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_server_says_cannot_steer_the_terminal_nor_show_the_key() {
        let hostile = "got \u{1b}[2Jk-123\r\nfine\u{202e}";
        assert_eq!(presentable(hostile, Some("k-123")), "got \u{fffd}[2J[key]\u{fffd}\u{fffd}fine\u{fffd}");
        assert_eq!(presentable(&"ü".repeat(2000), None).chars().count(), MESSAGE + 1);
    }
}
