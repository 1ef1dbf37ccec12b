//! From arguments to a connection: to a server by its URL, to the process that has the data directory open, or to a
//! harness that this process opens for as long as the command runs. Every command speaks the same API over it.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use harn_client::{Client, Method};
use harn_log::LogError;
use harn_log::owner::current_owner;
use harn_serve::ServeOptions;

use crate::args::TargetArgs;
use crate::host::{Host, Place};
use crate::problem::Problem;

/// How long another short-lived command may keep the data directory before we give up.
const PATIENCE: Duration = Duration::from_secs(10);
const RETRY: Duration = Duration::from_millis(50);

/// A harness to speak to.
pub struct Connection {
    pub client: Client,
    hosted: Option<Hosted>,
}

/// The harness of this process, which lives as long as the connection.
struct Hosted {
    host: Host,
    options: ServeOptions,
}

impl Connection {
    /// Whether runs go on only as long as this connection is open.
    pub fn is_in_process(&self) -> bool {
        self.hosted.is_some()
    }

    /// Lets what runs in this process finish or leaves it as begun. For a server there is nothing to do.
    pub async fn close(self) {
        drop(self.client);
        if let Some(hosted) = self.hosted {
            hosted.host.close(&hosted.options).await;
        }
    }
}

/// How long the connection is going to be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stay {
    /// For a few requests; other commands wait for their turn.
    Brief,
    /// For as long as somebody watches; other commands can reach a harness of this process meanwhile.
    Long,
}

/// Connects for long; a data directory that is not there yet is made.
pub async fn connect(target: &TargetArgs) -> Result<Connection> {
    connect_for(target, Stay::Long).await
}

/// The same for a few requests.
pub async fn connect_briefly(target: &TargetArgs) -> Result<Connection> {
    connect_for(target, Stay::Brief).await
}

async fn connect_for(target: &TargetArgs, stay: Stay) -> Result<Connection> {
    if let Some(url) = &target.url {
        let client = remote(url, target.api_key.as_deref(), target.ca.as_deref())?;
        return Ok(Connection { client, hosted: None });
    }
    let waiting_since = Instant::now();
    loop {
        if let Some(client) = owner(&target.data).await {
            return Ok(Connection { client, hosted: None });
        }
        match host(target, stay).await {
            Ok(connection) => return Ok(connection),
            // Another command may have just opened it: soon it listens, or is gone.
            Err(error) if is_owned(&error) && waiting_since.elapsed() < PATIENCE => {
                tokio::time::sleep(RETRY).await;
            }
            Err(error) => return Err(error),
        }
    }
}

/// For commands that would find nothing in a new data directory, and should not make one.
pub fn check_existing(target: &TargetArgs) -> Result<()> {
    if !is_unused(target) {
        return Ok(());
    }
    let hint = "start with `harn task \"list files\"` or `harn serve`; for another place give --data DIR or --url URL";
    Err(Problem::new(format!("there is nothing in {} yet", target.data.display())).hint(hint).into())
}

/// Whether nothing was ever kept there.
pub fn is_unused(target: &TargetArgs) -> bool {
    target.url.is_none() && !target.data.join("harn.db").is_file()
}

/// A client of the server at this URL.
pub fn remote(url: &str, key: Option<&str>, ca: Option<&Path>) -> Result<Client> {
    let client = Client::to_url(url, key)?;
    let Some(file) = ca else { return Ok(client) };
    let pem = std::fs::read(file)
        .with_context(|| format!("the certificate authority {} cannot be read", file.display()))?;
    Ok(client.with_ca(&pem)?)
}

/// The process that owns the directory, if it answers. A note may have been left by a process that was killed, and a
/// process may be about to end.
pub async fn owner(data: &Path) -> Option<Client> {
    let client = Client::to_socket(current_owner(data)?.socket?);
    client.request(Method::GET, "/health").send().await.ok()?.ok().ok()?;
    Some(client)
}

async fn host(target: &TargetArgs, stay: Stay) -> Result<Connection> {
    let root = target.root();
    let place = Place {
        data: &target.data,
        root: &root,
        allowed_roots: &[],
        config: target.config.as_deref(),
        scripted_model: target.scripted_model.as_deref(),
        record_model: target.record_model.as_deref(),
        max_log_bytes: None,
    };
    let mut host = Host::open(place).await?;
    let options = ServeOptions { public_url: "http://localhost".into(), ..ServeOptions::default() };
    // Without a socket, this command still works.
    if stay == Stay::Long
        && let Err(error) = host.listen_locally(&options, None)
    {
        tracing::warn!(%error, "other commands cannot reach this harness while this one runs");
    }
    let client = Client::over(host.connections(&options));
    Ok(Connection { client, hosted: Some(Hosted { host, options }) })
}

fn is_owned(error: &anyhow::Error) -> bool {
    matches!(error.downcast_ref::<LogError>(), Some(LogError::Owned(_)))
}
