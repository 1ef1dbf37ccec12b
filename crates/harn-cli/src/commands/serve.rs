//! `harn serve`: opens the data directory, listens, says how to use it, and goes down gracefully.

use std::fs;
use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use harn_core::{Actor, WorkspaceAccess};
use harn_harness::{Harness, Secret};
use harn_log::LogError;
use harn_log::sqlite;
use harn_serve::{ServeOptions, Trust, router, serve_tcp, serve_unix};
use tokio::net::{TcpListener, UnixListener};
use tokio::signal::unix::{SignalKind, signal};

use super::say;
use crate::args::ServeArgs;
use crate::wiring::{ModelChoice, Setup, own_guard, start};

/// How long running effects and requests may take to finish when we are told to stop.
const GRACE: Duration = Duration::from_secs(10);
/// Socket paths have 108 bytes, the last of which is zero.
const SOCKET_PATH_LIMIT: usize = 107;

pub fn run(args: ServeArgs) -> Result<ExitCode> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let code = runtime.block_on(serve(args))?;
    // Whatever is still running has been left as begun.
    runtime.shutdown_timeout(Duration::from_secs(1));
    Ok(code)
}

async fn serve(args: ServeArgs) -> Result<ExitCode> {
    let choice = match &args.scripted_model {
        Some(file) => ModelChoice::scripted(file)?,
        None => ModelChoice::offline(),
    };
    let given = args.api_key.as_deref().map(Secret::given).transpose()?;
    check_bind(&args)?;
    let setup = Setup {
        data: args.data.clone(),
        root: args.root.clone(),
        allowed_roots: args.allow_root.clone(),
        model: choice.model,
        guard: own_guard()?,
        log: sqlite::Options {
            max_bytes: args.max_log_bytes,
            fault: None,
            fatal: Some(Arc::new(stop_at_once)),
        },
    };
    let running = start(setup).await?;
    let listener = TcpListener::bind(&args.bind)
        .await
        .with_context(|| format!("cannot listen on {}; choose another address with --bind", args.bind))?;
    let url = format!("http://{}", listener.local_addr()?);
    let (socket_path, socket) = local_socket(&args.data)?;
    running.owner.announce(Some(url.clone()), Some(socket_path.clone()))?;
    let printed = ensure_key(&running.harness, given).await?;

    let options = ServeOptions {
        public_url: url.clone(),
        rate_limit: NonZeroU32::new(args.rate_limit),
        ..Default::default()
    };
    let shutdown = options.shutdown.clone();
    let remote = router(running.harness.clone(), options.clone(), Trust::Bearer);
    let local = router(running.harness.clone(), options, Trust::LocalSocket);
    let tcp = tokio::spawn(serve_tcp(listener, remote, shutdown.clone(), GRACE));
    let unix = tokio::spawn(serve_unix(socket, local, shutdown.clone(), GRACE));

    let model = running.harness.model();
    say(format_args!("Harn {} listens on {url}", env!("CARGO_PKG_VERSION")));
    say(format_args!("  model      {}/{}: {}", model.provider, model.model, choice.reason));
    say(format_args!("  workspace  {} ({})", running.workspace.root, running.workspace.id));
    say(format_args!("  data       {}", args.data.display()));
    say_key(&printed);
    say_first_steps(&url, running.workspace.id.as_str(), &printed);

    wait_for_signal().await?;
    say("Stopping: no new requests; running effects may finish.");
    shutdown.cancel();
    running.harness.drain(GRACE).await;
    let _ = tokio::join!(tcp, unix);
    let _ = fs::remove_file(&socket_path);
    let log = Arc::clone(&running.log);
    let _ = tokio::task::spawn_blocking(move || log.close()).await;
    Ok(ExitCode::SUCCESS)
}

/// After a failed flush nobody knows what is durable; only a restart finds out.
fn stop_at_once(error: &LogError) {
    super::say_error(&anyhow::anyhow!(
        "{error}. Harn stops now; start it again to go on from what is durable."
    ));
    std::process::exit(70);
}

