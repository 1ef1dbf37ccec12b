//! What scripts can ask about providers, models and tools. Only the check of a provider leaves this machine.

mod pick;
mod register;
mod rows;

use std::sync::Arc;

use harn_core::chat::ModelRef;
use harn_core::tool::{Class, SideEffect, ToolKind};
use harn_model::catalog::{Availability, Catalog, Resolved, SelectorError};
use harn_model::{CatalogView, Models};
use serde_json::{Value, json};

pub(crate) use register::added_provider;

use super::args::{Args, word};
use super::simple::{Answer, Simple, reads};
use crate::script::escape;
use crate::tools::{Tool, ToolContext, ToolFailure};

pub fn calls() -> Vec<Arc<dyn Tool>> {
    let (name, about) = ("catalog_check", "Asks a provider whether it is there.");
    vec![
        reads("catalog", "What is known about providers and models.", answer),
        Simple::waiting(name, about, Class::Read, SideEffect::Network, check).kind(ToolKind::Fetch).call(),
        register::call(),
    ]
}

const QUESTIONS: &str = "providers, available, config, models, model, resolve, infer, tier, catalog, capabilities, \
                         prices, qc_model, pick, tool";

fn answer(ctx: &ToolContext, args: &Args) -> Answer {
    let question = word(args, "question");
    let asked = Asked(args.get("args").unwrap_or(&Value::Null));
    let held;
    let view = match ctx.models.catalog() {
        Some(view) => view,
        // Without a source nothing can be called, and what is known holds all the same.
        None => {
            held = Catalog::builtin();
            CatalogView { catalog: &held, variables: |_| None }
        }
    };
    let known = Known { view, models: &ctx.models };
    let answer = match question {
        "providers" => json!(known.providers()),
        "available" => json!(known.available()),
        "config" => known.config(asked.provider(), own_model(ctx).as_ref()),
        "models" => known.models_of(asked.provider()),
        "model" => known.model(asked.model()?)?,
        "resolve" => known.resolve(asked.model()?),
        "infer" => known.infer(asked.model()?).into(),
        "tier" => known.tier(asked.model()?).into(),
        "catalog" => view.catalog.export_for(&view.variables),
        "capabilities" => match (asked.provider(), asked.model()) {
            (None, Err(told)) => {
                let own = own_model(ctx).ok_or(told)?;
                known.capabilities(Some(&own.provider), &own.model)?
            }
            (provider, model) => known.capabilities(provider, model.unwrap_or_default())?,
        },
        "prices" => known.prices(asked.provider(), asked.model()?),
        "qc_model" => pick::smallest(view.catalog, asked.provider().unwrap_or_default()).into(),
        "pick" => known.pick(asked.model()?, asked.provider())?,
        "tool" => tool(ctx, asked.model()?),
        other => {
            let message = format!("The catalog cannot be asked for `{other}`; ask for one of {QUESTIONS}.");
            return Err(ToolFailure::categorised("invalid_request", message));
        }
    };
    Ok(escape(answer))
}

/// The model of calls that name none. A run that was started without one has the one that is configured.
fn own_model(ctx: &ToolContext) -> Option<ModelRef> {
    match ctx.model.model.as_str() {
        "" => ctx.models.resolve("").ok(),
        _ => Some(ctx.model.clone()),
    }
}

/// The arguments of a question: a dict, or the one word that it is about.
struct Asked<'a>(&'a Value);

impl<'a> Asked<'a> {
    fn word(&self, names: &[&str]) -> Option<&'a str> {
        let named = || names.iter().find_map(|name| self.0[*name].as_str());
        self.0.as_str().or_else(named).map(str::trim).filter(|word| !word.is_empty())
    }

    fn provider(&self) -> Option<&'a str> {
        match self.0 {
            Value::Object(_) => self.word(&["provider"]).or_else(|| self.0["options"]["provider"].as_str()),
            _ => self.word(&[]),
        }
    }

    fn model(&self) -> Result<&'a str, ToolFailure> {
        let names = ["model", "model_id", "alias", "selector", "target", "id", "name"];
        self.word(&names).ok_or_else(|| {
            ToolFailure::categorised("invalid_request", "The question needs the name that it is about.")
        })
    }
}

