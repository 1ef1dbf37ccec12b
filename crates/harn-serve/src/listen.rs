//! Listeners: accept connections until told to stop, then finish what is in flight.

use std::time::Duration;

use axum::Router;
use axum::serve::{Listener, ListenerExt};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, UnixListener};
use tokio_util::sync::CancellationToken;

/// A client that has not sent its headers by then is not one.
const HEADER_TIMEOUT: Duration = Duration::from_secs(30);

/// Serves on TCP until `shutdown`, then until in-flight requests are answered or `grace` is over.
pub async fn serve_tcp(listener: TcpListener, router: Router, shutdown: CancellationToken, grace: Duration) {
    // Without this an event could wait for the answer to the packet before it.
    let prompt = listener.tap_io(|stream| {
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!(%error, "a connection keeps its delay");
        }
    });
    serve(prompt, router, shutdown, grace).await;
}

/// The same on a local socket.
pub async fn serve_unix(
    listener: UnixListener,
    router: Router,
    shutdown: CancellationToken,
    grace: Duration,
) {
    serve(listener, router, shutdown, grace).await;
}

async fn serve<L: Listener>(mut listener: L, router: Router, shutdown: CancellationToken, grace: Duration) {
    let connections = GracefulShutdown::new();
    let abort = CancellationToken::new();
    loop {
        tokio::select! {
            biased;
            () = shutdown.cancelled() => break,
            (io, _) = listener.accept() => {
                let served = connection(io, router.clone(), connections.watcher());
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

async fn connection<I>(io: I, router: Router, watcher: hyper_util::server::graceful::Watcher)
where
    I: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin + Send + 'static,
{
    let mut builder = Builder::new(TokioExecutor::new());
    builder.http1().timer(TokioTimer::new()).header_read_timeout(HEADER_TIMEOUT);
    builder.http2().timer(TokioTimer::new());
    let served = builder.serve_connection(TokioIo::new(io), TowerToHyperService::new(router)).into_owned();
    if let Err(error) = watcher.watch(served).await {
        tracing::debug!(error, "a connection ended badly");
    }
}
