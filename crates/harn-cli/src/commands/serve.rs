//! `harn serve`: opens the data directory, listens, says how to use it, and goes down gracefully.

use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::process::ExitCode;

use anyhow::{Context, Result};
use harn_core::{Actor, WorkspaceAccess};
use harn_harness::{Harness, Secret};
use harn_serve::{ServeOptions, TlsIdentity, Trust, router, serve_tcp, serve_tls};
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio::task::JoinHandle;

use super::{say, wait_for};
use crate::args::ServeArgs;
use crate::host::{GRACE, Host, Place};
use crate::problem::Problem;
use crate::wiring::environment;

pub fn run(args: ServeArgs) -> Result<ExitCode> {
    wait_for(serve(args))
}

async fn serve(args: ServeArgs) -> Result<ExitCode> {
    let given = args.api_key.as_deref().map(Secret::given).transpose();
    let given = given.map_err(|error| Problem::usage(error.message))?;
    check_bind(&args)?;
    let identity = identity(&args)?;
    let place = Place {
        data: &args.data,
        root: &args.root,
        allowed_roots: &args.allow_root,
        config: args.config.as_deref(),
        scripted_model: args.scripted_model.as_deref(),
        record_model: args.record_model.as_deref(),
        max_log_bytes: args.max_log_bytes,
    };
    let mut host = Host::open(place).await?;
    let listener = TcpListener::bind(&args.bind)
        .await
        .with_context(|| format!("cannot listen on {}; choose another address with --bind", args.bind))?;
    let scheme = if identity.is_some() { "https" } else { "http" };
    let url = format!("{scheme}://{}", listener.local_addr()?);
    let options = ServeOptions {
        public_url: url.clone(),
        rate_limit: NonZeroU32::new(args.rate_limit),
        ..Default::default()
    };
    host.listen_locally(&options, Some(url.clone()))?;
    let printed = ensure_key(&host.running.harness, given).await?;
    let tcp = listen(listener, identity, host.running.harness.clone(), options.clone());
    say_start(&host, &args, &url);
    say_key(&printed);
    say_first_steps(&url, host.running.workspace.id.as_str(), &printed);

    wait_for_signal().await?;
    say("Stopping: no new requests; running effects may finish.");
    host.close(&options).await;
    let _ = tcp.await;
    Ok(ExitCode::SUCCESS)
}

fn identity(args: &ServeArgs) -> Result<Option<TlsIdentity>> {
    let (Some(certificate), Some(key)) = (&args.tls_cert, &args.tls_key) else { return Ok(None) };
    let identity = TlsIdentity::load(certificate, key).map_err(|problem| {
        Problem::new("TLS cannot be set up").cause(problem.to_string()).hint(
            "--tls-cert wants the certificate with its chain, --tls-key its private key, both as PEM files",
        )
    })?;
    Ok(Some(identity))
}

fn listen(
    listener: TcpListener,
    identity: Option<TlsIdentity>,
    harness: Harness,
    options: ServeOptions,
) -> JoinHandle<()> {
    let shutdown = options.shutdown.clone();
    let remote = router(harness, options, Trust::Bearer);
    match identity {
        Some(identity) => tokio::spawn(serve_tls(listener, identity, remote, shutdown, GRACE)),
        None => tokio::spawn(serve_tcp(listener, remote, shutdown, GRACE)),
    }
}

fn say_start(host: &Host, args: &ServeArgs, url: &str) {
    let running = &host.running;
    let model = running.harness.model();
    say(format_args!("Harn {} listens on {url}", env!("CARGO_PKG_VERSION")));
    say(format_args!("  model      {}/{}: {}", model.provider, model.model, host.model_reason));
    let fallbacks = host.config.catalog.fallbacks_for(&environment).unwrap_or_default();
    if !fallbacks.is_empty() {
        let names: Vec<String> = fallbacks.iter().map(|model| model.to_string()).collect();
        say(format_args!("  fallbacks  {}", names.join(", ")));
    }
    say(format_args!("  workspace  {} ({})", running.workspace.root, running.workspace.id));
    say(format_args!("  data       {}", args.data.display()));
    if let Some(file) = &host.config.file {
        say(format_args!("  config     {}", file.display()));
    }
}

/// Beyond this machine, plain text has to be asked for.
fn check_bind(args: &ServeArgs) -> Result<()> {
    let port = args.bind.rsplit_once(':').map(|(_, port)| port.parse::<u16>());
    if !matches!(port, Some(Ok(_))) {
        return Err(Problem::usage(format!("`{}` is not an address to listen on", args.bind))
            .hint("give a host and a port, such as 127.0.0.1:8787")
            .into());
    }
    let loopback = match args.bind.parse::<SocketAddr>() {
        Ok(address) => address.ip().is_loopback(),
        Err(_) => args.bind.starts_with("localhost:"),
    };
    if !loopback && args.tls_cert.is_none() && !args.plain_text {
        return Err(Problem::usage(format!(
            "{} is reachable from other machines, and would speak plain text",
            args.bind
        ))
        .hint(
            "give a certificate with --tls-cert FILE --tls-key FILE, or say --plain-text if a proxy adds TLS",
        )
        .into());
    }
    Ok(())
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
