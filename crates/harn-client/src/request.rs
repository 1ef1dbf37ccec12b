//! Builds one request, sends it, and reads the answer or opens the stream of events.

use std::time::{Duration, Instant};

use bytes::Bytes;
use harn_core::PROTOCOL_VERSION;
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::body::Incoming;
use hyper::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HOST, HeaderMap, HeaderName, HeaderValue};
use hyper::{Method, Request, Response, Uri};
use serde::Serialize;

use crate::connect::Connection;
use crate::{Answer, Client, ClientError, EventStream, IDEMPOTENCY_HEADER, VERSION_HEADER};

const TIMEOUT: Duration = Duration::from_secs(30);
const BODY_LIMIT: usize = 64 * 1024 * 1024;

/// A request in the making. What is wrong with it is said by `send` or `events`.
pub struct RequestBuilder {
    client: Client,
    method: Method,
    target: String,
    headers: HeaderMap,
    body: Bytes,
    timeout: Duration,
    body_limit: usize,
    invalid: Option<String>,
}

/// What happened to a request that got no response.
enum Lost {
    /// Not one byte of it was taken: it may go over another connection.
    Unsent,
    Sent(hyper::Error),
}

impl RequestBuilder {
    pub(crate) fn new(client: Client, method: Method, path: &str) -> RequestBuilder {
        let mut builder = RequestBuilder {
            target: format!("{}{path}", client.prefix()),
            method,
            headers: HeaderMap::new(),
            body: Bytes::new(),
            timeout: TIMEOUT,
            body_limit: BODY_LIMIT,
            invalid: None,
            client,
        };
        if let Some(secret) = builder.client.secret() {
            builder.headers.insert(AUTHORIZATION, secret.bearer());
        }
        let authority = builder.client.address().authority();
        builder
            .header(HOST.as_str(), &authority)
            .header(VERSION_HEADER, PROTOCOL_VERSION)
            .header(ACCEPT.as_str(), "application/json")
    }

    /// Sets a header; one of the same name that was there is replaced.
    pub fn header(mut self, name: &str, value: &str) -> RequestBuilder {
        match (HeaderName::from_bytes(name.as_bytes()), HeaderValue::from_str(value)) {
            (Ok(name), Ok(mut value)) => {
                value.set_sensitive(name == AUTHORIZATION);
                self.headers.insert(name, value);
            }
            // The value is not shown: it may be a key.
            _ => self.refuse(format!("the header {name:?} or its value cannot be sent; use visible ASCII")),
        }
        self
    }

    pub fn without_header(mut self, name: &str) -> RequestBuilder {
        if let Ok(name) = HeaderName::from_bytes(name.as_bytes()) {
            self.headers.remove(name);
        }
        self
    }

    pub fn json(mut self, body: &impl Serialize) -> RequestBuilder {
        match serde_json::to_vec(body) {
            Ok(bytes) => self.body(bytes.into(), "application/json"),
            Err(cause) => {
                self.refuse(format!("the request body cannot be written as JSON: {cause}"));
                self
            }
        }
    }

    pub fn body(mut self, body: Bytes, content_type: &str) -> RequestBuilder {
        self.body = body;
        self.header(CONTENT_TYPE.as_str(), content_type)
    }

    pub fn idempotency_key(self, key: &str) -> RequestBuilder {
        self.header(IDEMPOTENCY_HEADER, key)
    }

    pub fn query(mut self, pairs: &[(&str, &str)]) -> RequestBuilder {
        for (name, value) in pairs {
            self.target.push(if self.target.contains('?') { '&' } else { '?' });
            encode(name, &mut self.target);
            self.target.push('=');
            encode(value, &mut self.target);
        }
        self
    }

    /// For `send` the time of the whole exchange, for `events` that until the stream begins.
    pub fn timeout(mut self, timeout: Duration) -> RequestBuilder {
        self.timeout = timeout;
        self
    }

    /// How large the answer's body may be.
    pub fn body_limit(mut self, bytes: usize) -> RequestBuilder {
        self.body_limit = bytes;
        self
    }

    pub async fn send(self) -> Result<Answer, ClientError> {
        let started = Instant::now();
        self.within(async {
            let (response, connection) = self.exchange().await?;
            let answer = self.collect(response, started).await?;
            self.client.keep_idle(connection);
            Ok(answer)
        })
        .await
    }

