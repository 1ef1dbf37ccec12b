//! What the server answered, and the judgement that every answer goes through.

use std::fmt;

use bytes::Bytes;
use reqwest::header::{CONTENT_TYPE, HeaderMap};
use reqwest::{Method, Response};
use serde_json::Value;

use crate::PublicApi;

#[derive(Debug, Clone)]
pub struct Answer {
    pub status: u16,
    pub headers: HeaderMap,
    /// The body as JSON, or null when it is not JSON.
    pub body: Value,
    pub bytes: Bytes,
    method: Method,
    path: String,
}

impl Answer {
    pub(super) async fn read(method: &Method, path: &str, response: Response) -> Self {
        let status = response.status().as_u16();
        let headers = response.headers().clone();
        let bytes =
            response.bytes().await.unwrap_or_else(|error| panic!("{method} {path} {status}: {error}"));
        let body = serde_json::from_slice(&bytes).unwrap_or_default();
        Self { status, headers, body, bytes, method: method.clone(), path: path.to_owned() }
    }

    /// The body of an answer that must have this status.
    ///
    /// # Panics
    /// When it has another; the message shows the whole answer.
    #[track_caller]
    pub fn expect(&self, status: u16) -> Value {
        assert!(self.status == status, "expected {status}, got {self}");
        self.body.clone()
    }

    /// The code of the error envelope.
    ///
    /// # Panics
    /// When the answer is no error.
    #[track_caller]
    pub fn error_code(&self) -> &str {
        self.body["error"]["code"].as_str().unwrap_or_else(|| panic!("not an error envelope: {self}"))
    }

    /// A header as text.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }

    pub(super) fn judge(&self, contract: Option<&PublicApi>) {
        // HTTP forbids a body in answers to HEAD, so there is nothing to judge.
        if self.method == Method::HEAD {
            return;
        }
        if let Some(contract) = contract {
            let content_type = self.header(CONTENT_TYPE.as_str());
            let verdict =
                contract.check(self.method.as_str(), &self.path, self.status, content_type, &self.bytes);
            if let Err(violations) = verdict {
                let list: Vec<_> = violations.iter().map(|violation| format!("  - {violation}")).collect();
                panic!("the answer breaks the public contract:\n{}\n{self}", list.join("\n"));
            }
        }
        if self.status >= 400 {
            self.error_code();
            let request_id = self.body["error"]["request_id"].as_str();
            assert!(request_id.is_some_and(|id| !id.is_empty()), "an error needs a request_id: {self}");
        }
    }
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} {} {}", self.method, self.path, self.status)?;
        for (name, value) in &self.headers {
            writeln!(f, "{name}: {}", String::from_utf8_lossy(value.as_bytes()))?;
        }
        match &self.body {
            Value::Null => write!(f, "\n{}", String::from_utf8_lossy(&self.bytes)),
            body => write!(f, "\n{body:#}"),
        }
    }
}
