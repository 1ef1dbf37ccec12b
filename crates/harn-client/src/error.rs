//! What can go wrong between a caller and a server, as far as a caller would act differently.

use std::time::Duration;

use serde_json::Value;

#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The request could not be built; nothing was sent.
    #[error("{0}")]
    Invalid(String),

    #[error("cannot reach {url}: {cause}; check that the server runs there and that the address is right")]
    Unreachable { url: String, cause: String },

    #[error(
        "no TLS connection to {url}: {cause}; check the host name, and for a private server \
         give the certificate authority that signed its certificate"
    )]
    Tls { url: String, cause: String },

    #[error(
        "no complete answer from {url} within {} s; the request may have been carried out: \
         repeat it with the same Idempotency-Key, or wait longer", after.as_secs_f32()
    )]
    Timeout { url: String, after: Duration },

    /// The server answered, and the answer is an error of the protocol.
    #[error("the server refused ({status} {code}): {message}{}{}{}", about(param), numbered(request_id), hint(*status))]
    Refused {
        status: u16,
        code: String,
        message: String,
        details: Box<Value>,
        param: Option<String>,
        request_id: Option<String>,
    },

    /// The bytes that came are not what the protocol says.
    #[error("{0}")]
    Protocol(String),
}

fn about(param: &Option<String>) -> String {
    param.as_ref().map(|name| format!(" (parameter {name})")).unwrap_or_default()
}

fn numbered(request_id: &Option<String>) -> String {
    request_id.as_ref().map(|id| format!(" [request {id}]")).unwrap_or_default()
}

fn hint(status: u16) -> &'static str {
    match status {
        401 => "; check the API key",
        403 => "; ask for a key that may do this",
        426 => "; use a client that speaks a version the server supports",
        429 => "; wait, then repeat it with the same Idempotency-Key",
        503 => "; repeat it later with the same Idempotency-Key",
        _ => "",
    }
}
