//! Errors on their way out: one envelope for all of them, rendered in one place with the request's id.

use std::any::Any;

use axum::body::Body;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use harn_core::{Code, Error};
use harn_wire::agents::{ErrorResponse, http_status};

/// What a handler gives when it cannot give what was asked for.
#[derive(Debug)]
pub struct Failure {
    pub status: StatusCode,
    pub error: Error,
}

impl Failure {
    /// An error whose HTTP status is not the usual one of its code.
    pub fn with_status(status: StatusCode, error: Error) -> Self {
        Self { status, error }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let status = StatusCode::from_u16(http_status(error.code).0);
        Self { status: status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR), error }
    }
}

/// The body is written by [`render`], which knows the request's id.
impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        let mut response = self.status.into_response();
        response.extensions_mut().insert(self.error);
        response
    }
}

/// Gives a failed response its envelope. Also the router's own refusal of a method, which has none.
pub fn render(mut response: Response, request_id: &str) -> Response {
    let error = match response.extensions_mut().remove::<Error>() {
        Some(error) => error,
        None if response.status() == StatusCode::METHOD_NOT_ALLOWED => wrong_method(&response),
        None => return response,
    };
    if error.code == Code::Unauthenticated {
        response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    }
    let (mut head, _) = response.into_parts();
    head.headers.remove(header::CONTENT_LENGTH);
    head.headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    Response::from_parts(head, Body::from(envelope(error, request_id)))
}

pub fn envelope(error: Error, request_id: &str) -> Vec<u8> {
    let envelope = ErrorResponse::new(error, Some(request_id.to_owned()));
    serde_json::to_vec(&envelope).unwrap_or_default()
}

fn wrong_method(response: &Response) -> Error {
    let allowed = response.headers().get(header::ALLOW).and_then(|value| value.to_str().ok());
    let next = match allowed {
        Some(allowed) => format!("It has: {allowed}."),
        None => "`GET /openapi.json` lists what it has.".to_owned(),
    };
    Error::new(Code::InvalidRequest, format!("This path does not have that method. {next}"))
}

pub async fn unknown_path() -> Failure {
    Error::new(Code::ResourceNotFound, "There is nothing at this path. `GET /openapi.json` lists all paths.")
        .into()
}

/// The panic itself has been reported by the panic hook; its words stay inside.
pub fn panicked(_: Box<dyn Any + Send + 'static>) -> Response {
    tracing::error!("a handler panicked");
    Failure::from(Error::internal("The request failed inside the harness. This is a defect of Harn."))
        .into_response()
}
