//! What a session or a persona says about the model of its runs: which one, how much it thinks, what it may spend.
//!
//! A session pins them in `metadata.harn`; a persona has them in its model policy. What a pin means is looked up when a
//! task starts, so that an alias can be pointed elsewhere; whether it means anything is checked when it is set.

use harn_core::chat::Thinking;
use harn_core::ports::Runner;
use harn_core::route::{ChosenBy, MOST_FALLBACKS};
use harn_core::run::Budget;
use harn_core::{Error, Metadata, Persona, Result, Session};
use serde_json::{Map, Value};

use crate::manifest::amount;

const PINS: [&str; 3] = ["model", "thought_level", "budget"];
/// Says: as if nothing were pinned.
const INHERIT: &str = "@inherit";
/// Longer than any budget is written.
const LONGEST_BUDGET: usize = 1024;

/// What a task of this session is started with.
#[derive(Clone, Debug, PartialEq)]
pub struct Wish<'a> {
    /// A selector; none for the configured model.
    pub model: Option<&'a str>,
    pub chosen_by: ChosenBy,
    pub thinking: Option<Thinking>,
    /// None for the configured ones.
    pub fallbacks: Option<Vec<String>>,
    pub budget: Budget,
}

impl<'a> Wish<'a> {
    /// The session comes first, then the persona. Fallbacks belong to the choice that they stand beside: who pins a
    /// model gets that one and no other.
    pub fn of(session: &'a Session, persona: Option<&'a Persona>) -> Self {
        let pins = session.metadata.get("harn").and_then(Value::as_object);
        let pin = |key: &str| pins.and_then(|pins| word(pins, key));
        let policy = persona.map(|persona| &persona.model_policy);
        let ruled = |key: &str| policy.and_then(|policy| word(policy, key));
        let listed = policy.and_then(|policy| policy.get("fallbacks")).and_then(Value::as_array);
        let listed = listed.map(|list| list.iter().filter_map(Value::as_str).map(str::to_owned).collect());
        let (model, chosen_by, fallbacks) = match (pin("model"), ruled("model")) {
            (Some(model), _) => (Some(model), ChosenBy::Session, Some(Vec::new())),
            (None, Some(model)) => (Some(model), ChosenBy::Persona, Some(listed.unwrap_or_default())),
            (None, None) => (None, ChosenBy::Configuration, listed),
        };
        let thinking = pin("thought_level").or_else(|| ruled("thought_level"));
        Self {
            model,
            chosen_by,
            thinking: thinking.and_then(|level| level.parse().ok()),
            fallbacks,
            budget: pin("budget").and_then(|text| budget(text).ok()).unwrap_or_default(),
        }
    }
}

/// A word that says something.
fn word<'a>(fields: &'a Metadata, key: &str) -> Option<&'a str> {
    fields.get(key).and_then(Value::as_str).map(str::trim).filter(|word| !word.is_empty() && *word != INHERIT)
}

/// Refuses pins that mean nothing. What else is below `harn` is left alone.
pub fn check(metadata: &Metadata, runner: &dyn Runner) -> Result<()> {
    let pins = match metadata.get("harn") {
        None | Some(Value::Null) => return Ok(()),
        Some(Value::Object(pins)) => pins,
        Some(_) => {
            let message = "`metadata.harn` must be an object, such as {\"model\": \"sonnet\"}.";
            return Err(Error::invalid("metadata.harn", message));
        }
    };
    check_model(pins, "metadata.harn", runner)?;
    check_thinking(pins, "metadata.harn")?;
    match text(pins, "budget", "metadata.harn")? {
        Some(told) => budget(told).map(|_| ()).map_err(|why| Error::invalid("metadata.harn.budget", why)),
        None => Ok(()),
    }
}

/// Refuses a model policy that means nothing. Keys that are not ours are left alone.
pub fn check_policy(policy: &Metadata, runner: &dyn Runner) -> Result<()> {
    check_model(policy, "model_policy", runner)?;
    check_thinking(policy, "model_policy")?;
    let param = "model_policy.fallbacks";
    let fallbacks = match policy.get("fallbacks") {
        None | Some(Value::Null) => return Ok(()),
        Some(Value::Array(list)) if list.len() <= MOST_FALLBACKS => list,
        Some(_) => {
            let message = format!("`{param}` must be a list of at most {MOST_FALLBACKS} model selectors.");
            return Err(Error::invalid(param, message));
        }
    };
    for (nth, selector) in fallbacks.iter().enumerate() {
        let param = format!("{param}[{nth}]");
        let named = selector.as_str().map(str::trim).filter(|word| !word.is_empty() && *word != INHERIT);
        let selector = named.ok_or_else(|| Error::invalid(&*param, format!("`{param}` names no model.")))?;
        runner.resolve(selector).map_err(|why| invalid_model(param, &why))?;
    }
    Ok(())
}

fn check_model(fields: &Metadata, place: &str, runner: &dyn Runner) -> Result<()> {
    match text(fields, "model", place)? {
        Some(selector) => {
            runner.resolve(selector).map(|_| ()).map_err(|why| invalid_model(format!("{place}.model"), &why))
        }
        None => Ok(()),
    }
}

fn invalid_model(param: String, why: &str) -> Error {
    let message = format!("`{param}` names no model that could be used: {why}.");
    // The codes of the protocol are a closed list, so the precise one is a detail.
    Error::invalid(param, message).detail("code", "invalid_model")
}