/// What can be told.
struct Known<'a> {
    view: CatalogView<'a>,
    models: &'a Models,
}

impl Known<'_> {
    /// Those of the catalog, and those that were given by themselves.
    fn providers(&self) -> Vec<String> {
        let mut ids: Vec<String> = self.view.catalog.providers().map(|row| row.id.clone()).collect();
        for given in self.models.given() {
            if !ids.contains(&given.provider) {
                ids.push(given.provider);
            }
        }
        ids
    }

    /// A local server counts: whether it runs shows when it is called or checked.
    fn available(&self) -> Vec<String> {
        let usable = self
            .view
            .catalog
            .usable(&self.view.variables)
            .into_iter()
            .filter(|usable| matches!(usable.status, Availability::Available | Availability::NotProbed));
        let mut ids: Vec<String> = usable.map(|usable| usable.provider).collect();
        for given in self.models.given() {
            if !ids.contains(&given.provider) {
                ids.push(given.provider);
            }
        }
        ids
    }

    fn config(&self, provider: Option<&str>, own: Option<&ModelRef>) -> Value {
        let CatalogView { catalog, variables } = self.view;
        if let Some(name) = provider {
            let row = catalog.provider(name);
            return row.map_or(Value::Null, |row| rows::provider(row, &variables));
        }
        let usual = catalog.default_for(&variables).ok().flatten().map(|usual| usual.model.reference());
        let rows: Vec<Value> = catalog.providers().map(|row| rows::provider(row, &variables)).collect();
        json!({
            "model": own.map(|own| &own.model),
            "provider": own.map(|own| &own.provider),
            "default_provider": usual.as_ref().map(|usual| &usual.provider),
            "default_model": usual.as_ref().map(|usual| &usual.model),
            "providers": rows,
        })
    }

    fn models_of(&self, provider: Option<&str>) -> Value {
        let catalog = self.view.catalog;
        let wanted = provider.map(|name| catalog.provider(name).map_or(name, |row| &row.id));
        let entries = catalog.models().filter(|entry| wanted.is_none_or(|id| entry.provider == id));
        entries.map(rows::model).collect()
    }

    /// The model that a name means. One that a known provider may have, but the catalog does not, has no entry.
    fn found(&self, name: &str) -> Result<Resolved<'_>, SelectorError> {
        self.view.catalog.resolve(name)?.ok_or(SelectorError::Malformed)
    }

    fn model(&self, name: &str) -> Answer {
        let given = self.models.given().into_iter().find(|given| given.model == name);
        match (self.found(name), given) {
            (Ok(Resolved { entry: Some(entry), .. }), _) => Ok(rows::model(entry)),
            (Ok(found), _) => Ok(rows::unknown(&found.provider.id, &found.model)),
            (Err(_), Some(given)) => Ok(rows::unknown(&given.provider, &given.model)),
            (Err(error), None) => Err(not_found(&error)),
        }
    }

    /// A name that nobody knows stands for itself.
    fn resolve(&self, name: &str) -> Value {
        match self.found(name) {
            Ok(found) => json!({
                "id": found.model, "model": found.model, "provider": found.provider.id, "alias": name,
                "tier": self.tier(name), "known": found.entry.is_some(),
            }),
            Err(_) => json!({
                "id": name, "model": name, "provider": self.infer(name), "alias": name,
                "tier": self.tier(name), "known": false,
            }),
        }
    }

    fn infer(&self, name: &str) -> String {
        if let Ok(found) = self.found(name) {
            return found.provider.id.clone();
        }
        if let Some(given) = self.models.given().into_iter().find(|given| given.model == name) {
            return given.provider;
        }
        let usual = || {
            let usual = self.view.catalog.default_for(&self.view.variables).ok().flatten()?;
            Some(usual.model.provider.id.clone())
        };
        let guess = pick::provider_by_name(name).map(str::to_owned);
        guess.or_else(usual).unwrap_or_else(|| "anthropic".into())
    }

    fn tier(&self, name: &str) -> &'static str {
        let entry = self.found(name).ok().and_then(|found| found.entry);
        entry.and_then(|entry| entry.tier).map_or("mid", pick::tier_word)
    }

    fn capabilities(&self, provider: Option<&str>, model: &str) -> Answer {
        let selector = match provider {
            Some(provider) if !model.is_empty() && provider != model => format!("{provider}:{model}"),
            _ => model.to_owned(),
        };
        match self.found(&selector) {
            Ok(found) => Ok(rows::capabilities(found.provider, &found.model, found.entry)),
            Err(error) => {
                let only = provider.and_then(|name| self.view.catalog.provider(name));
                only.map(|row| rows::capabilities(row, model, None)).ok_or_else(|| not_found(&error))
            }
        }
    }

    fn prices(&self, provider: Option<&str>, model: &str) -> Value {
        let pair = provider.filter(|provider| *provider != model).map(|name| format!("{name}:{model}"));
        let found = self.found(pair.as_deref().unwrap_or(model)).ok();
        let prices = found.and_then(|found| found.entry).and_then(|entry| entry.prices);
        prices.map_or(Value::Null, |prices| rows::prices(&prices))
    }

    fn pick(&self, target: &str, provider: Option<&str>) -> Answer {
        let provider = provider.filter(|provider| *provider != target);
        let available = self.available();
        if let Some(entry) = pick::of_tier(self.view.catalog, target, provider, &available) {
            return Ok(picked(rows::model(entry), &available));
        }
        let selector = provider.map_or_else(|| target.to_owned(), |name| format!("{name}:{target}"));
        Ok(picked(self.model(&selector)?, &available))
    }
}

