//! A model behind HTTP: what it is made of, and how its requests are put together.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::{StreamExt, stream};
use harn_core::chat::{ModelRef, ModelRequest};
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};

use super::answer::Call;
use super::limiter::Limiter;
use super::retry::RetryPolicy;
use super::transport::Transport;
use crate::{Auth, Codec, Credential, Framing, HttpCall, Model, ModelCard, ModelError, ModelStream, Target};

/// How long is waited, how much is read, how often is tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HttpOptions {
    /// From the request to the first byte of the answer's content.
    pub first_byte: Duration,
    /// Between two pieces of an answer.
    pub stall: Duration,
    /// For a whole answer.
    pub answer: Duration,
    /// Bytes of a whole answer, unpacked.
    pub answer_limit: u64,
    pub retry: RetryPolicy,
}

impl Default for HttpOptions {
    fn default() -> Self {
        Self {
            first_byte: Duration::from_secs(120),
            stall: Duration::from_secs(60),
            answer: Duration::from_secs(30 * 60),
            answer_limit: 64 * 1024 * 1024,
            retry: RetryPolicy::default(),
        }
    }
}

/// A wire format, a target and a credential, put to work.
#[derive(Clone)]
pub struct HttpModel(Arc<Parts>);

#[derive(Clone)]
pub(super) struct Parts {
    pub codec: Arc<dyn Codec>,
    pub target: Target,
    pub credential: Credential,
    pub transport: Transport,
    pub limiter: Limiter,
    pub card: ModelCard,
    pub options: HttpOptions,
}

impl HttpModel {
    pub fn new(codec: Arc<dyn Codec>, target: Target, credential: Credential, transport: Transport) -> Self {
        Self(Arc::new(Parts {
            codec,
            target,
            credential,
            transport,
            limiter: Limiter::default(),
            card: ModelCard::default(),
            options: HttpOptions::default(),
        }))
    }

    #[must_use]
    pub fn with_options(mut self, options: HttpOptions) -> Self {
        Arc::make_mut(&mut self.0).options = options;
        self
    }

    /// Models of one provider share a limiter.
    #[must_use]
    pub fn with_limiter(mut self, limiter: Limiter) -> Self {
        Arc::make_mut(&mut self.0).limiter = limiter;
        self
    }

    #[must_use]
    pub fn with_card(mut self, card: ModelCard) -> Self {
        Arc::make_mut(&mut self.0).card = card;
        self
    }
}

impl Model for HttpModel {
    fn reference(&self) -> ModelRef {
        ModelRef { provider: self.0.target.provider.clone(), model: self.0.target.model.clone() }
    }

    fn card(&self) -> ModelCard {
        self.0.card
    }

    fn stream(&self, request: ModelRequest) -> ModelStream {
        stream::unfold(Call::new(Arc::clone(&self.0), request), Call::step).boxed()
    }
}

/// A request as it goes out, made once and sent as often as needed.
pub(super) struct Outgoing {
    pub url: String,
    pub headers: HeaderMap,
    pub body: Bytes,
    pub framing: Framing,
}

impl Parts {
    pub fn outgoing(&self, request: &ModelRequest) -> Result<Outgoing, ModelError> {
        let HttpCall { path, headers, mut body, framing } = self.codec.call(request, &self.target)?;
        if let Some(body) = body.as_object_mut() {
            body.extend(self.target.extra_body.clone());
        }
        let body = serde_json::to_vec(&body).map_err(|error| ModelError::InvalidRequest {
            message: format!("it cannot be written: {error}"),
        })?;
        let mut map = HeaderMap::new();
        map.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        map.insert(ACCEPT, HeaderValue::from_static(accepted(framing)));
        for (name, value) in headers.iter().chain(&self.target.headers) {
            let (name, value) = header(name, value)?;
            map.insert(name, value);
        }
        self.authorise(&mut map)?;
        Ok(Outgoing { url: self.target.url(&path), headers: map, body: body.into(), framing })
    }

    fn authorise(&self, headers: &mut HeaderMap) -> Result<(), ModelError> {
        let (name, prefix) = match &self.target.auth {
            Auth::None => return Ok(()),
            Auth::Bearer => (AUTHORIZATION, "Bearer "),
            Auth::Header(name) => (header(name, "")?.0, ""),
        };
        let variable = self.credential.variable();
        let Some(secret) = self.credential.secret() else {
            let message = format!("there is no key for {}; set {variable}", self.target.provider);
            return Err(ModelError::Auth { message });
        };
        let mut value =
            HeaderValue::from_str(&format!("{prefix}{secret}")).map_err(|_| ModelError::Auth {
                message: format!("the key in {variable} holds a character that no key has; copy it again"),
            })?;
        value.set_sensitive(true);
        headers.insert(name, value);
        Ok(())
    }

    /// The error without the key in it, and with what to do.
    pub fn present(&self, error: ModelError) -> ModelError {
        let message = self.credential.scrub(error.message());
        let variable = self.credential.variable();
        let advice = match &error {
            ModelError::Auth { .. } if !variable.is_empty() && !message.contains(variable) => {
                format!("; check the key in {variable}")
            }
            ModelError::NotFound { .. } => {
                format!(
                    "; check the model `{}` and the base URL {}",
                    self.target.model,
                    self.target.shown_url()
                )
            }
            _ => String::new(),
        };
        error.with_message(message + &advice)
    }
}

fn accepted(framing: Framing) -> &'static str {
    match framing {
        Framing::Events => "text/event-stream, application/json",
        Framing::Lines => "application/x-ndjson, application/json",
        Framing::Whole => "application/json",
    }
}

fn header(name: &str, value: &str) -> Result<(HeaderName, HeaderValue), ModelError> {
    let refused =
        |_| format!("the header `{}` cannot be sent; correct it in the configuration", name.escape_debug());
    let parsed = name
        .parse::<HeaderName>()
        .map_err(|_| refused(()))
        .and_then(|name| HeaderValue::from_str(value).map(|value| (name, value)).map_err(|_| refused(())));
    parsed.map_err(|message| ModelError::InvalidRequest { message })
}
