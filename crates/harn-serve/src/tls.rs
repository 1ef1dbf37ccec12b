//! TLS of the server: a certificate and its key from PEM files, with precise words when they do not fit.

use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use harn_core::{Clock, Code, Error, SystemClock, Timestamp};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{InconsistentKeys, ServerConfig};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use crate::failure;

/// The first byte of a TLS record that opens a handshake.
const HANDSHAKE_RECORD: u8 = 0x16;

/// Why a certificate or its key cannot be used, and what to do about it.
#[derive(Debug, PartialEq, Eq)]
pub enum TlsProblem {
    Unreadable { file: PathBuf, cause: String },
    NotPem { file: PathBuf, wanted: &'static str },
    Expired { file: PathBuf, at: Timestamp },
    NotYet { file: PathBuf, from: Timestamp },
    KeyDoesNotMatch { certificate: PathBuf, key: PathBuf },
    Unusable { certificate: PathBuf, cause: String },
}

impl std::error::Error for TlsProblem {}

impl fmt::Display for TlsProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable { file, cause } => {
                write!(f, "the file {} cannot be read: {cause}", file.display())
            }
            Self::NotPem { file, wanted } => {
                write!(f, "{} holds no {wanted}; give a PEM file", file.display())
            }
            Self::Expired { file, at } => {
                write!(f, "the certificate {} expired at {at}; renew it", file.display())
            }
            Self::NotYet { file, from } => write!(
                f,
                "the certificate {} is valid only from {from}; check it and this machine's clock",
                file.display()
            ),
            Self::KeyDoesNotMatch { certificate, key } => write!(
                f,
                "the key {} is not that of the certificate {}; give the two that belong together",
                key.display(),
                certificate.display()
            ),
            Self::Unusable { certificate, cause } => {
                write!(f, "the certificate {} cannot be used: {cause}", certificate.display())
            }
        }
    }
}

/// Who this server is to its clients.
#[derive(Clone)]
pub struct TlsIdentity {
    acceptor: TlsAcceptor,
}

impl TlsIdentity {
    /// Reads a certificate (with its chain after it) and its key, and checks that they can be used now.
    pub fn load(certificate: &Path, key: &Path) -> Result<Self, TlsProblem> {
        let chain = certificates(certificate)?;
        check_dates(certificate, &chain, SystemClock.now())?;
        let private = private_key(key)?;
        let unusable = |cause: String| TlsProblem::Unusable { certificate: certificate.to_owned(), cause };
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|cause| unusable(cause.to_string()))?
            .with_no_client_auth()
            .with_single_cert(chain, private)
            .map_err(|cause| match cause {
                rustls::Error::InconsistentKeys(InconsistentKeys::KeyMismatch) => {
                    TlsProblem::KeyDoesNotMatch { certificate: certificate.to_owned(), key: key.to_owned() }
                }
                other => unusable(other.to_string()),
            })?;
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(Self { acceptor: TlsAcceptor::from(Arc::new(config)) })
    }
}

/// Shakes hands. A client that speaks plain HTTP is told so in HTTP, since it would not understand an alert.
pub(crate) async fn accept(mut io: TcpStream, identity: &TlsIdentity) -> io::Result<TlsStream<TcpStream>> {
    let mut first = [0u8];
    let seen = io.peek(&mut first).await?;
    if seen == 1 && first[0] != HANDSHAKE_RECORD && first[0].is_ascii_uppercase() {
        io.write_all(&plain_refusal()).await?;
        io.shutdown().await?;
        return Err(io::Error::new(io::ErrorKind::InvalidData, "the client speaks plain HTTP"));
    }
    identity.acceptor.accept(io).await
}

fn plain_refusal() -> Vec<u8> {
    let error = Error::new(Code::InvalidRequest, "This port speaks TLS. Use an https:// address.");
    let body = failure::envelope(error, "none");
    let head = format!(
        "HTTP/1.1 400 Bad Request\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        body.len()
    );
    [head.into_bytes(), body].concat()
}

