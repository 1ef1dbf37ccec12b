//! The HTTP client that models share: certificates, proxies, and what it means when a host cannot be reached.

use std::error::Error as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use reqwest::redirect::Policy;

use crate::ModelError;

/// How connections are made.
#[derive(Clone, Debug)]
pub struct TransportOptions {
    /// Certificates in PEM that are trusted beside those of the system.
    pub ca_file: Option<PathBuf>,
    pub proxy: Proxy,
    pub versions: Versions,
    pub connect_timeout: Duration,
}

impl Default for TransportOptions {
    fn default() -> Self {
        let (proxy, versions) = (Proxy::Environment, Versions::All);
        Self { ca_file: None, proxy, versions, connect_timeout: Duration::from_secs(15) }
    }
}

/// Which versions of HTTP are spoken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Versions {
    All,
    /// Version 1.1, whose connections can go on with another protocol.
    One,
}

/// Which proxy stands between.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Proxy {
    /// What `HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY` and `NO_PROXY` say.
    Environment,
    None,
    /// This one, but for the hosts of `except` (comma-separated, as in `NO_PROXY`).
    Url {
        url: String,
        except: String,
    },
}

#[derive(Debug, thiserror::Error)]
pub enum TransportError {
    #[error("the certificate file {file} cannot be read: {source}")]
    UnreadableCertificates { file: String, source: std::io::Error },
    #[error("the certificate file {file} holds no certificate in PEM form: {message}")]
    InvalidCertificates { file: String, message: String },
    #[error("the proxy address is not valid: {message}; write it as http://host:port")]
    InvalidProxy { message: String },
    #[error("the HTTP client could not be set up: {message}")]
    Client { message: String },
}

/// Connections to providers. Cheap to clone; clones share their connections.
#[derive(Clone)]
pub struct Transport {
    pub(crate) client: reqwest::Client,
}

impl Transport {
    pub fn new(options: &TransportOptions) -> Result<Self, TransportError> {
        // Fails when a provider is installed already, which is as good.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let extra = options.ca_file.as_deref().map(certificates).transpose()?.unwrap_or_default();
        let client = match builder(options)?.tls_certs_merge(extra.clone()).build() {
            Ok(client) => client,
            Err(error) => {
                // A machine without certificates of its own, such as a bare container, can still reach local servers.
                let cause = chain(&error);
                tracing::warn!(
                    cause,
                    "the certificates of this machine cannot be used; only those of the CA file are"
                );
                let own = builder(options)?.tls_certs_only(extra).build();
                own.map_err(|error| TransportError::Client { message: chain(&error) })?
            }
        };
        Ok(Self { client })
    }

    /// The client itself, for requests that are none to a provider. It follows no redirects.
    pub fn client(&self) -> reqwest::Client {
        self.client.clone()
    }
}

fn builder(options: &TransportOptions) -> Result<reqwest::ClientBuilder, TransportError> {
    let builder = reqwest::Client::builder()
        .user_agent(concat!("harn/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(options.connect_timeout)
        .tcp_keepalive(Duration::from_secs(30))
        .pool_idle_timeout(Duration::from_secs(90))
        // A redirect could carry the key to another host.
        .redirect(Policy::none());
    let builder = match options.versions {
        Versions::All => builder,
        Versions::One => builder.http1_only(),
    };
    with_proxy(builder, &options.proxy)
}

fn with_proxy(
    builder: reqwest::ClientBuilder,
    proxy: &Proxy,
) -> Result<reqwest::ClientBuilder, TransportError> {
    match proxy {
        Proxy::Environment => Ok(builder),
        Proxy::None => Ok(builder.no_proxy()),
        Proxy::Url { url, except } => {
            let proxy = reqwest::Proxy::all(url)
                .map_err(|error| TransportError::InvalidProxy { message: chain(&error.without_url()) })?;
            Ok(builder.proxy(proxy.no_proxy(reqwest::NoProxy::from_string(except))))
        }
    }
}

fn certificates(file: &Path) -> Result<Vec<reqwest::Certificate>, TransportError> {
    let name = file.display().to_string();
    let pem = std::fs::read(file)
        .map_err(|source| TransportError::UnreadableCertificates { file: name.clone(), source })?;
    let invalid = |message: String| TransportError::InvalidCertificates { file: name.clone(), message };
    match reqwest::Certificate::from_pem_bundle(&pem) {
        Ok(found) if found.is_empty() => Err(invalid("it is empty".into())),
        Ok(found) => Ok(found),
        Err(error) => Err(invalid(chain(&error))),
    }
}

/// Why no answer came, and what to do about it.
pub(super) fn unreachable(error: reqwest::Error, base_url: &str) -> ModelError {
    let timed_out = error.is_timeout();
    let cause = chain(&error.without_url());
    if timed_out {
        return ModelError::Timeout { message: format!("{base_url}: {cause}") };
    }
    let advice = ADVICE.iter().find(|(sign, _)| cause.to_ascii_lowercase().contains(sign));
    let advice = advice.map_or("check the network and the base URL", |(_, advice)| *advice);
    ModelError::Network { message: format!("{base_url}: {cause}; {advice}") }
}

/// Signs in the words of the libraries below us, none of which offers a type for them; the first match counts.
const ADVICE: &[(&str, &str)] = &[
    ("expired", "its certificate has expired: check this machine's clock, else tell the provider"),
    ("notvalidyet", "its certificate is not valid yet: check this machine's clock"),
    ("not valid yet", "its certificate is not valid yet: check this machine's clock"),
    (
        "unknownissuer",
        "nobody that this machine trusts signed its certificate: behind an inspecting proxy or with a private \
         authority, name its certificates in the CA file",
    ),
    ("notvalidforname", "its certificate is for another host: check the base URL"),
    ("not valid for name", "its certificate is for another host: check the base URL"),
    ("invalid peer certificate", "its certificate is not trusted: check the base URL and the CA file"),
    ("corrupt message", "it does not speak TLS: does the base URL begin with http:// instead?"),
    ("tunnel", "the proxy did not let the connection through: check HTTPS_PROXY and NO_PROXY"),
    ("proxy", "check HTTPS_PROXY and NO_PROXY"),
    ("dns error", "the host name is not known: check the base URL, and that this machine is online"),
    ("connection refused", "nothing listens there: is the server running, and is the base URL right?"),
    ("builder error", "the base URL is not valid: write it as https://host"),
];

/// An error with all its causes: the outermost alone says next to nothing.
pub(super) fn chain(error: &reqwest::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let words = cause.to_string();
        if !text.contains(&words) {
            text.push_str(": ");
            text.push_str(&words);
        }
        source = cause.source();
    }
    text
}
