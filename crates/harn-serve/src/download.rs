//! Downloads: a kept blob as a response, whole or in part.

use std::io::SeekFrom;
use std::ops::Range;
use std::path::Path;

use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use harn_core::{Code, Error, Result};
use harn_harness::Blob;
use tokio::io::{AsyncReadExt, AsyncSeekExt};
use tokio_util::io::ReaderStream;

use crate::failure::Failure;

/// Always opaque bytes: a page must not be able to make a browser run what it uploaded.
pub async fn respond(blob: Blob, hash: Option<&str>, request: &HeaderMap) -> Result<Response, Failure> {
    let size = blob.size();
    let tag = hash.map(|hash| format!("\"{hash}\""));
    let (status, range) = match wanted(request, tag.as_deref(), size) {
        Wanted::All => (StatusCode::OK, 0..size),
        Wanted::Part(range) => (StatusCode::PARTIAL_CONTENT, range),
        Wanted::Nothing => return Ok(unsatisfiable(size)),
    };
    let length = range.end - range.start;
    let body = match blob {
        Blob::Inline(bytes) => Body::from(bytes.slice(range.start as usize..range.end as usize)),
        Blob::File { path, .. } => file_body(&path, &range).await?,
    };
    let mut response = (status, body).into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/octet-stream"));
    headers.insert(header::CONTENT_DISPOSITION, HeaderValue::from_static("attachment"));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(header::ACCEPT_RANGES, HeaderValue::from_static("bytes"));
    headers.insert(header::CONTENT_LENGTH, HeaderValue::from(length));
    if let Some(tag) = tag.and_then(|tag| HeaderValue::from_str(&tag).ok()) {
        headers.insert(header::ETAG, tag);
    }
    if status == StatusCode::PARTIAL_CONTENT {
        content_range(headers, &format!("bytes {}-{}/{size}", range.start, range.end - 1));
    }
    Ok(response)
}

async fn file_body(path: &Path, range: &Range<u64>) -> Result<Body> {
    let unreadable = |error: std::io::Error| {
        tracing::error!(%error, "a kept file could not be read");
        Error::internal("The content could not be read. The server's own log has the cause.")
    };
    let mut file = tokio::fs::File::open(path).await.map_err(unreadable)?;
    file.seek(SeekFrom::Start(range.start)).await.map_err(unreadable)?;
    Ok(Body::from_stream(ReaderStream::with_capacity(file.take(range.end - range.start), 64 << 10)))
}

fn unsatisfiable(size: u64) -> Response {
    let error = Error::new(
        Code::InvalidRequest,
        format!("The content has {size} bytes; the range is outside of it."),
    );
    let failure = Failure::with_status(StatusCode::RANGE_NOT_SATISFIABLE, error.param("Range"));
    let mut response = failure.into_response();
    content_range(response.headers_mut(), &format!("bytes */{size}"));
    response
}

fn content_range(headers: &mut HeaderMap, text: &str) {
    if let Ok(value) = HeaderValue::from_str(text) {
        headers.insert(header::CONTENT_RANGE, value);
    }
}

#[derive(Debug, PartialEq)]
enum Wanted {
    All,
    Part(Range<u64>),
    Nothing,
}

/// As HTTP has it: what is not understood, several ranges, and a range of another version give the whole.
fn wanted(request: &HeaderMap, tag: Option<&str>, size: u64) -> Wanted {
    let text = |name| request.get(name).and_then(|value: &HeaderValue| value.to_str().ok());
    let same = text(header::IF_RANGE).is_none_or(|known| Some(known) == tag);
    match text(header::RANGE).filter(|_| same) {
        Some(range) => parse(range, size),
        None => Wanted::All,
    }
}

fn parse(range: &str, size: u64) -> Wanted {
    let Some((first, last)) = range.strip_prefix("bytes=").and_then(|range| range.trim().split_once('-'))
    else {
        return Wanted::All;
    };
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if !digits(first) || !digits(last) || (first.is_empty() && last.is_empty()) {
        return Wanted::All;
    }
    // More digits than a number can have are beyond any end.
    let number = |text: &str| text.parse::<u64>().unwrap_or(u64::MAX);
    let range = match (first, last) {
        ("", last) => size.saturating_sub(number(last))..size,
        (first, "") => number(first)..size,
        (first, last) if number(first) > number(last) => return Wanted::All,
        (first, last) => number(first)..number(last).saturating_add(1).min(size),
    };
    if range.start < range.end { Wanted::Part(range) } else { Wanted::Nothing }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_read_as_http_has_them() {
        for (range, expected) in [
            ("bytes=0-4", Wanted::Part(0..5)),
            ("bytes=5-", Wanted::Part(5..10)),
            ("bytes=-3", Wanted::Part(7..10)),
            ("bytes=-30", Wanted::Part(0..10)),
            ("bytes=8-99", Wanted::Part(8..10)),
            ("bytes=10-", Wanted::Nothing),
            ("bytes=-0", Wanted::Nothing),
            ("bytes=99999999999999999999999-", Wanted::Nothing),
            ("bytes=4-2", Wanted::All),
            ("bytes=0-1,3-4", Wanted::All),
            ("bytes=x-", Wanted::All),
            ("lines=0-1", Wanted::All),
        ] {
            assert_eq!(parse(range, 10), expected, "{range}");
        }
        assert_eq!(parse("bytes=0-", 0), Wanted::Nothing);
    }

    #[test]
    fn a_range_of_another_version_gives_the_whole() {
        let headers = HeaderMap::from_iter([
            (header::RANGE, HeaderValue::from_static("bytes=0-4")),
            (header::IF_RANGE, HeaderValue::from_static("\"old\"")),
        ]);
        assert_eq!(wanted(&headers, Some("\"new\""), 10), Wanted::All);
        assert_eq!(wanted(&headers, Some("\"old\""), 10), Wanted::Part(0..5));
    }
}