fn check_thinking(fields: &Metadata, place: &str) -> Result<()> {
    let Some(level) = text(fields, "thought_level", place)? else { return Ok(()) };
    let wrong = |why| Error::invalid(format!("{place}.thought_level"), format!("{why}."));
    level.parse::<Thinking>().map(|_| ()).map_err(wrong)
}

/// A field that must be text if it is there; none where it says to inherit.
fn text<'a>(fields: &'a Metadata, key: &str, place: &str) -> Result<Option<&'a str>> {
    match fields.get(key) {
        None | Some(Value::Null | Value::String(_)) => Ok(word(fields, key)),
        Some(_) => {
            let param = format!("{place}.{key}");
            Err(Error::invalid(&*param, format!("`{param}` must be text, or null for none.")))
        }
    }
}

/// The budget of a session as it is written: `off`, or the limits in JSON. It only ever narrows what holds anyway.
fn budget(text: &str) -> std::result::Result<Budget, String> {
    let mut budget = Budget::default();
    if text == "off" {
        return Ok(budget);
    }
    let form =
        "A budget is `@inherit`, `off`, or JSON such as {\"llm_cost_usd\": 0.05, \"llm_tokens\": 200000}";
    let fields: Map<String, Value> = Some(text)
        .filter(|text| text.len() <= LONGEST_BUDGET)
        .and_then(|text| serde_json::from_str(text).ok())
        .ok_or_else(|| format!("{form}."))?;
    for (name, value) in &fields {
        let limit = match name.as_str() {
            "llm_cost_usd" => &mut budget.micro_usd,
            "llm_tokens" => &mut budget.tokens,
            "mcp_calls" | "pg_queries" => {
                return Err(format!("Nothing counts `{name}` yet, so it cannot be limited; leave it out."));
            }
            _ => return Err(format!("{form}; it has no such limit.")),
        };
        let amount = amount(name, value);
        *limit = Some(amount.ok_or_else(|| format!("`{name}` must be a number that is not negative."))?);
    }
    Ok(budget)
}

/// Takes up what was said about pins: each one alone, and all of them with null.
pub fn take_up(metadata: &mut Metadata, said: Option<Value>) {
    let said = match said {
        None => return,
        Some(Value::Object(said)) => said,
        Some(_) => {
            metadata.remove("harn");
            return;
        }
    };
    let mut pins = match metadata.remove("harn") {
        Some(Value::Object(pins)) => pins,
        _ => Map::new(),
    };
    for (key, value) in said {
        let inherits = PINS.contains(&key.as_str())
            && value.as_str().is_some_and(|word| matches!(word.trim(), "" | INHERIT));
        if value.is_null() || inherits {
            pins.remove(&key);
        } else {
            pins.insert(key, value);
        }
    }
    if !pins.is_empty() {
        metadata.insert("harn".into(), Value::Object(pins));
    }
}

/// The pins of a session, for one that is forked off it.
pub fn carried(metadata: &Metadata) -> Option<Value> {
    let pins = metadata.get("harn")?.as_object()?;
    let carried = pins.iter().filter(|(key, _)| PINS.contains(&key.as_str()));
    Some(Value::Object(carried.map(|(key, value)| (key.clone(), value.clone())).collect()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_budget_is_read_in_the_words_of_session_options() {
        let limits = |micro_usd, tokens| Ok(Budget { micro_usd, tokens, seconds: None });
        let cases = [
            ("off", limits(None, None)),
            ("{}", limits(None, None)),
            (r#"{"llm_cost_usd":0.05,"llm_tokens":200000}"#, limits(Some(50_000), Some(200_000))),
            (r#"{"llm_tokens":0}"#, limits(None, Some(0))),
            (r#"{"mcp_calls":3}"#, Err("Nothing counts `mcp_calls` yet")),
            (r#"{"pg_queries":3}"#, Err("Nothing counts `pg_queries` yet")),
            (r#"{"llm_tokens":-1}"#, Err("`llm_tokens` must be a number")),
            (r#"{"llm_cost_usd":"1"}"#, Err("`llm_cost_usd` must be a number")),
            (r#"{"euros":1}"#, Err("A budget is")),
            ("none", Err("A budget is")),
            ("[1]", Err("A budget is")),
        ];
        for (text, expected) in cases {
            match (budget(text), expected) {
                (Ok(read), expected) => assert_eq!(Ok(read), expected, "{text}"),
                (Err(told), Err(start)) => assert!(told.starts_with(start), "{text}: {told}"),
                (Err(told), Ok(_)) => panic!("{text}: {told}"),
            }
        }
        assert!(budget(&format!("{{\"llm_tokens\":{}1}}", " ".repeat(LONGEST_BUDGET))).is_err());
    }

    #[test]
    fn pins_are_taken_up_one_by_one() {
        let cases = [
            (
                json!({}),
                json!({ "model": "a", "thought_level": "@inherit" }),
                json!({ "harn": { "model": "a" } }),
            ),
            (
                json!({ "harn": { "model": "a", "budget": "off" } }),
                json!({ "model": "" }),
                json!({ "harn": { "budget": "off" } }),
            ),
            (json!({ "harn": { "model": "a" } }), json!({ "model": null }), json!({})),
            (json!({ "harn": { "model": "a", "own": "" } }), json!(null), json!({})),
            (
                json!({ "harn": { "model": "a" }, "x": 1 }),
                json!({ "own": "" }),
                json!({ "harn": { "model": "a", "own": "" }, "x": 1 }),
            ),
        ];
        for (before, said, after) in cases {
            let mut metadata = before.as_object().unwrap().clone();
            take_up(&mut metadata, Some(said.clone()));
            assert_eq!(Value::Object(metadata), after, "{before} and {said}");
        }
    }
}
