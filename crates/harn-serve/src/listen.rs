//! Listeners: accept connections until told to stop, then finish what is in flight.

use std::sync::Arc;
use std::time::Duration;

use axum::serve::{Listener, ListenerExt};
use axum::{BoxError, Router};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::server::graceful::{GracefulConnection, GracefulShutdown, Watcher};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite, DuplexStream};
use tokio::net::{TcpListener, TcpStream, UnixListener};
use tokio_util::sync::CancellationToken;

use crate::kin;
use crate::tls::{self, TlsIdentity};

/// A client that has not sent its headers by then is not one.
const HEADER_TIMEOUT: Duration = Duration::from_secs(30);
/// Nor is one that has not finished its TLS handshake by then.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);
/// What one end of an in-process connection may write before the other has read it.
const PIPE_BYTES: usize = 64 * 1024;

/// Serves on TCP until `shutdown`, then until in-flight requests are answered or `grace` is over.
pub async fn serve_tcp(listener: TcpListener, router: Router, shutdown: CancellationToken, grace: Duration) {
    serve(prompt(listener), shutdown, grace, move |io, watcher| connection(io, router.clone(), watcher))
        .await;
}

/// The same with TLS.
pub async fn serve_tls(
    listener: TcpListener,
    identity: TlsIdentity,
    router: Router,
    shutdown: CancellationToken,
    grace: Duration,
) {
    let stopped = shutdown.clone();
    let identity = Arc::new(identity);
    serve(prompt(listener), shutdown, grace, move |io, watcher| {
        secured(io, Arc::clone(&identity), router.clone(), watcher, stopped.clone())
    })
    .await;
}

/// The same on a local socket, for everybody but the commands that our own agents run.
pub async fn serve_unix(
    listener: UnixListener,
    router: Router,
    shutdown: CancellationToken,
    grace: Duration,
) {
    serve(listener, shutdown, grace, move |io, watcher| {
        let router = router.clone();
        async move {
            if kin::is_descendant(&io) {
                tracing::warn!("a command that an agent runs tried to use the local socket, and was refused");
                return;
            }
            connection(io, router, watcher).await;
        }
    })
    .await;
}

/// The same within this process: every call gives the client's end of a new connection. Call it within a runtime.
pub fn serve_in_process(
    router: Router,
    shutdown: CancellationToken,
) -> impl Fn() -> DuplexStream + Send + Sync {
    move || {
        let (client, server) = tokio::io::duplex(PIPE_BYTES);
        let served = conversation(server, router.clone());
        // Whoever asks is this process itself: when it stops, nobody is left to wait for the answer.
        tokio::spawn(shutdown.clone().run_until_cancelled_owned(async move {
            if let Err(error) = served.await {
                tracing::debug!(error, "a connection ended badly");
            }
        }));
        client
    }
}

/// Without this an event could wait for the answer to the packet before it.
fn prompt(listener: TcpListener) -> impl Listener<Io = TcpStream> {
    listener.tap_io(|stream| {
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!(%error, "a connection keeps its delay");
        }
    })
}

async fn serve<L, F>(
    mut listener: L,
    shutdown: CancellationToken,
    grace: Duration,
    converse: impl Fn(L::Io, Watcher) -> F,
) where
    L: Listener,
    F: Future<Output = ()> + Send + 'static,
{
    let connections = GracefulShutdown::new();
    let abort = CancellationToken::new();
    loop {
        tokio::select! {
            biased;
            () = shutdown.cancelled() => break,
            (io, _) = listener.accept() => {
                let served = converse(io, connections.watcher());
                tokio::spawn(abort.clone().run_until_cancelled_owned(served));
            }
        }
    }
    drop(listener);
    if tokio::time::timeout(grace, connections.shutdown()).await.is_err() {
        tracing::warn!("some requests were still running at the end of the grace period");
    }
    abort.cancel();
}

/// The handshake is part of the connection's own task, so that a slow client keeps nobody else waiting.
async fn secured(
    io: TcpStream,
    identity: Arc<TlsIdentity>,
    router: Router,
    watcher: Watcher,
    shutdown: CancellationToken,
) {
    let handshake = tokio::time::timeout(HANDSHAKE_TIMEOUT, tls::accept(io, &identity));
    match shutdown.run_until_cancelled(handshake).await {
        Some(Ok(Ok(stream))) => connection(stream, router, watcher).await,
        Some(Ok(Err(error))) => tracing::debug!(%error, "a TLS handshake failed"),
        Some(Err(_)) => tracing::debug!("a TLS handshake took too long"),
        None => {}
    }
}

async fn connection<I>(io: I, router: Router, watcher: Watcher)
where
    I: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    if let Err(error) = watcher.watch(conversation(io, router)).await {
        tracing::debug!(error, "a connection ended badly");
    }
}

/// HTTP/1.1 or HTTP/2, whichever the client begins with.
fn conversation<I>(io: I, router: Router) -> impl GracefulConnection<Error = BoxError>
where
    I: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let mut builder = Builder::new(TokioExecutor::new());
    builder.http1().timer(TokioTimer::new()).header_read_timeout(HEADER_TIMEOUT);
    builder.http2().timer(TokioTimer::new());
    builder.serve_connection(TokioIo::new(io), TowerToHyperService::new(router)).into_owned()
}
