//! `harn models` and `harn providers`: the provider catalog, and whether a provider answers.

mod local;

use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Result;
use harn_core::budget::dollars;
use harn_core::chat::{ChatMessage, ModelRequest, Thinking};
use harn_model::catalog::{Availability, Catalog, DefaultModel, ModelEntry, Usability};
use harn_model::{Model, collect, connect};
use serde_json::json;

use super::{interruptible, say, say_json, wait_for};
use crate::args::{CatalogArgs, ModelsCommand, ProvidersCommand};
use crate::config::Config;
use crate::output::{Table, Tone, plain};
use crate::problem::Problem;
use crate::wiring::{environment, transport};

pub fn models(command: ModelsCommand) -> Result<ExitCode> {
    let ModelsCommand::List { provider, local, json, catalog } = command;
    let catalog = load(&catalog)?;
    let wanted = |model: &&ModelEntry| provider.as_deref().is_none_or(|name| model.provider == name);
    let rows: Vec<&ModelEntry> = catalog.models().filter(wanted).collect();
    if local {
        return local::ask(&catalog, provider.as_deref(), |servers| local::models(&rows, servers, json));
    }
    if json {
        say_json(&json!(rows));
        return Ok(ExitCode::SUCCESS);
    }
    let mut table = Table::new(&COLUMNS);
    for model in rows {
        table.row(cells(model));
    }
    table.say();
    Ok(ExitCode::SUCCESS)
}

const COLUMNS: [&str; 5] = ["MODEL", "ALIASES", "CONTEXT", "IN /M", "OUT /M"];

fn cells(model: &ModelEntry) -> [(Tone, String); 5] {
    let price = |price: Option<u64>| price.map_or("unknown".into(), dollars);
    let context = model.context_window.map_or("unknown".into(), |tokens| tokens.to_string());
    [
        (Tone::Plain, plain(&model.selector())),
        (Tone::Dim, plain(&model.aliases.join(", "))),
        (Tone::Plain, context),
        (Tone::Plain, price(model.prices.map(|prices| prices.rates.input))),
        (Tone::Plain, price(model.prices.map(|prices| prices.rates.output))),
    ]
}

pub fn providers(command: ProvidersCommand) -> Result<ExitCode> {
    match command {
        ProvidersCommand::List { local: true, json, catalog } => {
            let catalog = load(&catalog)?;
            let rows = catalog.usable(&environment);
            local::ask(&catalog, None, |servers| local::providers(&rows, servers, json))
        }
        ProvidersCommand::List { local: false, json, catalog } => list(&load(&catalog)?, json),
        ProvidersCommand::Export { catalog } => {
            say_json(&load(&catalog)?.export_for(&environment));
            Ok(ExitCode::SUCCESS)
        }
        ProvidersCommand::Test { selector, catalog } => {
            let catalog = load(&catalog)?;
            wait_for(interruptible(test(&catalog, selector.as_deref())))
        }
    }
}

fn load(args: &CatalogArgs) -> Result<Catalog> {
    Ok(Config::load(&args.root, args.config.as_deref())?.catalog)
}

fn list(catalog: &Catalog, json: bool) -> Result<ExitCode> {
    let rows: Vec<Usability> = catalog.usable(&environment);
    if json {
        say_json(&json!(rows));
        return Ok(ExitCode::SUCCESS);
    }
    let mut table = Table::new(&PROVIDER_COLUMNS);
    for row in &rows {
        table.row(provider_cells(row));
    }
    table.say();
    Ok(ExitCode::SUCCESS)
}

const PROVIDER_COLUMNS: [&str; 4] = ["PROVIDER", "STATUS", "ADDRESS", "WHAT TO DO"];

fn provider_cells(row: &Usability) -> [(Tone, String); 4] {
    let (tone, status) = match row.status {
        Availability::Available => (Tone::Good, "has a key"),
        Availability::MissingKey => (Tone::Dim, "no key"),
        Availability::MissingBaseUrl => (Tone::Dim, "no address"),
        Availability::NotProbed => (Tone::Plain, "local"),
        Availability::Unknown => (Tone::Dim, "unknown"),
    };
    [
        (Tone::Plain, plain(&row.provider)),
        (tone, status.to_owned()),
        (Tone::Dim, plain(row.base_url.as_deref().unwrap_or_default())),
        (Tone::Plain, plain(row.hint.as_deref().unwrap_or_default())),
    ]
}

/// A provider is tested with its default model.
fn model_of(catalog: &Catalog, selector: &str) -> Result<String> {
    let Some(provider) = catalog.provider(selector) else { return Ok(selector.to_owned()) };
    let id = &provider.id;
    match &provider.default_model {
        Some(model) => Ok(format!("{id}:{model}")),
        None => Err(Problem::new(format!("the provider {id} has no default model"))
            .hint(format!("name one of its models, as in `harn providers test {id}:MODEL`"))
            .into()),
    }
}

async fn test(catalog: &Catalog, selector: Option<&str>) -> Result<ExitCode> {
    let chosen = match selector {
        Some(selector) => catalog.resolve(&model_of(catalog, selector)?)?,
        None => catalog.default_for(&environment)?.map(|DefaultModel { model, .. }| model),
    };
    let Some(chosen) = chosen else {
        return Err(Problem::new("no provider has a key, so there is nothing to test")
            .hint("`harn providers list` says which variable to set")
            .into());
    };
    let model = connect(&chosen, &environment, &transport()?)?;
    let name = format!("{}:{}", chosen.provider.id, chosen.model);
    let request = ModelRequest {
        model: model.reference(),
        system: "Answer with one word.".into(),
        messages: Arc::new(vec![ChatMessage::user("Say ok.")]),
        tools: Arc::from([]),
        max_output_tokens: 64,
        thinking: Thinking::Off,
        output_schema: None,
        sampling: Default::default(),
    };
    match collect(model.stream(request)).await {
        Ok(answer) => {
            let usage = answer.usage;
            say(format_args!(
                "{name} answered `{}` ({} tokens in, {} out).",
                plain(answer.text.trim()),
                usage.input_tokens,
                usage.output_tokens
            ));
            Ok(ExitCode::SUCCESS)
        }
        Err(error) => Err(Problem::new(format!("{name} gave no answer"))
            .cause(error.to_string())
            .hint(format!("`harn explain {}` says more", error.code()))
            .into()),
    }
}
