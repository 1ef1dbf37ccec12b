//! `harn doctor`: what is configured, what is reachable, and what to do about what is not. It changes nothing and
//! opens no log for writing, so that no run goes on because somebody looked.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::ExitCode;

use anyhow::Result;
use harn_client::Client;
use harn_core::budget::dollars;
use harn_harness::HarnessProjection;
use harn_log::owner::current_owner;
use harn_log::sqlite;
use harn_model::catalog::{Availability, Catalog};
use nix::sys::statvfs::statvfs;
use nix::unistd::{AccessFlags, access};
use serde::Serialize;
use serde_json::json;

use super::{say, say_json, wait_for};
use crate::api;
use crate::args::{DoctorArgs, TargetArgs};
use crate::config::Config;
use crate::connect::{owner, remote};
use crate::output::{Table, Tone, counted, plain};
use crate::wiring::{ModelChoice, environment, own_guard, source};

/// A larger log takes longer to check than anybody wants to wait for this command.
const QUICK_CHECK: u64 = 64 << 20;
const LITTLE_SPACE: u64 = 1 << 30;
const NO_SPACE: u64 = 50 << 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum State {
    Ok,
    Warning,
    Problem,
}

/// One line: what was looked at, how it is, and what to do.
#[derive(Debug, Serialize)]
struct Finding {
    name: &'static str,
    state: State,
    found: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    to_do: Option<String>,
}

fn ok(name: &'static str, found: impl Into<String>) -> Finding {
    Finding { name, state: State::Ok, found: found.into(), to_do: None }
}

fn warning(name: &'static str, found: impl Into<String>, to_do: impl Into<String>) -> Finding {
    Finding { name, state: State::Warning, found: found.into(), to_do: Some(to_do.into()) }
}

fn problem(name: &'static str, found: impl Into<String>, to_do: impl Into<String>) -> Finding {
    Finding { name, state: State::Problem, found: found.into(), to_do: Some(to_do.into()) }
}

