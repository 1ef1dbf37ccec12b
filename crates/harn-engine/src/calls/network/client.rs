//! The connections of scripts, and a request made from the dict that a program sends.

use std::sync::OnceLock;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use harn_model::{Proxy, Transport, TransportOptions};
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use reqwest::{Method, RequestBuilder, Url};
use serde_json::{Map, Value, json};

use crate::secrets::{Filling, SecretError, Secrets};
use crate::tools::ToolFailure;

impl From<SecretError> for ToolFailure {
    fn from(error: SecretError) -> Self {
        let category = match error {
            SecretError::Host { .. } => "permission_denied",
            SecretError::Unknown(_) => "not_found",
            _ => "generic",
        };
        Self::categorised(category, error.to_string())
    }
}

/// What a response may have when a program says nothing.
pub const MOST_BYTES: u64 = 64 << 20;

/// A request that is ready to be sent, with the secrets that are in it.
pub fn request<'s>(
    secrets: &'s Secrets,
    args: &Map<String, Value>,
) -> Result<(RequestBuilder, Filling<'s>), ToolFailure> {
    let method = text(args, "method").unwrap_or("GET");
    let method = Method::from_bytes(method.as_bytes()).map_err(|_| wrong("the method", method))?;
    let url = text(args, "url").unwrap_or_default();
    let address = Url::parse(url).map_err(|error| wrong("the address", &format!("{url}: {error}")))?;
    let mut filling = Filling::to(secrets, address.host_str().unwrap_or_default());
    let headers = headers(args.get("headers"), &mut filling)?;
    let request = client(args.get("proxy"))?.request(method, address).headers(headers);
    let request = match args.get("body") {
        Some(Value::String(text)) => request.body(filling.fill(text)?),
        Some(body) if !body.is_null() => request.body(bytes_of(body)?),
        _ => request,
    };
    let request = match args.get("timeout_ms").and_then(Value::as_u64) {
        Some(ms) => request.timeout(Duration::from_millis(ms)),
        None => request,
    };
    Ok((request, filling))
}

/// Connections are shared by all scripts of the process that use the same proxy.
fn client(proxy: Option<&Value>) -> Result<reqwest::Client, ToolFailure> {
    static COMMON: OnceLock<Transport> = OnceLock::new();
    let built = |proxy: Proxy| {
        let ca_file = std::env::var_os("HARN_CA_FILE").filter(|file| !file.is_empty()).map(Into::into);
        let options = TransportOptions { ca_file, proxy, ..TransportOptions::default() };
        Transport::new(&options).map_err(|error| ToolFailure::new(error.to_string()))
    };
    let transport = match proxy {
        Some(Value::String(url)) => built(Proxy::Url { url: url.clone(), except: String::new() })?,
        _ => match COMMON.get() {
            Some(transport) => transport.clone(),
            None => {
                let transport = built(Proxy::Environment)?;
                COMMON.get_or_init(|| transport).clone()
            }
        },
    };
    Ok(transport.client())
}

pub fn headers(given: Option<&Value>, filling: &mut Filling<'_>) -> Result<HeaderMap, ToolFailure> {
    let mut headers = HeaderMap::new();
    for (name, value) in given.and_then(Value::as_object).into_iter().flatten() {
        let value = filling.fill(&value.as_str().map_or_else(|| value.to_string(), str::to_owned))?;
        let named = HeaderName::from_bytes(name.as_bytes()).map_err(|_| wrong("the header", name))?;
        let mut value = HeaderValue::from_str(&value).map_err(|_| wrong("the value of the header", name))?;
        value.set_sensitive(true);
        headers.append(named, value);
    }
    Ok(headers)
}

/// Names in small letters; of several values one text with commas.
pub fn shown_headers(headers: &HeaderMap) -> Value {
    let mut shown = Map::new();
    for name in headers.keys() {
        let values: Vec<_> =
            headers.get_all(name).iter().map(|value| String::from_utf8_lossy(value.as_bytes())).collect();
        shown.insert(name.as_str().to_owned(), values.join(", ").into());
    }
    Value::Object(shown)
}

/// Text as it is, bytes in their tagged form.
pub fn bytes_of(value: &Value) -> Result<Vec<u8>, ToolFailure> {
    match value {
        Value::String(text) => Ok(text.clone().into_bytes()),
        tagged => {
            let coded = tagged["$bytes"].as_str().and_then(|coded| STANDARD.decode(coded).ok());
            coded.ok_or_else(|| ToolFailure::new("a body is text or bytes"))
        }
    }
}

pub fn tagged(bytes: &[u8]) -> Value {
    json!({ "$bytes": STANDARD.encode(bytes) })
}

pub fn text<'a>(args: &'a Map<String, Value>, name: &str) -> Option<&'a str> {
    args.get(name).and_then(Value::as_str)
}

fn wrong(what: &str, given: &str) -> ToolFailure {
    ToolFailure::categorised("invalid_request", format!("{what} is not valid: {given}"))
}

/// Why an exchange came to nothing. The address is left out: it may hold a secret.
pub fn failed(error: reqwest::Error) -> ToolFailure {
    let category = match () {
        () if error.is_timeout() => "timeout",
        () if error.is_connect() || error.is_body() || error.is_request() => "transient_network",
        () => "generic",
    };
    let host = error.url().and_then(Url::host_str).map(|host| format!(" to {host}")).unwrap_or_default();
    let timed_out = if error.is_timeout() { "timed out: " } else { "" };
    let error = error.without_url();
    let mut message = format!("HTTP request{host} failed: {timed_out}{error}");
    let mut cause = std::error::Error::source(&error);
    while let Some(inner) = cause {
        message.push_str(&format!(": {inner}"));
        cause = inner.source();
    }
    ToolFailure::categorised(category, message)
}
