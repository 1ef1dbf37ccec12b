//! `harn policy`: what is allowed, by which rule, and what was decided so far.

use std::path::Path;
use std::process::ExitCode;

use anyhow::Result;
use harn_core::decision::RuleSource;
use harn_core::{Decision, Verdict};
use harn_engine::tools::Registry;
use harn_wire::agents::{DecisionEntry, PermissionCheck, PermissionRule};
use serde_json::{Map, Value, json};

use super::{Need, say, say_json, show, speak};
use crate::api::{self, Cursor};
use crate::args::{CheckArgs, PolicyCommand};
use crate::config::Config;
use crate::connect::Connection;
use crate::output::{Table, Tone, one_line, paint, plain, relative};
use crate::problem::Problem;

const ASK: u8 = 10;
const DENY: u8 = 20;

pub fn run(command: PolicyCommand) -> Result<ExitCode> {
    match command {
        PolicyCommand::Check(args) => {
            let call = arguments(&args.args)?;
            speak(&args.target, Need::Any, async |c| check(c, &args, call).await)
        }
        PolicyCommand::Explain { event, json, target } => {
            speak(&target, Need::Existing, async |c| explain(c, &event, json).await)
        }
        PolicyCommand::Test { file, json } => test(&file, json),
        PolicyCommand::Rules { json, target } => {
            speak(&target, Need::Existing, async |c| rules(c, json).await)
        }
        PolicyCommand::Forget { rule, target } => {
            speak(&target, Need::Existing, async |c| forget(c, &rule).await)
        }
        PolicyCommand::History { task, limit, json, target } => {
            speak(&target, Need::Existing, async |c| history(c, task.as_deref(), limit, json).await)
        }
    }
}

async fn check(connection: &Connection, args: &CheckArgs, call: Map<String, Value>) -> Result<ExitCode> {
    let body = PermissionCheck {
        tool: args.tool.clone(),
        args: call,
        tier: args.tier.map(Into::into),
        workspace_id: args.workspace.clone(),
        session_id: None,
        persona_id: None,
    };
    let value = api::post(&connection.client, "/v1/permissions/check", &body).await?;
    let decision: Decision = api::typed(&value)?;
    if args.json {
        say_json(&value);
    } else {
        show::decision(&decision).say();
    }
    Ok(match decision.action {
        Verdict::Allow => ExitCode::SUCCESS,
        Verdict::Ask => ExitCode::from(ASK),
        Verdict::Deny => ExitCode::from(DENY),
    })
}

/// One JSON object, or `key=value` each.
fn arguments(given: &[String]) -> Result<Map<String, Value>> {
    if let [object] = given
        && object.trim_start().starts_with('{')
    {
        let wrong = |error: serde_json::Error| {
            Problem::usage("the arguments are not a JSON object")
                .cause(error.to_string())
                .hint("such as '{\"path\": \"a.txt\"}', or path=a.txt")
        };
        return Ok(serde_json::from_str(object).map_err(wrong)?);
    }
    let mut args = Map::new();
    for pair in given {
        let Some((key, text)) = pair.split_once('=').filter(|(key, _)| !key.is_empty()) else {
            return Err(Problem::usage(format!("`{pair}` is no argument"))
                .hint("write KEY=VALUE, or all arguments as one JSON object")
                .into());
        };
        let value = match text {
            "true" => Value::Bool(true),
            "false" => Value::Bool(false),
            _ => text.parse::<i64>().map_or_else(|_| Value::from(text), Value::from),
        };
        if args.insert(key.to_owned(), value).is_some() {
            return Err(Problem::usage(format!("the argument `{key}` was given twice")).into());
        }
    }
    Ok(args)
}

async fn explain(connection: &Connection, id: &str, json: bool) -> Result<ExitCode> {
    let event = api::get(&connection.client, &api::path(&["v1", "events", id])).await?;
    if json {
        say_json(&event);
        return Ok(ExitCode::SUCCESS);
    }
    let payload = &event["payload"];
    let kind = plain(event["event"].as_str().unwrap_or_default());
    let found = [&payload["policy_decision"], &payload["request"]["request"]["policy_decision"]];
    let Some(record) = found.into_iter().find(|record| record.is_object()) else {
        return Err(Problem::new(format!("the event {} ({kind}) tells of no decision", plain(id)))
            .hint("`harn policy history` lists the events that do")
            .into());
    };
    let decision: Decision = api::typed(record)?;
    say(paint(Tone::Dim, &format!("{} {kind}", plain(id))));
    let mut facts = show::decision(&decision);
    for answer in answers(payload) {
        facts.fact("answered", answer);
    }
    facts.fact("to change", change(&decision));
    facts.say();
    Ok(ExitCode::SUCCESS)
}

/// Who voted on the request that an event carries, and how.
fn answers(payload: &Value) -> Vec<String> {
    let votes = [&payload["request"]["response"]["votes"], &payload["votes"]];
    let votes = votes.into_iter().find_map(Value::as_array).into_iter().flatten();
    let told = votes.map(|vote| {
        let verdict = if vote["approved"] == true { "yes" } else { "no" };
        let who = plain(vote["reviewer"].as_str().unwrap_or_default());
        match vote["reason"].as_str() {
            Some(reason) => format!("{who}: {verdict}, {}", one_line(reason, 120)),
            None => format!("{who}: {verdict}"),
        }
    });
    told.collect()
}

