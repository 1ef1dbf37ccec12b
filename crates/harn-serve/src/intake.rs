//! Requests on their way in: who calls, which resource, which page, and a body of a known shape.

mod body;

use axum::extract::{FromRequestParts, Path, Query};
use axum::http::request::Parts;
use harn_core::{Actor, Code, Error, Result};
use harn_harness::{Idempotency, PageQuery};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use utoipa::IntoParams;

pub use body::{Command, discard};

use crate::failure::Failure;

/// Longer ids name nothing.
const LONGEST_ID: usize = 512;

/// The actor that the gate has let in.
pub struct Caller(pub Actor);

impl<S: Send + Sync> FromRequestParts<S> for Caller {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Failure> {
        Ok(Self(actor(parts)?))
    }
}

/// A route that was left out of the gate's reach fails closed.
fn actor(parts: &Parts) -> Result<Actor> {
    let absent =
        || Error::internal("This path was reached without authentication. This is a defect of Harn.");
    parts.extensions.get::<Actor>().cloned().ok_or_else(absent)
}

/// The id in the path.
pub struct Id<T>(pub T);

impl<S: Send + Sync, T: From<String>> FromRequestParts<S> for Id<T> {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Failure> {
        let Path(id) = Path::<String>::from_request_parts(parts, state).await.map_err(|_| unnamed())?;
        Ok(Self(known(id)?))
    }
}

/// The two ids in the path of something that belongs to something else.
pub struct Ids<T, U>(pub T, pub U);

impl<S: Send + Sync, T: From<String>, U: From<String>> FromRequestParts<S> for Ids<T, U> {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Failure> {
        let ids = Path::<(String, String)>::from_request_parts(parts, state).await;
        let Path((of, id)) = ids.map_err(|_| unnamed())?;
        Ok(Self(known(of)?, known(id)?))
    }
}

fn known<T: From<String>>(id: String) -> Result<T> {
    if id.len() > LONGEST_ID { Err(unnamed()) } else { Ok(id.into()) }
}

fn unnamed() -> Error {
    Error::new(Code::ResourceNotFound, "No resource with such an id is visible to you.")
}

/// Parameters of the query. Unknown ones are ignored.
pub struct Asked<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for Asked<T> {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Failure> {
        let Query(asked) = Query::try_from_uri(&parts.uri)
            .map_err(|error| Error::new(Code::InvalidRequest, format!("{}.", error.body_text())))?;
        Ok(Self(asked))
    }
}

/// Which part of a list.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct PageParams {
    /// How many at most.
    #[param(value_type = u64, required = false, minimum = 1, maximum = 200, default = 50)]
    limit: Option<String>,
    /// Where the page before this one ended.
    #[param(value_type = String, required = false)]
    cursor: Option<String>,
}

impl PageParams {
    pub fn wanted(self) -> Result<PageQuery> {
        Ok(PageQuery { limit: number("limit", self.limit)?, cursor: self.cursor })
    }
}

/// Which part of a range of events.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct RangeParams {
    /// The last event that is already known.
    #[param(value_type = String, required = false)]
    pub after_event_id: Option<String>,
    /// How many at most.
    #[param(value_type = u64, required = false, minimum = 1, maximum = 200, default = 50)]
    limit: Option<String>,
}

impl RangeParams {
    pub fn limit(&self) -> Result<Option<u64>> {
        number("limit", self.limit.clone())
    }
}

fn number(param: &str, text: Option<String>) -> Result<Option<u64>> {
    let parse = |text: String| {
        text.parse()
            .map_err(|_| Error::invalid(param, format!("`{param}` must be a whole number, not `{text}`.")))
    };
    text.map(parse).transpose()
}

/// The client's promise that a retry is the same request.
fn idempotency(parts: &Parts, body: &body::Text) -> Result<Option<Idempotency>> {
    let mut keys = parts.headers.get_all("idempotency-key").iter();
    let Some(key) = keys.next() else { return Ok(None) };
    let refused = |why: &str| Error::invalid("Idempotency-Key", format!("`Idempotency-Key` {why}."));
    let key = key.as_bytes();
    if keys.next().is_some() {
        return Err(refused("was sent more than once"));
    }
    if key.is_empty() || key.len() > 255 || !key.iter().all(|byte| (b' '..=b'~').contains(byte)) {
        return Err(refused("must have 1 to 255 printable ASCII characters"));
    }
    Ok(Some(Idempotency {
        key: String::from_utf8_lossy(key).into_owned(),
        method: parts.method.to_string(),
        target: parts.uri.path().to_owned(),
        body: body.canonical_hash()?,
    }))
}