pub fn run(args: &DoctorArgs) -> Result<ExitCode> {
    wait_for(async {
        let findings = examine(&args.target).await;
        let problems = findings.iter().filter(|finding| finding.state == State::Problem).count();
        if args.json {
            say_json(&json!({ "findings": findings, "problems": problems }));
        } else {
            tell(&findings, problems);
        }
        Ok(if problems == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    })
}

fn tell(findings: &[Finding], problems: usize) {
    let mut table = Table::facts();
    for finding in findings {
        let (tone, sign) = match finding.state {
            State::Ok => (Tone::Good, "ok"),
            State::Warning => (Tone::Warn, "warning"),
            State::Problem => (Tone::Bad, "problem"),
        };
        table.row([
            (tone, sign.to_owned()),
            (Tone::Strong, finding.name.to_owned()),
            (Tone::Plain, plain(&finding.found)),
        ]);
        if let Some(to_do) = &finding.to_do {
            table.row([
                (Tone::Plain, String::new()),
                (Tone::Plain, String::new()),
                (Tone::Dim, format!("to do: {}", plain(to_do))),
            ]);
        }
    }
    table.say();
    match problems {
        0 => say("No problems."),
        some => say(format_args!("{}.", counted(some as u64, "problem"))),
    }
}

async fn examine(target: &TargetArgs) -> Vec<Finding> {
    let mut findings = vec![ok("version", format!("harn {}", env!("CARGO_PKG_VERSION")))];
    findings.extend(configured(target));
    findings.push(root_folder(&target.root()));
    findings.push(data_folder(&target.data));
    findings.push(space(&target.data, &target.root()));
    findings.push(integrity(&target.data));
    findings.push(owned(&target.data).await);
    if let Some(url) = &target.url {
        findings.extend(server(url, target).await);
    }
    findings.push(sandbox_report());
    findings
}

fn model(target: &TargetArgs, catalog: &Catalog) -> Finding {
    let chosen = ModelChoice::of(target.scripted_model.as_deref(), &source(catalog));
    let fallbacks = catalog.fallbacks_for(&environment).map_err(anyhow::Error::from);
    match chosen.and_then(|choice| Ok((choice, fallbacks?))) {
        Ok((choice, fallbacks)) => {
            let model = choice.model.reference();
            let mut told = format!("{}/{}: {}", model.provider, model.model, choice.reason);
            if !fallbacks.is_empty() {
                let names: Vec<String> = fallbacks.iter().map(|model| model.to_string()).collect();
                told.push_str(&format!("; if it fails, {}", names.join(", then ")));
            }
            ok("model", told)
        }
        Err(error) => {
            problem("model", format!("{error:#}"), "mend it, or choose another model with HARN_LLM_MODEL")
        }
    }
}

/// Which providers could be used. Whether a key is right shows with the first call.
fn providers(catalog: &Catalog) -> Finding {
    let rows = catalog.usable(&environment);
    let ready = rows.iter().filter(|row| row.status == Availability::Available);
    let ready: Vec<String> = ready
        .map(|row| match &row.key_env {
            Some(name) => format!("{} ({name})", row.provider),
            None => row.provider.clone(),
        })
        .collect();
    match ready.is_empty() {
        true => ok("providers", "none has a key; `harn providers list` says which variables to set"),
        false => ok("providers", format!("{}; `harn providers test` tries one", ready.join(", "))),
    }
}

fn configured(target: &TargetArgs) -> Vec<Finding> {
    let config = match Config::load(&target.root(), target.config.as_deref()) {
        Ok(config) => config,
        Err(error) => {
            let to_do = "mend that line; docs/config.md describes the file";
            return vec![problem("config", error.to_string(), to_do)];
        }
    };
    let mut findings = vec![match &config.file {
        Some(file) => ok("config", file.display().to_string()),
        None => ok("config", "no harn.toml, so the defaults hold"),
    }];
    findings
        .extend(config.warnings.iter().map(|told| warning("config", told, "remove it, or mend its name")));
    findings.push(model(target, &config.catalog));
    findings.push(providers(&config.catalog));
    let rules: usize = config.permissions.layers().iter().map(|layer| layer.rules.len()).sum();
    findings.push(match rules {
        0 => ok("permissions", "no rules of your own; agents ask before they change anything"),
        1 => ok("permissions", "1 rule of your own; `harn policy test` tries its tests"),
        more => ok("permissions", format!("{more} rules of your own; `harn policy test` tries their tests")),
    });
    findings.push(budget(&config));
    findings
}

fn budget(config: &Config) -> Finding {
    let limits = [
        config.budget.micro_usd.map(dollars),
        config.budget.tokens.map(|tokens| format!("{tokens} tokens")),
        config.budget.seconds.map(|seconds| format!("{seconds} s")),
    ];
    let limits: Vec<String> = limits.into_iter().flatten().collect();
    match limits.is_empty() {
        true => ok("budget", "no limit; [budget] in harn.toml sets one"),
        false => ok("budget", format!("{} for each task", limits.join(", "))),
    }
}

fn root_folder(root: &Path) -> Finding {
    let shown = root.canonicalize().unwrap_or_else(|_| root.to_owned()).display().to_string();
    if !root.is_dir() {
        return problem("workspace", format!("{shown} is no folder"), "give a folder with --root");
    }
    match access(root, AccessFlags::R_OK | AccessFlags::W_OK | AccessFlags::X_OK) {
        Ok(()) => ok("workspace", shown),
        Err(_) => {
            warning("workspace", format!("{shown} cannot be written"), "change its rights, or give --root")
        }
    }
}

fn data_folder(data: &Path) -> Finding {
    let shown = data.display();
    let Ok(metadata) = data.metadata() else {
        return ok("data", format!("{shown} is not there yet; the first task or `harn serve` makes it"));
    };
    let mode = metadata.permissions().mode() & 0o777;
    if mode & 0o077 != 0 {
        let found = format!("{shown} can be read by others (mode {mode:o})");
        return problem("data", found, format!("chmod 700 {shown}"));
    }
    match access(data, AccessFlags::R_OK | AccessFlags::W_OK | AccessFlags::X_OK) {
        Ok(()) => ok("data", shown.to_string()),
        Err(_) => problem("data", format!("{shown} cannot be written"), "change its owner or its rights"),
    }
}

fn space(data: &Path, root: &Path) -> Finding {
    let place = if data.is_dir() { data } else { root };
    let Ok(disk) = statvfs(place) else {
        return warning("disk", "the free space cannot be found out", "look with df");
    };
    let free = disk.blocks_available().saturating_mul(disk.fragment_size());
    let shown = format!("{:.1} GiB free", free as f64 / f64::from(1 << 30));
    match free {
        0..NO_SPACE => problem("disk", shown, "free some space: a full disk stops every run"),
        NO_SPACE..LITTLE_SPACE => warning("disk", shown, "free some space before it is full"),
        _ => ok("disk", shown),
    }
}

fn integrity(data: &Path) -> Finding {
    let Ok(size) = data.join("harn.db").metadata().map(|file| file.len()) else {
        return ok("log", "there is none yet");
    };
    if size > QUICK_CHECK {
        return ok("log", format!("{} MiB; `harn log verify` checks it", size >> 20));
    }
    match sqlite::verify(data, &HarnessProjection) {
        Ok(report) if report.problems.is_empty() => ok("log", format!("whole, {} rows", report.rows)),
        Ok(report) => {
            let found = format!("{} problems, the first: {}", report.problems.len(), report.problems[0]);
            problem("log", found, "`harn log verify` lists them; `harn log rebuild` mends projections")
        }
        Err(error) => problem("log", error.to_string(), "restore a backup"),
    }
}

async fn owned(data: &Path) -> Finding {
    let Some(note) = current_owner(data) else { return ok("server", "none runs on this data directory") };
    match owner(data).await {
        Some(client) => {
            let keys = keys(&client).await;
            let url = note.url.unwrap_or_else(|| "the local socket only".into());
            ok("server", format!("process {} serves {url}{keys}", note.pid))
        }
        None => warning(
            "server",
            format!("process {} left a note and does not listen", note.pid),
            "nothing if it was killed: the next start goes on from there",
        ),
    }
}

async fn keys(client: &Client) -> String {
    match api::get(client, "/v1/keys").await {
        Ok(list) => {
            let valid =
                list["data"].as_array().into_iter().flatten().filter(|key| key["revoked_at"].is_null());
            format!(", with {}", counted(valid.count() as u64, "valid API key"))
        }
        Err(_) => String::new(),
    }
}

async fn server(url: &str, target: &TargetArgs) -> Vec<Finding> {
    let key = match target.api_key {
        Some(_) => ok("key", "given by --api-key or HARN_API_KEY"),
        None => problem("key", "no API key for the server", "give one with --api-key or HARN_API_KEY"),
    };
    let reached = async {
        let client = remote(url, target.api_key.as_deref(), target.ca.as_deref())?;
        api::get(&client, "/health").await?;
        if target.api_key.is_some() {
            api::get(&client, "/v1/workspaces").await?;
        }
        Ok::<_, anyhow::Error>(())
    };
    let reachable = match reached.await {
        Ok(()) => ok("url", format!("{url} answers")),
        Err(error) => {
            problem("url", format!("{error:#}"), "check the address, the key, and that the server runs")
        }
    };
    vec![key, reachable]
}

/// How commands of agents are kept apart from this machine. The one place that asks the sandbox about itself.
/// Only a command that is run in it can tell what the sandbox does here.
fn sandbox_report() -> Finding {
    let probe = match own_guard() {
        Ok(guard) => harn_engine::sandbox::probe(&guard),
        Err(error) => {
            return problem("sandbox", format!("{error:#}"), "run the binary from where it is installed");
        }
    };
    let told = probe.words().join(" ");
    match (probe.complete(), probe.sandbox.is_ok()) {
        (true, _) => ok("sandbox", told),
        (false, true) => {
            warning("sandbox", told, "see docs/sandbox.md for what is missing; approve commands with care")
        }
        (false, false) => problem("sandbox", told, "commands cannot be run until this is mended"),
    }
}
