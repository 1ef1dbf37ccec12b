//! The shapes that spec 001 gives to resources, lists, events and errors.

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::ask::cut;
use crate::check::{Verdict, ensure, failed};

pub(crate) fn text(text: &str) -> Value {
    json!({ "type": "text", "text": text, "visibility": "public" })
}

pub(crate) fn id_of(resource: &Value) -> Verdict<String> {
    match resource["id"].as_str() {
        Some(id) if !id.is_empty() => Ok(id.to_owned()),
        _ => failed(format!("expected a resource with an id, got {}", shown(resource))),
    }
}

pub(crate) fn ids_of(resources: &[Value]) -> Verdict<Vec<String>> {
    resources.iter().map(id_of).collect()
}

pub(crate) fn status_of(task: &Value) -> Verdict<String> {
    match task["status"].as_str() {
        Some(status) => Ok(status.to_owned()),
        None => failed(format!("expected a task with a status, got {}", shown(task))),
    }
}

pub(crate) fn shown(value: &Value) -> String {
    cut(&value.to_string())
}

/// The common envelope, without the form of its timestamps.
pub(crate) fn envelope(what: &str, resource: &Value) -> Verdict {
    for field in ["id", "object", "created_at", "updated_at"] {
        let present = resource[field].as_str().is_some_and(|text| !text.is_empty());
        ensure!(present, "{what}: expected the string `{field}` on {}", shown(resource));
    }
    ensure!(
        resource["metadata"].is_object(),
        "{what}: expected the object `metadata` on {}",
        shown(resource)
    );
    Ok(())
}

/// Every field whose name ends in `_at` is RFC 3339 in UTC, or null.
pub(crate) fn timestamps(what: &str, resource: &Value) -> Verdict {
    let Some(fields) = resource.as_object() else { return Ok(()) };
    for (name, value) in fields.iter().filter(|(name, _)| name.ends_with("_at")) {
        let valid = value.is_null() || value.as_str().is_some_and(is_utc);
        ensure!(valid, "{what}: expected an RFC 3339 UTC timestamp in `{name}`, got {value}");
    }
    Ok(())
}

pub(crate) fn is_utc(text: &str) -> bool {
    let utc = text.ends_with('Z') || text.ends_with("+00:00");
    // RFC 3339 has a `T` (or a space) and nothing after the offset; jiff alone takes more forms.
    let plain = text.bytes().all(|byte| byte.is_ascii_digit() || b"-:+.TZ ".contains(&byte));
    utc && plain && text.parse::<Timestamp>().is_ok()
}

pub(crate) fn list(what: &str, list: &Value) -> Verdict {
    ensure!(list["object"] == "list", "{what}: expected `object` \"list\", got {}", shown(list));
    ensure!(list["data"].is_array(), "{what}: expected the array `data`, got {}", shown(list));
    let page = &list["page"];
    let more = page["has_more"].as_bool();
    ensure!(more.is_some(), "{what}: expected the boolean `page.has_more`, got {}", shown(page));
    let cursor = &page["next_cursor"];
    ensure!(
        cursor.is_null() || cursor.is_string(),
        "{what}: expected a string or null in `page.next_cursor`, got {cursor}"
    );
    Ok(())
}

/// What the specification requires of an Event, beyond the envelope.
pub(crate) fn event(what: &str, event: &Value) -> Verdict {
    for field in ["id", "event", "created_at"] {
        let present = event[field].as_str().is_some_and(|text| !text.is_empty());
        ensure!(present, "{what}: expected the string `{field}` on the event {}", shown(event));
    }
    ensure!(event["object"] == "event", "{what}: expected `object` \"event\", got {}", shown(event));
    let number = event["sequence"].is_u64();
    ensure!(number, "{what}: expected an unsigned `sequence` on the event {}", shown(event));
    for field in ["object", "id"] {
        let named = event["resource"][field].is_string();
        ensure!(named, "{what}: expected `resource.{field}` on the event {}", shown(event));
    }
    ensure!(event["payload"].is_object(), "{what}: expected the object `payload` on {}", shown(event));
    Ok(())
}

const ERROR_TYPES: [&str; 9] = [
    "request_error",
    "auth_error",
    "permission_error",
    "not_found_error",
    "conflict_error",
    "rate_limit_error",
    "runtime_error",
    "upstream_error",
    "server_error",
];

