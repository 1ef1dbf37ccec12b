//! Requests that commands make: one resource, a list with all its pages, a change.

use std::collections::VecDeque;

use anyhow::{Context, Result};
use harn_client::{Client, Method};
use harn_core::RequestId;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// The largest page that the protocol has.
const PAGE: &str = "200";
/// A server that always has one more page is not followed for ever.
const MOST_PAGES: usize = 5000;

pub async fn get(client: &Client, path: &str) -> Result<Value> {
    Ok(client.request(Method::GET, path).send().await?.ok()?.value()?)
}

/// A change that is made once, even when the connection breaks and it is sent again.
pub async fn post(client: &Client, path: &str, body: &impl Serialize) -> Result<Value> {
    let request = client.request(Method::POST, path).json(body).idempotency_key(&unique());
    Ok(request.send().await?.ok()?.value()?)
}

pub async fn patch(client: &Client, path: &str, body: &impl Serialize) -> Result<Value> {
    let request = client.request(Method::PATCH, path).json(body).idempotency_key(&unique());
    Ok(request.send().await?.ok()?.value()?)
}

pub async fn delete(client: &Client, path: &str) -> Result<()> {
    client.request(Method::DELETE, path).idempotency_key(&unique()).send().await?.ok()?;
    Ok(())
}

fn unique() -> String {
    RequestId::generate().to_string()
}

/// An answer as the type that the protocol says it is.
pub fn typed<T: DeserializeOwned>(value: &Value) -> Result<T> {
    serde_json::from_value(value.clone())
        .context("the server's answer is not what the protocol says; are client and server of one version?")
}

/// A path with ids that may hold anything.
pub fn path(pieces: &[&str]) -> String {
    let mut path = String::new();
    for piece in pieces {
        path.push('/');
        for byte in piece.bytes() {
            match byte {
                b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'~' => path.push(char::from(byte)),
                // A dot too, so that no id climbs out of its place.
                _ => path.push_str(&format!("%{byte:02X}")),
            }
        }
    }
    path
}

/// How a list is continued.
#[derive(Clone, Copy)]
pub enum Cursor {
    Page,
    Event,
}

/// The newest items of a list, in its order, and whether there were more.
#[derive(Default)]
pub struct Newest {
    pub items: VecDeque<Value>,
    pub more: bool,
}

impl Newest {
    /// The list as the API would give it, had it been asked for these.
    pub fn to_json(&self) -> Value {
        json!({ "object": "list", "data": self.items,
                "page": { "has_more": self.more, "next_cursor": null } })
    }

    pub fn typed<T: DeserializeOwned>(&self) -> Result<Vec<T>> {
        self.items.iter().map(typed).collect()
    }
}

/// Lists are oldest first, so all of it is read; only so many of the newest that `keep` lets through are kept.
pub async fn newest(
    client: &Client,
    path: &str,
    filters: &[(&str, Option<&str>)],
    cursor: Cursor,
    limit: usize,
    keep: impl Fn(&Value) -> bool,
) -> Result<Newest> {
    let filters: Vec<(&str, &str)> =
        filters.iter().filter_map(|(name, value)| Some((*name, (*value)?))).collect();
    let name = match cursor {
        Cursor::Page => "cursor",
        Cursor::Event => "after_event_id",
    };
    let mut newest = Newest { items: VecDeque::new(), more: false };
    let mut next: Option<String> = None;
    for _ in 0..MOST_PAGES {
        let mut request = client.request(Method::GET, path).query(&filters).query(&[("limit", PAGE)]);
        if let Some(cursor) = &next {
            request = request.query(&[(name, cursor)]);
        }
        let page = request.send().await?.ok()?.value()?;
        for item in page["data"].as_array().into_iter().flatten().filter(|item| keep(item)) {
            newest.items.push_back(item.clone());
            if newest.items.len() > limit {
                newest.items.pop_front();
                newest.more = true;
            }
        }
        let following = page["page"]["next_cursor"].as_str().map(ToOwned::to_owned);
        // A cursor that leads to itself would never end.
        if following.is_none() || following == next {
            return Ok(newest);
        }
        next = following;
    }
    newest.more = true;
    Ok(newest)
}

#[cfg(test)]
mod tests {
    use super::path;

    #[test]
    fn an_id_stays_one_piece_of_its_path() {
        let cases = [
            (["v1", "tasks", "task_01A"], "/v1/tasks/task_01A"),
            (["v1", "tasks", "../keys"], "/v1/tasks/%2E%2E%2Fkeys"),
            (["v1", "tasks", "a?b#c d"], "/v1/tasks/a%3Fb%23c%20d"),
            (["v1", "tasks", "ü"], "/v1/tasks/%C3%BC"),
        ];
        for (pieces, expected) in cases {
            assert_eq!(path(&pieces), expected);
        }
    }
}
