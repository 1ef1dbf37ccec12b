//! JSON bodies: bounded in size, depth and time, and refused with the path of the field that is wrong.

use std::time::Duration;

use axum::body::Body;
use axum::extract::{FromRequest, Request};
use axum::http::{HeaderMap, header};
use bytes::{Bytes, BytesMut};
use futures::StreamExt;
use harn_core::hash::Sha256Hash;
use harn_core::{Code, Error, Result};
use harn_harness::Call;
use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_path_to_error::{Path, Segment};

use crate::edge::Edge;
use crate::failure::Failure;

/// Deeper nesting is nobody's request.
const DEEPEST: usize = 64;
/// How much of a refused body is read, and for how long.
const MOST_DISCARDED: usize = 64 << 20;
const LONGEST_DISCARD: Duration = Duration::from_secs(5);
/// A client that is slower than this with its body has gone.
const PATIENCE: Duration = Duration::from_secs(30);
/// Errors in larger bodies are located less precisely, since that takes several readings.
const SCRUTINY: usize = 64 << 10;

/// A write: who calls, under which idempotency key, and with what body.
///
/// An absent body reads as `null`, so a `Command<Option<T>>` takes an optional one.
pub struct Command<T> {
    pub call: Call,
    pub body: T,
}

impl<T: DeserializeOwned> FromRequest<std::sync::Arc<Edge>> for Command<T> {
    type Rejection = Failure;

    async fn from_request(request: Request, edge: &std::sync::Arc<Edge>) -> Result<Self, Failure> {
        let (parts, body) = request.into_parts();
        let actor = super::actor(&parts)?;
        let limit = edge.options.json_limit;
        let bytes = match tokio::time::timeout(PATIENCE, read(body, limit)).await {
            Ok(read) => read?,
            Err(_) => {
                return Err(Error::new(Code::DeadlineExceeded, "The body did not arrive in time.").into());
            }
        };
        let text = Text::new(bytes, &parts.headers)?;
        let idempotency = super::idempotency(&parts, &text)?;
        Ok(Self { call: Call { actor, idempotency }, body: text.read()? })
    }
}

/// The whole body. What is too much is read and forgotten, so that the client gets to see our answer.
async fn read(body: Body, limit: usize) -> Result<Bytes> {
    let mut chunks = body.into_data_stream();
    let mut read = BytesMut::new();
    while let Some(chunk) = chunks.next().await {
        let chunk =
            chunk.map_err(|_| Error::new(Code::InvalidRequest, "The body ended before it was complete."))?;
        if read.len() + chunk.len() > limit {
            discard(Body::from_stream(chunks)).await;
            return Err(too_large(limit));
        }
        read.extend_from_slice(&chunk);
    }
    Ok(read.freeze())
}

/// Reads what nobody wants, within bounds: a connection that is closed over unread data loses the answer.
pub async fn discard(body: Body) {
    let mut chunks = body.into_data_stream();
    let mut left = MOST_DISCARDED;
    let reading = async {
        while let Some(Ok(chunk)) = chunks.next().await {
            left = left.saturating_sub(chunk.len());
            if left == 0 {
                break;
            }
        }
    };
    let _ = tokio::time::timeout(LONGEST_DISCARD, reading).await;
}

fn too_large(limit: usize) -> Error {
    Error::new(Code::PayloadTooLarge, format!("The body is larger than {limit} bytes."))
        .detail("limit_bytes", limit)
}

/// A body that is JSON as far as its envelope tells: UTF-8, not too deep, not of another type.
pub struct Text(Bytes);

impl Text {
    fn new(bytes: Bytes, headers: &HeaderMap) -> Result<Self> {
        if !bytes.is_empty() {
            check_type(headers)?;
        }
        if let Err(error) = std::str::from_utf8(&bytes) {
            let message = format!("The body is not UTF-8: byte {} is wrong.", error.valid_up_to());
            return Err(Error::new(Code::InvalidRequest, message));
        }
        if depth(&bytes) > DEEPEST {
            let message = format!("The body is nested more than {DEEPEST} levels deep.");
            return Err(Error::new(Code::InvalidRequest, message));
        }
        Ok(Self(bytes))
    }

