//! One request in the making.

use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Method, Response};
use serde_json::Value;

use super::{Answer, Api, EventStream, PATIENCE, PROTOCOL_VERSION, VERSION_HEADER};

/// A request with the usual headers, to be changed and sent.
#[must_use]
pub struct Call<'a> {
    api: &'a Api,
    method: Method,
    path: String,
    headers: HeaderMap,
    body: Option<Vec<u8>>,
}

impl<'a> Call<'a> {
    pub(super) fn new(api: &'a Api, method: Method, path: &str) -> Self {
        let call = Self { api, method, path: path.to_owned(), headers: HeaderMap::new(), body: None };
        let call = call.header(ACCEPT.as_str(), "application/json").version(PROTOCOL_VERSION);
        match &api.key {
            Some(key) => call.key(key),
            None => call,
        }
    }

    /// Sets a header, in place of an earlier value.
    pub fn header(mut self, name: &str, value: &str) -> Self {
        let name: HeaderName = name.parse().expect("a header name");
        self.headers.insert(name, HeaderValue::from_str(value).expect("a header value"));
        self
    }

    pub fn without_header(mut self, name: &str) -> Self {
        self.headers.remove(name);
        self
    }

    pub fn version(self, version: &str) -> Self {
        self.header(VERSION_HEADER, version)
    }

    pub fn without_version(self) -> Self {
        self.without_header(VERSION_HEADER)
    }

    pub fn key(self, key: &str) -> Self {
        self.header(AUTHORIZATION.as_str(), &format!("Bearer {key}"))
    }

    pub fn without_key(self) -> Self {
        self.without_header(AUTHORIZATION.as_str())
    }

    pub fn idempotency_key(self, key: &str) -> Self {
        self.header("Idempotency-Key", key)
    }

    pub fn json(self, body: &Value) -> Self {
        self.bytes(body.to_string(), "application/json")
    }

    /// A body of exactly these bytes, which need not be what the content type says.
    pub fn bytes(mut self, body: impl Into<Vec<u8>>, content_type: &str) -> Self {
        self.body = Some(body.into());
        self.header(CONTENT_TYPE.as_str(), content_type)
    }

    /// Sends the request and judges the answer.
    ///
    /// # Panics
    /// When there is no answer, or when it breaks the contract.
    pub async fn send(self) -> Answer {
        let (api, method, path) = (self.api, self.method.clone(), self.path.clone());
        let whole = async { Answer::read(&method, &path, self.start().await).await };
        let answer = tokio::time::timeout(PATIENCE, whole).await;
        let answer =
            answer.unwrap_or_else(|_| panic!("{method} {path}: no whole answer within {PATIENCE:?}"));
        answer.judge(api.contract.as_deref());
        answer
    }

    pub(super) async fn open(self) -> EventStream {
        let (api, method, path) = (self.api, self.method.clone(), self.path.clone());
        let response = tokio::time::timeout(PATIENCE, self.start()).await;
        let response = response.unwrap_or_else(|_| panic!("{method} {path}: no headers within {PATIENCE:?}"));
        let content_type = response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
        if response.status() != 200
            || !content_type.is_some_and(|given| given.starts_with("text/event-stream"))
        {
            let answer = Answer::read(&method, &path, response).await;
            answer.judge(api.contract.as_deref());
            panic!("not a stream of events: {answer}");
        }
        EventStream::new(response, path, api.contract.clone())
    }

    async fn start(self) -> Response {
        let url = format!("{}{}", self.api.base, self.path);
        let mut request = self.api.http.request(self.method.clone(), &url).headers(self.headers);
        if let Some(body) = self.body {
            request = request.body(body);
        }
        request.send().await.unwrap_or_else(|error| panic!("{} {url}: {error}", self.method))
    }
}
