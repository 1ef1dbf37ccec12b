//! The `[permissions]` table of `harn.toml`: reading it, its rules, and the tests that rules carry.

use harn_core::decision::{Access, RuleSource};
use harn_core::tool::{Annotations, Class, SideEffect, ToolKind, ToolSpec};
use harn_core::{AutonomyTier, EffectKind, Timestamp, Verdict};
use serde_json::{Map, Value, json};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::desugar::ApprovalPolicy;
use crate::paths;
use crate::policy::Policy;
use crate::rule::{Layer, Match, PolicyError, Rule, RuleTest};
use crate::subject::{Subject, mentions};

/// What `harn.toml` says about permissions.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PermissionsFile {
    pub approval_policy: ApprovalPolicy,
    /// Paths that usually hold secrets are not denied.
    pub allow_sensitive_paths: bool,
    /// Absolute folders outside of the workspace in which calls may work.
    pub external_roots: Vec<String>,
    pub rules: Vec<Rule>,
}

/// What came of one test of a rule.
#[derive(Clone, Debug, PartialEq)]
pub struct TestReport {
    /// The rule that carries the test.
    pub rule: String,
    /// Its place among the rule's tests, from zero.
    pub case: usize,
    pub test: RuleTest,
    pub got: Verdict,
    pub decided_by: String,
    pub reason: String,
}

impl TestReport {
    pub fn passed(&self) -> bool {
        let rule = self.test.rule.as_ref();
        self.got == self.test.expect && rule.is_none_or(|rule| *rule == self.decided_by)
    }
}

const KEYS: &[&str] = &[
    "auto_approve",
    "auto_deny",
    "require_approval",
    "write_path_allowlist",
    "allow_sensitive_paths",
    "external_roots",
    "rules",
];

impl PermissionsFile {
    /// Reads the table; the other tables of the file are not looked at.
    pub fn parse(toml_text: &str) -> Result<Self, PolicyError> {
        let wrong = |at: usize, problem: String| PolicyError::File { line: line(toml_text, at), problem };
        let document = DeTable::parse(toml_text)
            .map_err(|error| wrong(error.span().map_or(0, |span| span.start), error.message().to_owned()))?;
        let mut file = Self::default();
        let Some(permissions) = document.get_ref().get("permissions") else { return Ok(file) };
        let DeValue::Table(table) = permissions.get_ref() else {
            return Err(wrong(permissions.span().start, "`permissions` must be a table".into()));
        };
        for (key, value) in table {
            let globs = || {
                texts(value)
                    .map_err(|problem| wrong(value.span().start, format!("`{}` {problem}", key.get_ref())))
            };
            match key.get_ref().as_ref() {
                "auto_approve" => file.approval_policy.auto_approve = globs()?,
                "auto_deny" => file.approval_policy.auto_deny = globs()?,
                "require_approval" => file.approval_policy.require_approval = globs()?,
                "write_path_allowlist" => file.approval_policy.write_path_allowlist = globs()?,
                "external_roots" => file.external_roots = globs()?,
                "allow_sensitive_paths" => match value.get_ref() {
                    DeValue::Boolean(allowed) => file.allow_sensitive_paths = *allowed,
                    _ => {
                        return Err(wrong(
                            value.span().start,
                            "`allow_sensitive_paths` must be true or false".into(),
                        ));
                    }
                },
                "rules" => {
                    file.rules = rules(value).map_err(|(at, problem)| wrong(at, problem))?;
                }
                other => {
                    let known = KEYS.join(", ");
                    return Err(wrong(
                        key.span().start,
                        format!("unknown key `{other}` in [permissions]; known are {known}"),
                    ));
                }
            }
        }
        if let Some(root) = file.external_roots.iter().find(|root| !root.starts_with('/')) {
            return Err(wrong(
                permissions.span().start,
                format!("`external_roots`: `{root}` is not an absolute path"),
            ));
        }
        // What cannot be compiled is refused now, while its place is known.
        Policy::compile(file.layers())
            .map_err(|error| wrong(place(table, &error).unwrap_or(0), error.to_string()))?;
        Ok(file)
    }