    /// Opens a stream of server-sent events. It has no time limit once it has begun.
    pub async fn events(self) -> Result<EventStream, ClientError> {
        let started = Instant::now();
        let this = self.header(ACCEPT.as_str(), "text/event-stream");
        this.within(async {
            let (response, connection) = this.exchange().await?;
            let content_type = response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
            let content_type = content_type.unwrap_or_default().to_owned();
            if response.status().is_success() && content_type.starts_with("text/event-stream") {
                return Ok(EventStream::new(response.into_body(), connection));
            }
            let answer = this.collect(response, started).await?.ok()?;
            Err(ClientError::Protocol(format!(
                "{} answered {} with content type {content_type:?} instead of text/event-stream; \
                 check the path",
                this.target, answer.status
            )))
        })
        .await
    }

    async fn within<T>(&self, work: impl Future<Output = Result<T, ClientError>>) -> Result<T, ClientError> {
        tokio::time::timeout(self.timeout, work)
            .await
            .unwrap_or_else(|_| Err(ClientError::Timeout { url: self.url(), after: self.timeout }))
    }

    async fn exchange(&self) -> Result<(Response<Incoming>, Connection), ClientError> {
        let request = self.request()?;
        if let Some(connection) = self.client.take_idle() {
            match attempt(connection, request.clone()).await {
                Ok(done) => return Ok(done),
                Err(Lost::Sent(cause)) if !self.repeatable() => return Err(self.broken(&cause)),
                Err(_) => {}
            }
        }
        let connection = self.client.address().connect().await?;
        attempt(connection, request).await.map_err(|lost| match lost {
            Lost::Unsent => ClientError::Unreachable {
                url: self.url(),
                cause: "the connection closed before the request was sent".into(),
            },
            Lost::Sent(cause) => self.broken(&cause),
        })
    }

    /// An idle connection may have died unnoticed. Only what is safe to do twice is sent twice.
    fn repeatable(&self) -> bool {
        self.method.is_idempotent() || self.headers.contains_key(IDEMPOTENCY_HEADER)
    }

    fn request(&self) -> Result<Request<Full<Bytes>>, ClientError> {
        if let Some(why) = &self.invalid {
            return Err(ClientError::Invalid(why.clone()));
        }
        let target: Uri = self.target.parse().map_err(|_| {
            ClientError::Invalid(format!("{:?} is not a path; encode what is not ASCII", self.target))
        })?;
        let mut request = Request::new(Full::new(self.body.clone()));
        *request.method_mut() = self.method.clone();
        *request.uri_mut() = target;
        *request.headers_mut() = self.headers.clone();
        Ok(request)
    }

    async fn collect(&self, response: Response<Incoming>, started: Instant) -> Result<Answer, ClientError> {
        let (head, body) = response.into_parts();
        let body = Limited::new(body, self.body_limit).collect().await.map_err(|cause| {
            if cause.is::<LengthLimitError>() {
                ClientError::Protocol(format!(
                    "the answer of {} is larger than {} bytes; ask for less, with a limit",
                    self.target, self.body_limit
                ))
            } else {
                ClientError::Protocol(format!("the answer of {} broke off: {cause}; repeat it", self.target))
            }
        })?;
        Ok(Answer {
            status: head.status.as_u16(),
            headers: head.headers,
            body: body.to_bytes(),
            elapsed: started.elapsed(),
            secret: self.client.secret().cloned(),
        })
    }

    fn broken(&self, cause: &hyper::Error) -> ClientError {
        if cause.is_parse() {
            return ClientError::Protocol(format!(
                "{} does not answer in HTTP ({cause}); check the address",
                self.url()
            ));
        }
        ClientError::Unreachable {
            url: self.url(),
            cause: format!(
                "the connection broke before the answer ({cause}), so the request may have been carried out"
            ),
        }
    }

    fn url(&self) -> String {
        self.client.address().name()
    }

    fn refuse(&mut self, why: String) {
        self.invalid.get_or_insert(why);
    }
}

async fn attempt(
    mut connection: Connection,
    request: Request<Full<Bytes>>,
) -> Result<(Response<Incoming>, Connection), Lost> {
    if connection.sender.ready().await.is_err() {
        return Err(Lost::Unsent);
    }
    match connection.sender.try_send_request(request).await {
        Ok(response) => Ok((response, connection)),
        Err(mut lost) => Err(match lost.take_message() {
            Some(_) => Lost::Unsent,
            None => Lost::Sent(lost.into_error()),
        }),
    }
}

/// Percent-encodes all but the unreserved characters of RFC 3986.
fn encode(text: &str, target: &mut String) {
    const HEX: &[u8; 16] = b"0123456789ABCDEF";
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            target.push(char::from(byte));
        } else {
            target.push('%');
            target.push(char::from(HEX[usize::from(byte >> 4)]));
            target.push(char::from(HEX[usize::from(byte & 15)]));
        }
    }
}