fn picked(mut row: Value, available: &[String]) -> Value {
    let is_available = available.iter().any(|id| row["provider"] == **id);
    row["available"] = is_available.into();
    row
}

fn not_found(error: &SelectorError) -> ToolFailure {
    ToolFailure::categorised("not_found", error.to_string())
}

/// A tool of the harness, as a model would be shown it; nil for one that there is not.
fn tool(ctx: &ToolContext, name: &str) -> Value {
    let spec = ctx.tools.iter().find(|spec| spec.name == name);
    spec.map_or(Value::Null, |spec| {
        json!({
            "name": spec.name,
            "description": spec.description,
            "input_schema": spec.input_schema,
            "output_schema": spec.output_schema,
            "side_effect": spec.side_effect,
            "kind": spec.annotations.kind,
        })
    })
}

async fn check(ctx: ToolContext, args: Args) -> Answer {
    let told = |provider: Option<&str>, is_valid: bool, message: String, metadata: Value| {
        Ok(json!({ "provider": provider, "valid": is_valid, "message": message, "metadata": metadata }))
    };
    let nothing = json!({ "base_url": null, "models": null, "hint": null });
    let usual = || {
        let view = ctx.models.catalog()?;
        let usual = view.catalog.default_for(&view.variables).ok().flatten()?;
        Some(usual.model.provider.id.clone())
    };
    let named = args.get("provider").and_then(Value::as_str).map(str::to_owned).or_else(usual);
    let Some(name) = named else { return told(None, false, "No provider is set up.".to_owned(), nothing) };
    let Some(check) = ctx.models.check(&name) else {
        let is_given = name == "mock" || ctx.models.given().iter().any(|given| given.provider == name);
        let message = match is_given {
            true => "It answers by itself.".to_owned(),
            false => format!("There is no provider `{name}`; `harn providers list` shows all."),
        };
        return told(Some(&name), is_given, message, nothing);
    };
    let checked = check.await;
    let (count, message) = match &checked.models {
        Ok(count) => (Some(*count), format!("{name} is reachable.")),
        Err(why) => (None, format!("{name}: {why}.")),
    };
    let metadata = json!({ "base_url": checked.base_url, "models": count, "hint": checked.advice });
    told(Some(&checked.provider), count.is_some(), message, metadata)
}