    /// Bodies that mean the same have the same hash, however they are written.
    pub fn canonical_hash(&self) -> Result<Sha256Hash> {
        if self.0.is_empty() {
            return Ok(Sha256Hash::of(b""));
        }
        let mut value: Value = serde_json::from_slice(&self.0).map_err(malformed)?;
        value.sort_all_objects();
        Ok(Sha256Hash::of(value.to_string().as_bytes()))
    }

    fn read<T: DeserializeOwned>(&self) -> Result<T> {
        if self.0.is_empty() {
            let absent = |_| Error::new(Code::InvalidRequest, "This request needs a JSON body.");
            return serde_json::from_str("null").map_err(absent);
        }
        // Serde would take an array for a structure, field by field.
        if self.0.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'[') {
            return Err(Error::new(Code::InvalidRequest, "The body must be a JSON object, not an array."));
        }
        let mut reader = serde_json::Deserializer::from_slice(&self.0);
        let body = serde_path_to_error::deserialize(&mut reader);
        let body = body.map_err(|error| match error.inner().is_data() {
            true => self.misfit::<T>(error),
            false => malformed(error.into_inner()),
        })?;
        reader.end().map_err(malformed)?;
        Ok(body)
    }

    fn misfit<T: DeserializeOwned>(&self, error: serde_path_to_error::Error<serde_json::Error>) -> Error {
        let why = error.inner().to_string();
        let mut path = dotted(error.path());
        if let Some(field) = missing(&why).map(str::to_owned).or_else(|| self.culprit::<T>(error.path())) {
            path = if path.is_empty() { field } else { format!("{path}.{field}") };
        }
        match path.is_empty() {
            true => Error::new(Code::InvalidRequest, format!("The body does not fit: {why}.")),
            false => Error::invalid(path.clone(), format!("`{path}` does not fit: {why}.")),
        }
    }

    /// The wrong field of a tagged object, which is read as a whole and so not located by itself: the one
    /// without which only its absence would be wrong.
    fn culprit<T: DeserializeOwned>(&self, path: &Path) -> Option<String> {
        if self.0.len() > SCRUTINY {
            return None;
        }
        let whole: Value = serde_json::from_slice(&self.0).ok()?;
        let mut fields: Vec<String> =
            at(&mut whole.clone(), path)?.as_object()?.keys().take(16).cloned().collect();
        // Without its tag nothing else of an object is read, so the tag is suspected last.
        fields.sort_by_key(|field| field == "type");
        fields.into_iter().find(|field| {
            let mut without = whole.clone();
            if let Some(fields) = at(&mut without, path).and_then(Value::as_object_mut) {
                fields.remove(field);
            }
            let error = serde_json::from_value::<T>(without).err();
            error.is_some_and(|error| missing(&error.to_string()) == Some(field))
        })
    }
}

fn check_type(headers: &HeaderMap) -> Result<()> {
    let Some(told) = headers.get(header::CONTENT_TYPE) else { return Ok(()) };
    let told = told.to_str().unwrap_or_default();
    let essence = told.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    if essence.is_empty() || essence.ends_with("/json") || essence.ends_with("+json") {
        return Ok(());
    }
    Err(Error::invalid("Content-Type", format!("The body must be `application/json`, not `{essence}`.")))
}

/// How deep arrays and objects are nested, without building anything.
fn depth(json: &[u8]) -> usize {
    let (mut level, mut deepest) = (0usize, 0usize);
    let (mut quoted, mut escaped) = (false, false);
    for byte in json {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            _ if quoted => {}
            b'[' | b'{' => {
                level += 1;
                deepest = deepest.max(level);
            }
            b']' | b'}' => level = level.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

fn malformed(error: serde_json::Error) -> Error {
    Error::new(Code::InvalidRequest, format!("The body is not valid JSON: {error}."))
}

fn missing(why: &str) -> Option<&str> {
    why.strip_prefix("missing field `")?.split('`').next()
}

fn dotted(path: &Path) -> String {
    let text = path.to_string();
    if text == "." { String::new() } else { text }
}

fn at<'v>(value: &'v mut Value, path: &Path) -> Option<&'v mut Value> {
    path.iter().try_fold(value, |value, segment| match segment {
        Segment::Seq { index } => value.get_mut(*index),
        Segment::Map { key } => value.get_mut(key.as_str()),
        Segment::Enum { .. } | Segment::Unknown => None,
    })
}