/// Beyond this machine, plain text has to be asked for.
fn check_bind(args: &ServeArgs) -> Result<()> {
    let port = args.bind.rsplit_once(':').map(|(_, port)| port.parse::<u16>());
    if !matches!(port, Some(Ok(_))) {
        bail!(
            "`{}` is not an address to listen on; give a host and a port, such as 127.0.0.1:8787",
            args.bind
        );
    }
    let loopback = match args.bind.parse::<SocketAddr>() {
        Ok(address) => address.ip().is_loopback(),
        Err(_) => args.bind.starts_with("localhost:"),
    };
    if !loopback && !args.plain_text {
        bail!(
            "{} is reachable from other machines, and Harn does not speak TLS itself yet. Put a TLS proxy in front \
             of a loopback address, or say --plain-text.",
            args.bind
        );
    }
    Ok(())
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

/// What is said about the key at start-up.
enum KeyNote {
    /// Made just now; this is the only time it is shown.
    New(Secret),
    Given,
    Existing,
}

async fn ensure_key(harness: &Harness, given: Option<Secret>) -> Result<KeyNote> {
    let note = match given {
        Some(secret) => {
            bind_key(harness, &secret, "operator").await?;
            KeyNote::Given
        }
        None if harness.has_keys().await? => KeyNote::Existing,
        None => {
            let secret = Secret::generate();
            bind_key(harness, &secret, "owner").await?;
            KeyNote::New(secret)
        }
    };
    Ok(note)
}

async fn bind_key(harness: &Harness, secret: &Secret, actor: &str) -> Result<()> {
    let scopes = Actor::owner(actor).scopes;
    harness.create_key(secret, actor, scopes, WorkspaceAccess::All).await?;
    Ok(())
}

fn say_key(note: &KeyNote) {
    match note {
        KeyNote::New(secret) => {
            say(format_args!("  API key    {}", secret.reveal()));
            say("             shown only now: Harn keeps its hash. Lost it? Give another with --api-key.");
        }
        KeyNote::Given => say("  API key    the one given by --api-key or HARN_SERVE_API_KEY"),
        KeyNote::Existing => say("  API key    the one shown at the first start; --api-key KEY adds another"),
    }
}

fn say_first_steps(url: &str, workspace: &str, note: &KeyNote) {
    let key = match note {
        KeyNote::New(secret) => secret.reveal(),
        KeyNote::Given | KeyNote::Existing => "$HARN_KEY",
    };
    let headers = format!(
        "-H 'Harn-Agents-Protocol-Version: {}' -H \"Authorization: Bearer {key}\"",
        harn_core::PROTOCOL_VERSION
    );
    let json = "-H 'Content-Type: application/json'";
    say("");
    match note {
        KeyNote::New(_) => say("Try it: create a session, submit a task, stream its events."),
        _ => {
            say("Try it, with your API key in HARN_KEY: create a session, submit a task, stream its events.")
        }
    }
    say("");
    say(format_args!(
        "SESSION=$(curl -s {url}/v1/sessions {headers} {json} -d '{{\"workspace_id\":\"{workspace}\"}}' \
         | grep -o 'session_[0-9A-Z]*' | head -1)"
    ));
    say(format_args!(
        "TASK=$(curl -s {url}/v1/sessions/$SESSION/tasks {headers} {json} -d '{{\"input\":{{\"role\":\"user\",\"parts\":\
         [{{\"type\":\"text\",\"text\":\"list files\",\"visibility\":\"public\"}}]}}}}' \
         | grep -o 'task_[0-9A-Z]*' | head -1)"
    ));
    say(format_args!("curl -sN {url}/v1/tasks/$TASK/stream {headers}"));
    say("");
}

async fn wait_for_signal() -> Result<()> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
    }
    Ok(())
}
