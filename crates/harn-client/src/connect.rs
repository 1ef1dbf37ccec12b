//! From an address to a connection that speaks HTTP/1.1.

use std::path::PathBuf;
use std::sync::Arc;

use bytes::Bytes;
use http_body_util::Full;
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use tokio::io::{AsyncRead, AsyncWrite, DuplexStream};
use tokio::net::{TcpStream, UnixStream};
use tokio::task::JoinHandle;
use tokio_rustls::TlsConnector;

use crate::ClientError;

pub(crate) trait ByteStream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<S: AsyncRead + AsyncWrite + Send + Unpin> ByteStream for S {}

type InProcess = dyn Fn() -> DuplexStream + Send + Sync;

#[derive(Clone)]
pub(crate) enum Address {
    Tcp { host: String, port: u16 },
    Tls { host: String, port: u16, trust: Trust },
    Socket(PathBuf),
    InProcess(Arc<InProcess>),
}

/// One connection. Dropping it ends the task that moves its bytes.
pub(crate) struct Connection {
    pub(crate) sender: SendRequest<Full<Bytes>>,
    driver: JoinHandle<()>,
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.driver.abort();
    }
}

impl Address {
    /// How messages name this address.
    pub(crate) fn name(&self) -> String {
        match self {
            Address::Tcp { host, port } => format!("http://{host}:{port}"),
            Address::Tls { host, port, .. } => format!("https://{host}:{port}"),
            Address::Socket(path) => format!("socket {}", path.display()),
            Address::InProcess(_) => "the server in this process".into(),
        }
    }

    /// The value of the Host header.
    pub(crate) fn authority(&self) -> String {
        match self {
            Address::Tcp { host, port: 80 } | Address::Tls { host, port: 443, .. } => host.clone(),
            Address::Tcp { host, port } | Address::Tls { host, port, .. } => format!("{host}:{port}"),
            Address::Socket(_) | Address::InProcess(_) => "localhost".into(),
        }
    }

    pub(crate) async fn connect(&self) -> Result<Connection, ClientError> {
        let stream = self.open().await?;
        let (sender, connection) = http1::handshake(TokioIo::new(stream))
            .await
            .map_err(|cause| self.unreachable(cause.to_string()))?;
        // A failure of the connection also reaches the request that waits on it.
        let driver = tokio::spawn(async move { drop(connection.await) });
        Ok(Connection { sender, driver })
    }

    async fn open(&self) -> Result<Box<dyn ByteStream>, ClientError> {
        match self {
            Address::Tcp { host, port } => Ok(Box::new(self.tcp(host, *port).await?)),
            Address::Tls { host, port, trust } => {
                let stream = self.tcp(host, *port).await?;
                let failed = |cause: String| ClientError::Tls { url: self.name(), cause };
                let name =
                    ServerName::try_from(bare(host).to_owned()).map_err(|cause| failed(cause.to_string()))?;
                let connector = TlsConnector::from(trust.config.clone());
                let stream =
                    connector.connect(name, stream).await.map_err(|cause| failed(cause.to_string()))?;
                Ok(Box::new(stream))
            }
            Address::Socket(path) => {
                let stream = UnixStream::connect(path).await;
                Ok(Box::new(stream.map_err(|cause| self.unreachable(cause.to_string()))?))
            }
            Address::InProcess(connect) => Ok(Box::new(connect())),
        }
    }

    async fn tcp(&self, host: &str, port: u16) -> Result<TcpStream, ClientError> {
        let stream = TcpStream::connect((bare(host), port))
            .await
            .map_err(|cause| self.unreachable(cause.to_string()))?;
        // Small requests wait for nothing; a socket that cannot do this works all the same.
        drop(stream.set_nodelay(true));
        Ok(stream)
    }

    fn unreachable(&self, cause: String) -> ClientError {
        ClientError::Unreachable { url: self.name(), cause }
    }
}

/// An IPv6 address is in brackets in a URL, and only there.
fn bare(host: &str) -> &str {
    host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host)
}

/// Whose certificates are believed.
#[derive(Clone)]
pub(crate) struct Trust {
    roots: rustls::RootCertStore,
    config: Arc<rustls::ClientConfig>,
}

impl Trust {
    /// The authorities of the machine. None at all is no error yet: one may be added.
    pub(crate) fn native() -> Result<Trust, ClientError> {
        let mut roots = rustls::RootCertStore::empty();
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        Trust::with_roots(roots)
    }

    pub(crate) fn and(mut self, pem: &[u8]) -> Result<Trust, ClientError> {
        let unusable = |cause: String| {
            ClientError::Invalid(format!(
                "the certificate authority cannot be used: {cause}; give a PEM file with a \
                 BEGIN CERTIFICATE block"
            ))
        };
        let mut added = 0;
        for certificate in CertificateDer::pem_slice_iter(pem) {
            let certificate = certificate.map_err(|cause| unusable(cause.to_string()))?;
            self.roots.add(certificate).map_err(|cause| unusable(cause.to_string()))?;
            added += 1;
        }
        match added {
            0 => Err(unusable("it holds no certificate".into())),
            _ => Trust::with_roots(self.roots),
        }
    }

    fn with_roots(roots: rustls::RootCertStore) -> Result<Trust, ClientError> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = rustls::ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|cause| ClientError::Invalid(format!("this machine's TLS cannot be set up: {cause}")))?
            .with_root_certificates(roots.clone())
            .with_no_client_auth();
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Trust { roots, config: Arc::new(config) })
    }
}