fn read(file: &Path) -> Result<Vec<u8>, TlsProblem> {
    fs::read(file).map_err(|cause| TlsProblem::Unreadable { file: file.to_owned(), cause: cause.to_string() })
}

fn certificates(file: &Path) -> Result<Vec<CertificateDer<'static>>, TlsProblem> {
    let not_pem = || TlsProblem::NotPem { file: file.to_owned(), wanted: "BEGIN CERTIFICATE block" };
    let text = read(file)?;
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&text).collect();
    found.ok().filter(|chain| !chain.is_empty()).ok_or_else(not_pem)
}

fn private_key(file: &Path) -> Result<PrivateKeyDer<'static>, TlsProblem> {
    PrivateKeyDer::from_pem_slice(&read(file)?)
        .map_err(|_| TlsProblem::NotPem { file: file.to_owned(), wanted: "BEGIN PRIVATE KEY block" })
}

/// Clients refuse a certificate outside of its time; so it is said here, where somebody can mend it.
fn check_dates(file: &Path, chain: &[CertificateDer<'_>], now: Timestamp) -> Result<(), TlsProblem> {
    let Some((from, until)) = chain.first().and_then(|first| validity(first)) else { return Ok(()) };
    if now > until {
        return Err(TlsProblem::Expired { file: file.to_owned(), at: until });
    }
    if now < from {
        return Err(TlsProblem::NotYet { file: file.to_owned(), from });
    }
    Ok(())
}

/// The time in which an X.509 certificate is valid; none when its structure is not the usual one.
fn validity(certificate: &[u8]) -> Option<(Timestamp, Timestamp)> {
    const SEQUENCE: u8 = 0x30;
    const VERSION: u8 = 0xa0;
    let (outer, _) = element(certificate).filter(|(found, _)| found.tag == SEQUENCE)?;
    let (body, _) = element(outer.content).filter(|(found, _)| found.tag == SEQUENCE)?;
    let (first, after) = element(body.content)?;
    // The version may be absent; then this was the serial number already.
    let rest = if first.tag == VERSION { element(after)?.1 } else { after };
    let (_signature, rest) = element(rest)?;
    let (_issuer, rest) = element(rest)?;
    let (period, _) = element(rest).filter(|(found, _)| found.tag == SEQUENCE)?;
    let (from, rest) = element(period.content)?;
    let (until, _) = element(rest)?;
    Some((from.instant()?, until.instant()?))
}

struct Element<'a> {
    tag: u8,
    content: &'a [u8],
}

/// The first DER element, and what follows it.
fn element(bytes: &[u8]) -> Option<(Element<'_>, &[u8])> {
    let (&tag, rest) = bytes.split_first()?;
    let (&short, mut rest) = rest.split_first()?;
    let mut length = usize::from(short);
    if short & 0x80 != 0 {
        let digits = usize::from(short & 0x7f);
        let (number, after) = rest.split_at_checked(digits).filter(|_| (1..=4).contains(&digits))?;
        length = number.iter().fold(0, |length, digit| length << 8 | usize::from(*digit));
        rest = after;
    }
    let (content, after) = rest.split_at_checked(length)?;
    Some((Element { tag, content }, after))
}

impl Element<'_> {
    /// `YYMMDDhhmmssZ` of the years 1950 to 2049, or the same with all four digits of the year.
    fn instant(&self) -> Option<Timestamp> {
        let text = std::str::from_utf8(self.content).ok()?.strip_suffix('Z')?;
        let text = match self.tag {
            0x17 if text.len() == 12 => {
                format!("{}{text}", if *text.as_bytes().first()? >= b'5' { "19" } else { "20" })
            }
            0x18 if text.len() == 14 => text.to_owned(),
            _ => return None,
        };
        let part = |from: usize, to: usize| text.get(from..to);
        let written = format!(
            "{}-{}-{}T{}:{}:{}Z",
            part(0, 4)?,
            part(4, 6)?,
            part(6, 8)?,
            part(8, 10)?,
            part(10, 12)?,
            part(12, 14)?
        );
        serde_json::from_value(written.into()).ok()
    }
}
