//! `--local`: what the local servers have, beside what the catalog says.

use std::process::ExitCode;

use anyhow::Result;
use harn_model::catalog::{Catalog, ModelEntry, Usability};
use harn_model::discover::{Discovered, LocalServer, NoList, discover};
use serde_json::{Value, json};

use super::{COLUMNS, PROVIDER_COLUMNS, cells, provider_cells};
use crate::commands::{interruptible, say_json, wait_for};
use crate::output::{Table, Tone, counted, one_line, plain, warn_line};
use crate::wiring::{environment, transport};

/// Names come from a server; no real one is longer.
const NAME: usize = 120;

/// Asks the servers, then shows what they said.
pub fn ask(catalog: &Catalog, only: Option<&str>, show: impl FnOnce(&[LocalServer])) -> Result<ExitCode> {
    let servers = discover(catalog, only, &environment, &transport()?);
    wait_for(interruptible(async move {
        show(&servers.await);
        Ok(ExitCode::SUCCESS)
    }))
}

pub fn models(known: &[&ModelEntry], servers: &[LocalServer], json: bool) {
    let found: Vec<&Discovered> =
        servers.iter().filter_map(|server| server.models.as_ref().ok()).flatten().collect();
    let same =
        |entry: &ModelEntry, model: &Discovered| entry.provider == model.provider && entry.id == model.id;
    let running = |entry: &ModelEntry| found.iter().find(|model| same(entry, model)).copied();
    let new = found.iter().copied().filter(|model| !known.iter().any(|entry| same(entry, model)));
    if json {
        let mut rows: Vec<Value> =
            known.iter().map(|entry| marked(entry, running(entry).is_some())).collect();
        rows.extend(new.map(|model| marked(model, true)));
        say_json(&json!(rows));
    } else {
        let [model, aliases, context, input, output] = COLUMNS;
        let mut table = Table::new(&[model, aliases, context, input, output, "SIZE", "SOURCE"]);
        for entry in known {
            let [model, aliases, context, input, output] = cells(entry);
            let found = running(entry);
            let source = if found.is_some() { "catalog, discovered" } else { "catalog" };
            let size = size(found.and_then(|model| model.size_bytes));
            table.row([model, aliases, context, input, output, size, (Tone::Dim, source.to_owned())]);
        }
        for model in new {
            table.row(discovered_cells(model));
        }
        table.say();
    }
    say_unheard(servers);
}

fn marked(row: &impl serde::Serialize, discovered: bool) -> Value {
    let mut row = json!(row);
    row["discovered"] = json!(discovered);
    row
}

fn discovered_cells(model: &Discovered) -> [(Tone, String); 7] {
    let blank = || (Tone::Plain, String::new());
    let context = model.context_window.map_or("unknown".into(), |tokens| tokens.to_string());
    [
        (Tone::Plain, selector(model)),
        blank(),
        (Tone::Plain, context),
        blank(),
        blank(),
        size(model.size_bytes),
        (Tone::Good, "discovered".to_owned()),
    ]
}

fn selector(model: &Discovered) -> String {
    one_line(&format!("{}:{}", model.provider, model.id), NAME)
}

fn size(bytes: Option<u64>) -> (Tone, String) {
    let text = match bytes {
        None => String::new(),
        Some(bytes) if bytes < 1_000_000_000 => format!("{} MB", bytes.div_ceil(1_000_000)),
        Some(bytes) => format!("{}.{} GB", bytes / 1_000_000_000, bytes / 100_000_000 % 10),
    };
    (Tone::Plain, text)
}

/// One line for each server that has nothing to show.
fn say_unheard(servers: &[LocalServer]) {
    for server in servers {
        let told = match &server.models {
            Err(why) => with_advice(why.to_string(), server),
            Ok(models) if models.is_empty() => "it runs and has no models".to_owned(),
            Ok(_) => continue,
        };
        warn_line(plain(&format!("{}: {told}", server.provider)));
    }
}

fn with_advice(told: String, server: &LocalServer) -> String {
    match &server.advice {
        Some(advice) => format!("{told}; {advice}"),
        None => told,
    }
}

pub fn providers(rows: &[Usability], servers: &[LocalServer], json: bool) {
    let of = |row: &Usability| servers.iter().find(|server| server.provider == row.provider);
    if json {
        let rows: Vec<Value> = rows.iter().map(|row| asked(row, of(row))).collect();
        say_json(&json!(rows));
        return;
    }
    let mut table = Table::new(&PROVIDER_COLUMNS);
    for row in rows {
        let [provider, usual, address, advice] = provider_cells(row);
        let (status, advice) = match of(row).map(|server| (server, &server.models)) {
            None => (usual, advice),
            Some((_, Ok(models))) => {
                ((Tone::Good, "running".to_owned()), (Tone::Plain, one_line(&inventory(models), NAME)))
            }
            Some((server, Err(NoList::NotRunning { .. }))) => {
                let advice = server.advice.clone().unwrap_or_default();
                ((Tone::Dim, "not running".to_owned()), (Tone::Plain, plain(&advice)))
            }
            Some((server, Err(why))) => {
                let told = with_advice(why.to_string(), server);
                ((Tone::Warn, "no list".to_owned()), (Tone::Plain, plain(&told)))
            }
        };
        table.row([provider, status, address, advice]);
    }
    table.say();
}

fn inventory(models: &[Discovered]) -> String {
    let names: Vec<String> = models.iter().map(selector).collect();
    match names.as_slice() {
        [] => "it has no models".to_owned(),
        names => format!("{}: {}", counted(names.len() as u64, "model"), names.join(", ")),
    }
}

/// The row with what the server said; a hint stays only where there is something to do.
fn asked(row: &Usability, server: Option<&LocalServer>) -> Value {
    let mut told = json!(row);
    if let Some(server) = server {
        told["running"] = json!(!matches!(server.models, Err(NoList::NotRunning { .. } | NoList::NoAddress)));
        told["models"] = json!(server.models.as_deref().unwrap_or_default());
        told["hint"] = match &server.models {
            Ok(_) => Value::Null,
            Err(why) => json!(with_advice(why.to_string(), server)),
        };
    }
    told
}
