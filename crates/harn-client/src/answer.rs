//! A complete answer of a server, and its reading as a success or as an error envelope.

use std::fmt;
use std::time::Duration;

use bytes::Bytes;
use hyper::header::HeaderMap;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::ClientError;
use crate::secret::Secret;

const EXCERPT: usize = 200;

#[derive(Clone)]
pub struct Answer {
    pub status: u16,
    pub headers: HeaderMap,
    pub body: Bytes,
    /// From the first attempt to connect until the last byte of the body.
    pub elapsed: Duration,
    pub(crate) secret: Option<Secret>,
}

#[derive(Deserialize)]
struct Envelope {
    error: Fault,
}

#[derive(Deserialize)]
struct Fault {
    code: String,
    message: String,
    #[serde(default)]
    details: Value,
    #[serde(default)]
    param: Option<String>,
    #[serde(default)]
    request_id: Option<String>,
}

impl Answer {
    pub fn json<T: DeserializeOwned>(&self) -> Result<T, ClientError> {
        serde_json::from_slice(&self.body).map_err(|cause| {
            ClientError::Protocol(format!(
                "the server answered {} with a body that is not the expected JSON ({cause}): {}",
                self.status,
                self.excerpt()
            ))
        })
    }

    pub fn value(&self) -> Result<Value, ClientError> {
        self.json()
    }

    /// A status outside of 200 to 299 becomes [`ClientError::Refused`].
    pub fn ok(self) -> Result<Answer, ClientError> {
        if (200..300).contains(&self.status) {
            return Ok(self);
        }
        let Ok(Envelope { error }) = serde_json::from_slice::<Envelope>(&self.body) else {
            return Err(ClientError::Protocol(format!(
                "the server answered {} without an error envelope: {}; \
                 check that the address is that of a Harn server",
                self.status,
                self.excerpt()
            )));
        };
        Err(ClientError::Refused {
            status: self.status,
            code: self.hidden(&error.code),
            message: self.hidden(&error.message),
            details: Box::new(self.hidden_within(error.details)),
            param: error.param.map(|text| self.hidden(&text)),
            request_id: error.request_id.map(|text| self.hidden(&text)),
        })
    }

    fn excerpt(&self) -> String {
        if self.body.is_empty() {
            return "(empty)".into();
        }
        // Hidden before it is cut, so that a cut never leaves half of a key.
        let text = self.hidden(&String::from_utf8_lossy(&self.body));
        match text.char_indices().nth(EXCERPT) {
            Some((end, _)) => format!("{}…", &text[..end]),
            None => text,
        }
    }

    fn hidden(&self, text: &str) -> String {
        self.secret.as_ref().map_or_else(|| text.to_owned(), |secret| secret.hide_in(text))
    }

    /// serde_json bounds the depth of what it parses, so the recursion is bounded too.
    fn hidden_within(&self, value: Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.hidden(&text)),
            Value::Array(items) => items.into_iter().map(|item| self.hidden_within(item)).collect(),
            Value::Object(members) => members
                .into_iter()
                .map(|(name, member)| (self.hidden(&name), self.hidden_within(member)))
                .collect(),
            other => other,
        }
    }
}

impl fmt::Debug for Answer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Answer")
            .field("status", &self.status)
            .field("body", &self.excerpt())
            .field("elapsed", &self.elapsed)
            .finish_non_exhaustive()
    }
}