#[cfg(test)]
mod tests {
    use harn_wire::agents::{AppendMessageRequest, CancelTaskRequest};

    use super::*;

    fn text(json: &str) -> Result<Text> {
        Text::new(Bytes::copy_from_slice(json.as_bytes()), &HeaderMap::new())
    }

    #[track_caller]
    fn refused(json: &str) -> Error {
        text(json).and_then(|text| text.read::<AppendMessageRequest>()).unwrap_err()
    }

    #[test]
    fn the_wrong_field_is_named() {
        for (json, param) in [
            (r#"{}"#, "message"),
            (r#"{"message": 5}"#, "message"),
            (r#"{"message": {"role": "boss", "parts": []}}"#, "message.role"),
            (
                r#"{"message": {"role": "user", "parts": [{"type": "text", "text": "x"}]}}"#,
                "message.parts[0].visibility",
            ),
            (
                r#"{"message": {"role": "user", "parts": [{"type": "text", "text": "x", "visibility": "all"}]}}"#,
                "message.parts[0].visibility",
            ),
            (
                r#"{"message": {"role": "user", "parts": [{"type": "text", "text": 5, "visibility": "public"}]}}"#,
                "message.parts[0].text",
            ),
            (r#"{"message": {"role": "user", "parts": [{"type": "song"}]}}"#, "message.parts[0].type"),
        ] {
            let error = refused(json);
            assert_eq!((error.code, error.param.as_deref()), (Code::InvalidRequest, Some(param)), "{json}");
        }
    }

    #[test]
    fn what_is_not_json_is_refused_with_its_place() {
        let error = refused("{\n  \"message\": ,\n}");
        assert_eq!(error.message, "The body is not valid JSON: expected value at line 2 column 14.");
        assert_eq!(refused("{} {}").code, Code::InvalidRequest);
        assert_eq!(refused("").message, "This request needs a JSON body.");
        let deep = format!("{}1{}", "[".repeat(65), "]".repeat(65));
        assert_eq!(refused(&deep).message, "The body is nested more than 64 levels deep.");
        assert!(Text::new(Bytes::from_static(b"\"\xff\""), &HeaderMap::new()).is_err());
    }

    #[test]
    fn brackets_inside_strings_do_not_nest() {
        assert_eq!(depth(br#"{"a": "[[[\"{{{", "b": [[]]}"#), 3);
    }

    #[test]
    fn an_optional_body_may_be_absent() {
        assert!(text("").unwrap().read::<Option<CancelTaskRequest>>().unwrap().is_none());
        assert!(text("{}").unwrap().read::<Option<CancelTaskRequest>>().unwrap().is_some());
    }

    #[test]
    fn equivalent_bodies_have_one_hash() {
        let hash = |json| text(json).unwrap().canonical_hash().unwrap();
        assert_eq!(hash(r#"{"b": 1, "a": {"d": 2, "c": 3}}"#), hash(r#"{"a":{"c":3,"d":2},"b":1}"#));
        assert_ne!(hash(r#"{"a": 1}"#), hash(r#"{"a": 2}"#));
    }

    #[test]
    fn only_json_types_are_taken() {
        for (told, fine) in [
            ("application/json", true),
            ("application/json; charset=utf-8", true),
            ("application/merge-patch+json", true),
            ("application/x-www-form-urlencoded", false),
            ("text/plain", false),
        ] {
            let headers = HeaderMap::from_iter([(header::CONTENT_TYPE, told.parse().unwrap())]);
            assert_eq!(check_type(&headers).is_ok(), fine, "{told}");
        }
    }
}
