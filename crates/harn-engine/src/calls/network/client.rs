//! The connections of scripts, and a request made from the dict that a program sends.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use harn_model::{Proxy, Transport, TransportOptions, Versions};
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use reqwest::{Method, RequestBuilder, Url};
use serde_json::{Map, Value};

use crate::calls::args::{self, Args, word};
use crate::secrets::{Filling, SecretError, Secrets, Sink, refuse};
use crate::tools::ToolFailure;

impl From<SecretError> for ToolFailure {
    fn from(error: SecretError) -> Self {
        let category = match error {
            SecretError::Place { .. } => "permission_denied",
            SecretError::Unknown(_) => "not_found",
            _ => "generic",
        };
        Self::categorised(category, error.to_string())
    }
}

/// What a response may have when a program says nothing.
pub const MOST_BYTES: u64 = 64 << 20;

/// A request that is ready to be sent, with the secrets that are in it.
pub fn request(secrets: &Arc<Secrets>, args: &Args) -> Result<(RequestBuilder, Filling), ToolFailure> {
    let method = args.get("method").and_then(Value::as_str).unwrap_or("GET");
    let method = Method::from_bytes(method.as_bytes()).map_err(|_| wrong("the method", method))?;
    // A WebSocket begins as a request.
    let (url, versions) = match word(args, "url").strip_prefix("ws") {
        Some(rest) => (format!("http{rest}"), Versions::One),
        None => (word(args, "url").to_owned(), Versions::All),
    };
    let parsed = |text: &str| {
        Url::parse(text).map_err(|error| wrong("the address", &format!("{}: {error}", word(args, "url"))))
    };
    let host = parsed(&url)?.host_str().unwrap_or_default().to_owned();
    let mut filling = Filling::to(secrets, Sink::Host(host));
    let address = parsed(&filling.fill_address(&url)?)?;
    let headers = headers(args.get("headers"), &mut filling)?;
    let proxy = args.get("proxy").filter(|proxy| !proxy.is_null());
    proxy.map_or(Ok(()), |proxy| refuse(proxy, "a proxy"))?;
    let request = client(proxy, versions)?.request(method, address).headers(headers);
    let request = match args.get("body").filter(|body| !body.is_null()) {
        Some(content) => request.body(body(content, &mut filling)?),
        None => request,
    };
    let request = match args.get("timeout_ms").and_then(Value::as_u64) {
        Some(ms) => request.timeout(Duration::from_millis(ms)),
        None => request,
    };
    Ok((request, filling))
}

/// The same for an answer without an end that could be waited for: a time limit is only on its beginning.
pub fn endless(secrets: &Arc<Secrets>, args: &Args) -> Result<(RequestBuilder, Filling), ToolFailure> {
    let mut args = args.clone();
    args.remove("timeout_ms");
    request(secrets, &args)
}

/// Connections are shared by all scripts of the process that use the same proxy.
fn client(proxy: Option<&Value>, versions: Versions) -> Result<reqwest::Client, ToolFailure> {
    static COMMON: OnceLock<Transport> = OnceLock::new();
    static FOR_SOCKETS: OnceLock<Transport> = OnceLock::new();
    let built = |proxy: Proxy| {
        let ca_file = std::env::var_os("HARN_CA_FILE").filter(|file| !file.is_empty()).map(Into::into);
        let options = TransportOptions { ca_file, proxy, versions, ..TransportOptions::default() };
        Transport::new(&options).map_err(|error| ToolFailure::new(error.to_string()))
    };
    if let Some(Value::String(url)) = proxy {
        return Ok(built(Proxy::Url { url: url.clone(), except: String::new() })?.client());
    }
    let shared = if versions == Versions::All { &COMMON } else { &FOR_SOCKETS };
    match shared.get() {
        Some(transport) => Ok(transport.client()),
        None => {
            let transport = built(Proxy::Environment)?;
            Ok(shared.get_or_init(|| transport).client())
        }
    }
}

fn headers(given: Option<&Value>, filling: &mut Filling) -> Result<HeaderMap, ToolFailure> {
    let mut headers = HeaderMap::new();
    for (name, value) in given.and_then(Value::as_object).into_iter().flatten() {
        let value = filling.fill_header(&value.as_str().map_or_else(|| value.to_string(), str::to_owned))?;
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

/// What is sent: text as it is, bytes from their tagged form, with the secrets that they name.
pub fn body(content: &Value, filling: &mut Filling) -> Result<Vec<u8>, ToolFailure> {
    let plain = match content {
        Value::String(text) => return Ok(filling.fill(text)?.into_bytes()),
        tagged => args::bytes_of(tagged).ok_or_else(|| ToolFailure::new("a body is text or bytes"))?,
    };
    match String::from_utf8(plain) {
        Ok(text) => Ok(filling.fill(&text)?.into_bytes()),
        Err(binary) => {
            refuse(&String::from_utf8_lossy(binary.as_bytes()).into(), "what is no text")?;
            Ok(binary.into_bytes())
        }
    }
}

fn wrong(what: &str, given: &str) -> ToolFailure {
    ToolFailure::categorised("invalid_request", format!("{what} is not valid: {given}"))
}

/// Why an exchange came to nothing. The address is left out: it may hold a secret.
pub fn failed(error: reqwest::Error) -> ToolFailure {
    let category = match () {
        () if error.is_timeout() => "timeout",
        // A body that ends too early is an error of decoding.
        () if error.is_connect() || error.is_request() || error.is_body() || error.is_decode() => {
            "transient_network"
        }
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