/// Where the deciding rule can be changed.
fn change(decision: &Decision) -> String {
    let id = plain(&decision.matched_rule.id);
    match decision.matched_rule.source {
        RuleSource::Tier => {
            "use a persona of another autonomy tier, or add a rule to [permissions] in harn.toml".into()
        }
        RuleSource::Builtin => {
            format!(
                "this holds for everybody; a rule in harn.toml with waives = \"{id}\" lifts it for some calls"
            )
        }
        RuleSource::CommandLine => "start it again with other words after --allow and --deny".into(),
        RuleSource::Rules => format!("edit the rule `{id}` in harn.toml and start Harn again"),
        RuleSource::ApprovalPolicy => {
            format!("edit `{id}` in [permissions] of harn.toml and start Harn again")
        }
        RuleSource::Policy => "put another document to /v1/permissions/policy".into(),
        RuleSource::Remembered => format!("harn policy forget {id}"),
        RuleSource::Budget => "raise [budget] in harn.toml and start Harn again".into(),
    }
}

fn test(file: &Path, json: bool) -> Result<ExitCode> {
    let config = Config::load(Path::new("."), Some(file))?;
    let results = config.permissions.run_tests_with(&Registry::builtin().specs());
    let failed = results.iter().filter(|result| !result.passed()).count();
    if json {
        let shown = results.iter().map(|result| {
            json!({ "rule": result.rule, "case": result.case, "test": result.test, "got": result.got,
                    "decided_by": result.decided_by, "reason": result.reason, "passed": result.passed() })
        });
        say_json(&json!({ "tests": shown.collect::<Vec<_>>(), "failed": failed }));
    } else if results.is_empty() {
        say(format_args!("No rule in {} carries a test.", file.display()));
    } else {
        let mut table = Table::new(&["", "RULE", "CALL", "EXPECTED", "GOT", "BY"]);
        for result in &results {
            let (tone, sign) = if result.passed() { (Tone::Good, "ok") } else { (Tone::Bad, "FAILED") };
            let call = format!("{} {}", result.test.tool, Value::Object(result.test.args.clone()));
            table.row([
                (tone, sign.to_owned()),
                (Tone::Plain, format!("{}#{}", plain(&result.rule), result.case + 1)),
                (Tone::Plain, one_line(&call, 60)),
                (Tone::Plain, show::word(&result.test.expect)),
                (show::verdict_tone(result.got), show::word(&result.got)),
                (Tone::Dim, plain(&result.decided_by)),
            ]);
        }
        table.say();
        say(format_args!("{} tests, {failed} failed.", results.len()));
    }
    Ok(if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

async fn rules(connection: &Connection, json: bool) -> Result<ExitCode> {
    let client = &connection.client;
    let path = "/v1/permissions/rules";
    let found = api::newest(client, path, &[], Cursor::Page, usize::MAX, |_: &Value| true).await?;
    if json {
        say_json(&found.to_json());
        return Ok(ExitCode::SUCCESS);
    }
    let rules: Vec<PermissionRule> = found.typed()?;
    if rules.is_empty() {
        say("No rules were added or remembered. Those of harn.toml are in the file.");
        return Ok(ExitCode::SUCCESS);
    }
    let mut table = Table::new(&["RULE", "ACTION", "SCOPE", "CLASS", "TOOLS", "TARGETS", "ENDS"]);
    for PermissionRule { id, rule, .. } in rules {
        let of = [rule.session_id, rule.workspace_id, rule.user].into_iter().flatten().next();
        table.row([
            (Tone::Strong, plain(&id)),
            (show::verdict_tone(rule.action), show::word(&rule.action)),
            (Tone::Plain, plain(format!("{} {}", rule.scope, of.unwrap_or_default()).trim_end())),
            (Tone::Plain, plain(rule.class.as_deref().unwrap_or("any"))),
            (Tone::Plain, plain(rule.action_pattern.as_deref().unwrap_or("any"))),
            (Tone::Plain, one_line(rule.target_pattern.as_deref().unwrap_or("any"), 60)),
            (Tone::Dim, rule.expires_at.map_or_else(|| "never".into(), relative)),
        ]);
    }
    table.say();
    Ok(ExitCode::SUCCESS)
}

async fn forget(connection: &Connection, rule: &str) -> Result<ExitCode> {
    api::delete(&connection.client, &api::path(&["v1", "permissions", "rules", rule])).await?;
    say(format_args!("Removed {}.", plain(rule)));
    Ok(ExitCode::SUCCESS)
}

async fn history(connection: &Connection, task: Option<&str>, limit: u32, json: bool) -> Result<ExitCode> {
    let client = &connection.client;
    let filters = [("task_id", task)];
    let path = "/v1/permissions/history";
    let found = api::newest(client, path, &filters, Cursor::Event, limit as usize, |_: &Value| true).await?;
    if json {
        say_json(&found.to_json());
        return Ok(ExitCode::SUCCESS);
    }
    let entries: Vec<DecisionEntry> = found.typed()?;
    if entries.is_empty() {
        say("Nothing was decided yet.");
        return Ok(ExitCode::SUCCESS);
    }
    let mut table = Table::new(&["EVENT", "WHEN", "VERDICT", "CALL", "RULE", "ANSWERED BY"]);
    for entry in &entries {
        let decision = &entry.decision;
        table.row([
            (Tone::Strong, plain(&entry.event_id)),
            (Tone::Dim, relative(entry.created_at)),
            (show::verdict_tone(decision.action), show::word(&decision.action)),
            (Tone::Plain, plain(&decision.context.tool_name)),
            (Tone::Plain, plain(&decision.matched_rule.id)),
            (Tone::Plain, plain(&entry.answered_by.join(", "))),
        ]);
    }
    table.say();
    say(paint(Tone::Dim, "`harn policy explain EVENT` shows one of them."));
    Ok(ExitCode::SUCCESS)
}