    pub fn layers(&self) -> Vec<Layer> {
        let mut rules = self.rules.clone();
        let waiver = |id: &str, builtin: &str, path| {
            Rule::new(id, Verdict::Allow, Match { waives: Some(builtin.into()), path, ..Match::default() })
        };
        if self.allow_sensitive_paths {
            rules.push(waiver("allow_sensitive_paths", "builtin.sensitive_path", None));
        }
        if !self.external_roots.is_empty() {
            let below = self.external_roots.iter().map(|root| globset::escape(root.trim_end_matches('/')));
            let globs: Vec<String> = below.flat_map(|root| [format!("{root}/**"), root]).collect();
            rules.push(waiver("external_roots", "builtin.outside_workspace", Some(globs.into())));
        }
        vec![Layer { source: RuleSource::Rules, rules }, self.approval_policy.layer()]
    }

    /// Decides every test of every rule, with tools taken for what their names and arguments say.
    pub fn run_tests(&self) -> Vec<TestReport> {
        self.run_tests_with(&[])
    }

    /// The same with real tools; those that are not among them are taken for what they say.
    pub fn run_tests_with(&self, tools: &[ToolSpec]) -> Vec<TestReport> {
        let Ok(policy) = Policy::compile(self.layers()) else { return Vec::new() };
        let cases =
            self.rules.iter().flat_map(|rule| rule.tests.iter().enumerate().map(move |case| (rule, case)));
        cases
            .map(|(rule, (case, test))| {
                let spec = tools.iter().find(|spec| spec.name == test.tool).cloned();
                let spec = spec.unwrap_or_else(|| assumed_tool(&test.tool, &test.args));
                let located = mentions(&spec, &test.args)
                    .into_iter()
                    .map(|(text, access)| paths::locate(&text, access));
                let located: Vec<_> = located.collect();
                let decision = policy.decide(&Subject {
                    effect: EffectKind::Tool,
                    name: &test.tool,
                    spec: Some(&spec),
                    args: &test.args,
                    model: None,
                    paths: &located,
                    tier: test.tier.unwrap_or(AutonomyTier::ActWithApproval),
                    persona: None,
                    session: "",
                    workspace: "",
                    submitter: "",
                    trust: Default::default(),
                    now: Timestamp::from_millis(0),
                });
                TestReport {
                    rule: rule.id.clone(),
                    case,
                    test: test.clone(),
                    got: decision.action,
                    decided_by: decision.matched_rule.id,
                    reason: decision.reason,
                }
            })
            .collect()
    }
}

/// A tool as its name and the names of its arguments suggest it.
fn assumed_tool(name: &str, args: &Map<String, Value>) -> ToolSpec {
    let reads = ["read", "list", "search", "grep", "glob", "view", "get", "find"]
        .iter()
        .any(|verb| name.starts_with(verb));
    let command = args.contains_key("command").then(|| "command".to_owned());
    let access = if reads { Access::Read } else { Access::Write };
    let of = |names: &[&str]| {
        names.iter().filter(|name| args.contains_key(**name)).map(|name| (*name).to_owned()).collect()
    };
    let path_args: Vec<String> = of(&["path", "file", "from", "to", "source", "destination", "directory"]);
    let urls: Vec<String> = of(&["url", "host", "uri"]);
    let (kind, side_effect) = match () {
        () if command.is_some() => (ToolKind::Execute, SideEffect::ProcessExec),
        () if !urls.is_empty() => (ToolKind::Fetch, SideEffect::Network),
        () if reads => (ToolKind::Read, SideEffect::ReadOnly),
        () => (ToolKind::Edit, SideEffect::WorkspaceWrite),
    };
    ToolSpec {
        name: name.to_owned(),
        description: String::new(),
        input_schema: json!({}),
        output_schema: json!({}),
        class: Class::Once,
        side_effect,
        annotations: Annotations {
            kind,
            paths: path_args.into_iter().map(|arg| (arg, access)).collect(),
            command,
            network: args.contains_key("network").then(|| "network".to_owned()),
            urls,
            capabilities: Vec::new(),
        },
    }
}