/// The HTTP status of each code, and the types that can be meant by it.
const ERROR_CODES: [(&str, u16, &[&str]); 18] = [
    ("invalid_request", 400, &["request_error"]),
    ("invalid_state_transition", 400, &["request_error", "conflict_error"]),
    ("unauthenticated", 401, &["auth_error"]),
    ("permission_denied", 403, &["permission_error"]),
    ("resource_not_found", 404, &["not_found_error"]),
    ("conflict", 409, &["conflict_error"]),
    ("idempotency_key_reused", 409, &["conflict_error"]),
    ("cursor_expired", 410, &["request_error", "not_found_error", "conflict_error"]),
    ("payload_too_large", 413, &["request_error"]),
    ("policy_violation", 422, &["permission_error", "request_error", "rate_limit_error"]),
    ("resource_locked", 423, &["conflict_error"]),
    ("unsupported_protocol_version", 426, &["request_error"]),
    ("rate_limited", 429, &["rate_limit_error"]),
    ("client_closed_request", 499, &["request_error"]),
    ("internal_error", 500, &["server_error", "runtime_error"]),
    ("upstream_unavailable", 502, &["upstream_error"]),
    ("service_unavailable", 503, &["server_error"]),
    ("deadline_exceeded", 504, &["runtime_error", "server_error", "request_error", "upstream_error"]),
];

pub(crate) fn error_envelope(what: &str, body: &Value) -> Verdict {
    let error = &body["error"];
    for field in ["code", "message", "type"] {
        let present = error[field].as_str().is_some_and(|text| !text.is_empty());
        ensure!(present, "{what}: expected the string `error.{field}`, got {}", shown(body));
    }
    let known = error["type"].as_str().is_some_and(|name| ERROR_TYPES.contains(&name));
    ensure!(known, "{what}: expected one of the core error types, got {}", error["type"]);
    for field in ["param", "request_id"] {
        let valid = error[field].is_null() || error[field].is_string();
        ensure!(valid, "{what}: expected a string or null in `error.{field}`, got {}", error[field]);
    }
    let details = &error["details"];
    ensure!(
        details.is_null() || details.is_object(),
        "{what}: expected an object in `error.details`, got {details}"
    );
    Ok(())
}

/// A code stands with its status and its type. A status outside of the table (405, 415) may borrow a code.
pub(crate) fn error_agreement(what: &str, status: u16, body: &Value) -> Verdict {
    let (code, kind) = (body["error"]["code"].as_str(), body["error"]["type"].as_str());
    let Some((code, of_code, types)) = ERROR_CODES.iter().find(|row| Some(row.0) == code) else {
        return Ok(());
    };
    let in_table = ERROR_CODES.iter().any(|row| row.1 == status);
    ensure!(
        status == *of_code || !in_table,
        "{what}: the code {code} belongs to {of_code}, but the status is {status}"
    );
    let agrees = kind.is_some_and(|kind| types.contains(&kind));
    ensure!(agrees, "{what}: the code {code} is a {}, but the type is {kind:?}", types.join(" or "));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_rfc_3339_in_utc_is_a_timestamp() {
        for good in ["2026-04-25T19:00:00Z", "2026-04-25T19:00:00.123456789Z", "2026-04-25T19:00:00+00:00"] {
            assert!(is_utc(good), "{good}");
        }
        let bad = [
            "",
            "2026-04-25",
            "2026-04-25T19:00:00",
            "2026-04-25T19:00:00+02:00",
            "2026-13-25T19:00:00Z",
            "2026-04-25T19:00:00[UTC]",
            "1777143600",
            "2026-04-25T19:00:00+00:00[UTC]",
        ];
        for bad in bad {
            assert!(!is_utc(bad), "{bad}");
        }
    }

    #[test]
    fn a_code_stands_with_its_status_and_type() {
        let body = |code: &str, kind: &str| json!({ "error": { "code": code, "type": kind } });
        let cases = [
            (404, body("resource_not_found", "not_found_error"), true),
            (405, body("invalid_request", "request_error"), true),
            (501, body("not_implemented", "server_error"), true),
            (400, body("resource_not_found", "not_found_error"), false),
            (404, body("resource_not_found", "request_error"), false),
            (200, body("vendor.special", "request_error"), true),
        ];
        for (status, body, agrees) in cases {
            assert_eq!(error_agreement("it", status, &body).is_ok(), agrees, "{status} {body}");
        }
    }
}
