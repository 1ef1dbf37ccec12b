//! Where requests go and with which key; keeps one idle connection for the next request.

use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use hyper::Method;
use hyper::Uri;
use tokio::io::DuplexStream;

use crate::connect::{Address, Connection, Trust};
use crate::secret::Secret;
use crate::{ClientError, RequestBuilder};

/// Cheap to clone; clones share the idle connection.
#[derive(Clone)]
pub struct Client {
    shared: Arc<Shared>,
}

struct Shared {
    address: Address,
    /// What stands before every path, without a slash at its end.
    prefix: String,
    secret: Option<Secret>,
    idle: Mutex<Option<Connection>>,
}

impl Client {
    /// A server at an `http://` or `https://` address.
    pub fn to_url(url: &str, key: Option<&str>) -> Result<Client, ClientError> {
        let invalid = |why: &str| {
            ClientError::Invalid(format!("the server's address {why}; write it as http://host:port"))
        };
        let uri: Uri = url.trim().parse().map_err(|_| invalid("is not a URL"))?;
        let authority = uri.authority().ok_or_else(|| invalid("has no host"))?;
        if authority.as_str().contains('@') {
            return Err(invalid("must not carry a name or password (give the key on its own)"));
        }
        if uri.query().is_some() {
            return Err(invalid("must not carry a query"));
        }
        let host = authority.host().to_owned();
        let address = match uri.scheme_str() {
            Some("http") => Address::Tcp { host, port: authority.port_u16().unwrap_or(80) },
            Some("https") => {
                Address::Tls { host, port: authority.port_u16().unwrap_or(443), trust: Trust::native()? }
            }
            _ => return Err(invalid("is neither http nor https")),
        };
        let prefix = uri.path().trim_end_matches('/').to_owned();
        Ok(Client::new(address, prefix, key.map(Secret::new).transpose()?))
    }

    /// Trusts one more certificate authority: that of a private server.
    pub fn with_ca(self, pem: &[u8]) -> Result<Client, ClientError> {
        let Address::Tls { host, port, trust } = self.shared.address.clone() else {
            return Err(ClientError::Invalid(format!(
                "a certificate authority has no use for {}; use an https:// address",
                self.shared.address.name()
            )));
        };
        let address = Address::Tls { host, port, trust: trust.and(pem)? };
        Ok(Client::new(address, self.shared.prefix.clone(), self.shared.secret.clone()))
    }

    /// A server on this machine; the file system says who may connect, so there is no key.
    pub fn to_socket(path: impl Into<PathBuf>) -> Client {
        Client::new(Address::Socket(path.into()), String::new(), None)
    }

    /// A server in this process: `connect` gives it one end of a pair, and us the other.
    pub fn over(connect: impl Fn() -> DuplexStream + Send + Sync + 'static) -> Client {
        Client::new(Address::InProcess(Arc::new(connect)), String::new(), None)
    }

    /// A request with the version header, the key and `Accept: application/json`.
    pub fn request(&self, method: Method, path: &str) -> RequestBuilder {
        RequestBuilder::new(self.clone(), method, path)
    }

    fn new(address: Address, prefix: String, secret: Option<Secret>) -> Client {
        Client { shared: Arc::new(Shared { address, prefix, secret, idle: Mutex::new(None) }) }
    }

    pub(crate) fn address(&self) -> &Address {
        &self.shared.address
    }

    pub(crate) fn prefix(&self) -> &str {
        &self.shared.prefix
    }

    pub(crate) fn secret(&self) -> Option<&Secret> {
        self.shared.secret.as_ref()
    }

    pub(crate) fn take_idle(&self) -> Option<Connection> {
        let idle = self.idle().take();
        idle.filter(|connection| !connection.sender.is_closed())
    }

    pub(crate) fn keep_idle(&self, connection: Connection) {
        if !connection.sender.is_closed() {
            let replaced = self.idle().replace(connection);
            drop(replaced);
        }
    }

    fn idle(&self) -> std::sync::MutexGuard<'_, Option<Connection>> {
        self.shared.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Client")
            .field("address", &self.shared.address.name())
            .field("key", &self.shared.secret)
            .finish()
    }
}