fn line(text: &str, at: usize) -> usize {
    text.as_bytes()[..at.min(text.len())].iter().filter(|byte| **byte == b'\n').count() + 1
}

fn texts(value: &Spanned<DeValue<'_>>) -> Result<Vec<String>, &'static str> {
    let DeValue::Array(items) = value.get_ref() else { return Err("must be a list of texts") };
    let text = |item: &Spanned<DeValue<'_>>| match item.get_ref() {
        DeValue::String(text) => Some(text.to_string()),
        _ => None,
    };
    items.iter().map(text).collect::<Option<_>>().ok_or("must be a list of texts")
}

fn rules(value: &Spanned<DeValue<'_>>) -> Result<Vec<Rule>, (usize, String)> {
    let DeValue::Array(items) = value.get_ref() else {
        return Err((value.span().start, "`rules` must be a list of tables: [[permissions.rules]]".into()));
    };
    let read = items.iter().enumerate().map(|(at, item)| match json_of(item.get_ref()) {
        Value::Object(map) => Rule::from_map(map, Some(at + 1)).map_err(|error| {
            let problem = error.to_string();
            let key = problem.split_once("unknown key `").and_then(|(_, rest)| rest.split_once('`'));
            let place = key.and_then(|(key, _)| key_place(item.get_ref(), key));
            (place.unwrap_or(item.span().start), problem)
        }),
        _ => Err((item.span().start, "a rule must be a table".into())),
    });
    read.collect()
}

/// Where the rule stands that an error is about.
fn place(table: &DeTable<'_>, error: &PolicyError) -> Option<usize> {
    let id = match error {
        PolicyError::Rule { rule, .. } => rule,
        PolicyError::Duplicate { id } => id,
        PolicyError::File { .. } => return None,
    };
    let DeValue::Array(items) = table.get("rules")?.get_ref() else { return None };
    let named = |item: &&Spanned<DeValue<'_>>| {
        matches!(item.get_ref(), DeValue::Table(rule) if
            matches!(rule.get("id").map(Spanned::get_ref), Some(DeValue::String(text)) if text == id))
    };
    let unnamed =
        id.strip_prefix("rule-").and_then(|place| items.get(place.parse::<usize>().ok()?.checked_sub(1)?));
    items.iter().rfind(named).or(unnamed).map(|item| item.span().start)
}

/// Where a key stands, anywhere below a value. TOML itself limits how deep that is.
fn key_place(value: &DeValue<'_>, wanted: &str) -> Option<usize> {
    match value {
        DeValue::Table(table) => table.iter().find_map(|(key, value)| {
            if key.get_ref() == wanted { Some(key.span().start) } else { key_place(value.get_ref(), wanted) }
        }),
        DeValue::Array(items) => items.iter().find_map(|item| key_place(item.get_ref(), wanted)),
        _ => None,
    }
}

fn json_of(value: &DeValue<'_>) -> Value {
    match value {
        DeValue::String(text) => Value::from(text.as_ref()),
        DeValue::Integer(number) => {
            i64::from_str_radix(number.as_str(), number.radix()).map_or(Value::Null, Value::from)
        }
        DeValue::Float(number) => number.as_str().parse::<f64>().map_or(Value::Null, Value::from),
        DeValue::Boolean(truth) => Value::from(*truth),
        DeValue::Datetime(instant) => Value::from(instant.to_string()),
        DeValue::Array(items) => items.iter().map(|item| json_of(item.get_ref())).collect(),
        DeValue::Table(table) => {
            let entries =
                table.iter().map(|(key, value)| (key.get_ref().to_string(), json_of(value.get_ref())));
            Value::Object(entries.collect())
        }
    }
}
