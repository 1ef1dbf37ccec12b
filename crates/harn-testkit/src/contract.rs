//! The public OpenAPI document as a judge of single answers.

mod document;
mod route;

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, OnceLock};

use jsonschema::Validator;
use parking_lot::Mutex;
use serde_json::Value;

use self::document::{Document, Media, Operation};

/// The public document with its operations indexed and its validators compiled on first use.
pub struct PublicApi {
    document: Document,
    validators: Mutex<HashMap<String, Arc<Validator>>>,
}

/// One way in which an answer breaks the contract. `location` is a JSON pointer into the body, or
/// the part of the answer that is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    pub location: String,
    pub detail: String,
}

impl PublicApi {
    /// The document of the shared data, or `None` where [`crate::shared_data`] has skipped it.
    pub fn load() -> Option<Self> {
        Some(Self { document: Document::load()?, validators: Mutex::default() })
    }

    /// One instance for the whole test process, so that each validator is compiled once.
    pub fn shared() -> Option<Arc<Self>> {
        static SHARED: OnceLock<Option<Arc<PublicApi>>> = OnceLock::new();
        SHARED.get_or_init(|| Self::load().map(Arc::new)).clone()
    }

    /// The document as published, without any allowance: the left side of [`crate::compare`].
    pub fn published(&self) -> &Value {
        self.document.published()
    }

    /// Judges an answer. `path` is the path that was asked for, with or without a query.
    ///
    /// An operation that the document does not have may answer as it likes, but its errors must be
    /// the error envelope.
    ///
    /// # Errors
    /// Every violation found.
    pub fn check(
        &self,
        method: &str,
        path: &str,
        status: u16,
        content_type: Option<&str>,
        body: &[u8],
    ) -> Result<(), Vec<Violation>> {
        let Some(operation) = self.document.operation(method, path) else {
            return if status >= 400 { self.check_error(status, content_type, body) } else { Ok(()) };
        };
        match operation.response(status) {
            Some(content) => self.check_content(operation, status, content, content_type, body),
            None if status >= 400 => self.check_error(status, content_type, body),
            None => violation(
                "status",
                format!("{status} is no success of {}: {}", operation.label(), operation.successes()),
            ),
        }
    }

    /// Judges a request body, for examples and fixtures that must be valid in the public document.
    ///
    /// # Errors
    /// Every violation found; also when the operation is unknown or takes no JSON body.
    pub fn check_request(&self, method: &str, path: &str, body: &Value) -> Result<(), Vec<Violation>> {
        let Some(operation) = self.document.operation(method, path) else {
            return violation("operation", format!("the document has no {method} {path}"));
        };
        let Some(schema) = operation.request() else {
            return violation("body", format!("{} takes no JSON body", operation.label()));
        };
        self.validate(&format!("{} request", operation.label()), schema, 0, body)
    }

    /// Judges the `data` of one server-sent event.
    ///
    /// # Errors
    /// Every way in which it is not an Event.
    pub fn check_sse_event(&self, data: &Value) -> Result<(), Vec<Violation>> {
        self.validate("Event", &document::component("Event"), 200, data)
    }

    /// Judges a JSON value as the error envelope of an answer with this status.
    ///
    /// # Errors
    /// Every way in which it is not the envelope.
    pub fn check_error_envelope(&self, status: u16, body: &Value) -> Result<(), Vec<Violation>> {
        self.validate(&format!("error {status}"), &document::component("ErrorResponse"), status, body)
    }

    fn check_error(
        &self,
        status: u16,
        content_type: Option<&str>,
        body: &[u8],
    ) -> Result<(), Vec<Violation>> {
        if !content_type.is_some_and(|given| is_json(essence(given))) {
            return violation("content-type", format!("an error must be JSON, not {content_type:?}"));
        }
        self.check_error_envelope(status, &parse(body)?)
    }

    fn check_content(
        &self,
        operation: &Operation,
        status: u16,
        content: &[Media],
        content_type: Option<&str>,
        body: &[u8],
    ) -> Result<(), Vec<Violation>> {
        if content.is_empty() {
            return if body.is_empty() { Ok(()) } else { violation("body", format!("{status} has no body")) };
        }
        let given = content_type.map(essence);
        let Some(media) = content.iter().find(|media| given == Some(media.name.as_str())) else {
            let expected: Vec<_> = content.iter().map(|media| media.name.as_str()).collect();
            return violation(
                "content-type",
                format!("{content_type:?} instead of {}", expected.join(" or ")),
            );
        };
        if !is_json(&media.name) {
            return Ok(());
        }
        let label = format!("{} {status} {}", operation.label(), media.name);
        self.validate(&label, &media.schema, status, &parse(body)?)
    }

    fn validate(&self, label: &str, schema: &Value, status: u16, body: &Value) -> Result<(), Vec<Violation>> {
        let validator = self.validator(label, schema, status);
        let violations: Vec<_> = validator.iter_errors(body).map(|error| Violation::from(&error)).collect();
        if violations.is_empty() { Ok(()) } else { Err(violations) }
    }

    fn validator(&self, label: &str, schema: &Value, status: u16) -> Arc<Validator> {
        let mut validators = self.validators.lock();
        let compile = || Arc::new(self.document.compile(schema, status));
        Arc::clone(validators.entry(label.to_owned()).or_insert_with(compile))
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.location, self.detail)
    }
}

impl From<&jsonschema::ValidationError<'_>> for Violation {
    fn from(error: &jsonschema::ValidationError<'_>) -> Self {
        let pointer = error.instance_path().to_string();
        let location = if pointer.is_empty() { "/".to_owned() } else { pointer };
        Self { location, detail: error.to_string() }
    }
}

fn violation(location: &str, detail: String) -> Result<(), Vec<Violation>> {
    Err(vec![Violation { location: location.to_owned(), detail }])
}

fn parse(body: &[u8]) -> Result<Value, Vec<Violation>> {
    serde_json::from_slice(body)
        .map_err(|error| vec![Violation { location: "body".into(), detail: format!("not JSON: {error}") }])
}

/// A content type without its parameters: `application/json` of `application/json; charset=utf-8`.
fn essence(content_type: &str) -> &str {
    content_type.split(';').next().unwrap_or_default().trim()
}

fn is_json(media_type: &str) -> bool {
    media_type == "application/json" || media_type.ends_with("+json")
}
