//! A harness that this process hosts: opened from its data directory, reachable over a local socket, and closed again.
//! `harn serve` hosts one until it is stopped, other commands for as long as they run.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use harn_log::{LogError, sqlite};
use harn_model::{ModelSource, Recording};
use harn_serve::{ServeOptions, Trust, router, serve_in_process, serve_unix};
use tokio::io::DuplexStream;
use tokio::net::UnixListener;
use tokio::task::JoinHandle;

use crate::config::Config;
use crate::output::warn_line;
use crate::wiring::{ModelChoice, Running, Setup, own_guard, recorded_source, recording, source, start_with};

/// How long running effects and requests may take to finish when we are told to stop.
pub const GRACE: Duration = Duration::from_secs(10);
/// Socket paths have 108 bytes, the last of which is zero.
const SOCKET_PATH_LIMIT: usize = 107;

/// What to open.
#[derive(Clone, Copy)]
pub struct Place<'a> {
    pub data: &'a Path,
    pub root: &'a Path,
    pub allowed_roots: &'a [PathBuf],
    pub config: Option<&'a Path>,
    pub scripted_model: Option<&'a Path>,
    pub record_model: Option<&'a Path>,
    pub max_log_bytes: Option<u64>,
}

/// An open harness.
pub struct Host {
    pub running: Running,
    /// Why its model is the one that it is.
    pub model_reason: String,
    pub config: Config,
    recording: Option<Arc<Recording>>,
    data: PathBuf,
    local: Option<LocalSocket>,
}

struct LocalSocket {
    path: PathBuf,
    served: JoinHandle<()>,
}

impl Host {
    /// Reads the configuration and opens the log; unfinished runs go on.
    pub async fn open(place: Place<'_>) -> Result<Self> {
        let config = Config::load(place.root, place.config)?;
        for warning in &config.warnings {
            warn_line(format_args!("warning: {warning}"));
        }
        let catalog = source(&config.catalog);
        let recording = place.record_model.map(recording).transpose()?;
        let mut choice = ModelChoice::of(place.scripted_model, &catalog)?;
        let mut source: Arc<dyn ModelSource> = catalog;
        if let Some(recording) = &recording {
            choice = choice.recorded(recording);
            source = recorded_source(source, recording);
        }
        let setup = Setup {
            data: place.data.to_owned(),
            root: place.root.to_owned(),
            allowed_roots: place.allowed_roots.to_vec(),
            model: choice.model,
            source: Some(source),
            guard: own_guard()?,
            log: sqlite::Options {
                max_bytes: place.max_log_bytes,
                fault: None,
                fatal: Some(Arc::new(stop_at_once)),
            },
        };
        let running = start_with(setup, &config).await?;
        let data = place.data.to_owned();
        Ok(Self { running, model_reason: choice.reason, config, recording, data, local: None })
    }

    /// Serves the local socket and tells other processes where it is, and the URL if there is one.
    pub fn listen_locally(&mut self, options: &ServeOptions, url: Option<String>) -> Result<()> {
        let (path, socket) = local_socket(&self.data)?;
        let local = router(self.running.harness.clone(), options.clone(), Trust::LocalSocket);
        let served = tokio::spawn(serve_unix(socket, local, options.shutdown.clone(), GRACE));
        self.local = Some(LocalSocket { path: path.clone(), served });
        self.running.owner.announce(url, Some(path))?;
        Ok(())
    }

    /// Connections to this harness that never leave the process.
    pub fn connections(&self, options: &ServeOptions) -> impl Fn() -> DuplexStream + Send + Sync + use<> {
        let local = router(self.running.harness.clone(), options.clone(), Trust::LocalSocket);
        serve_in_process(local, options.shutdown.clone())
    }

    /// Nobody new comes in, requests are answered, and running effects finish or are left as begun.
    pub async fn close(self, options: &ServeOptions) {
        if let Some(local) = &self.local {
            let _ = fs::remove_file(&local.path);
            let _ = self.running.owner.announce(None, None);
        }
        options.shutdown.cancel();
        let answered = async {
            if let Some(local) = self.local {
                let _ = local.served.await;
            }
        };
        tokio::join!(answered, self.running.harness.drain(GRACE));
        let (log, recording) = (Arc::clone(&self.running.log), self.recording);
        let closing = move || {
            log.close();
            if let Some(recording) = recording {
                recording.flush();
            }
        };
        let _ = tokio::task::spawn_blocking(closing).await;
    }
}

/// After a failed flush nobody knows what is durable; only a restart finds out.
fn stop_at_once(error: &LogError) {
    let message = format!("{error}. Harn stops now; start it again to go on from what is durable.");
    crate::problem::say(&anyhow::anyhow!(message));
    std::process::exit(70);
}

/// The socket in the data directory, or in a private folder when that path would be too long.
fn local_socket(data: &Path) -> Result<(PathBuf, UnixListener)> {
    let data = data.canonicalize()?;
    let mut path = data.join("harn.sock");
    if path.as_os_str().len() > SOCKET_PATH_LIMIT {
        let folder = std::env::temp_dir().join(format!("harn-{}", nix::unistd::getuid()));
        fs::create_dir_all(&folder)?;
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o700))?;
        let name = harn_core::hash::Sha256Hash::of(data.as_os_str().as_encoded_bytes()).to_string();
        path = folder.join(format!("{}.sock", &name[..16]));
    }
    // We hold the owner's lock, so whatever is there was left by a dead process.
    let _ = fs::remove_file(&path);
    let socket = UnixListener::bind(&path).with_context(|| format!("cannot listen on {}", path.display()))?;
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600))?;
    Ok((path, socket))
}
