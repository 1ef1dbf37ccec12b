//! Rules as people write them: one action, what it is about, and how both are read and written.

use std::collections::BTreeMap;

use harn_core::decision::RuleSource;
use harn_core::{AutonomyTier, Timestamp, Verdict};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use serde_json::{Map, Value};

/// Why rules were refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PolicyError {
    #[error("rule `{rule}`: {problem}")]
    Rule { rule: String, problem: String },
    #[error("two rules are called `{id}`; give each its own id")]
    Duplicate { id: String },
    #[error("harn.toml, line {line}: {problem}")]
    File { line: usize, problem: String },
}

/// One pattern or several, any of which may match.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Patterns(pub Vec<String>);

impl From<&str> for Patterns {
    fn from(one: &str) -> Self {
        Self(vec![one.to_owned()])
    }
}

impl From<String> for Patterns {
    fn from(one: String) -> Self {
        Self(vec![one])
    }
}

impl From<Vec<String>> for Patterns {
    fn from(several: Vec<String>) -> Self {
        Self(several)
    }
}

impl Serialize for Patterns {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0.as_slice() {
            [one] => serializer.serialize_str(one),
            several => several.serialize(serializer),
        }
    }
}

macro_rules! dimensions {
    ($($(#[doc = $doc:literal])+ $dim:ident;)*) => {
        /// What a rule is about. Dimensions are joined by "and", patterns of one dimension by "or".
        #[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
        pub struct Match {
            $($(#[doc = $doc])+ #[serde(skip_serializing_if = "Option::is_none")] pub $dim: Option<Patterns>,)*
            /// Arguments by name, and globs over their text.
            #[serde(skip_serializing_if = "BTreeMap::is_empty")]
            pub args: BTreeMap<String, Patterns>,
        }

        impl Match {
            /// Every key that a match may have.
            pub const KEYS: &'static [&'static str] = &[$(stringify!($dim),)* "args"];

            fn set(&mut self, key: &str, patterns: Patterns) -> bool {
                match key {
                    $(stringify!($dim) => self.$dim = Some(patterns),)*
                    _ => return false,
                }
                true
            }
        }
    };
}

dimensions! {
    /// `tool`, `model`, `inbox`, `question`, `compaction`.
    effect;
    /// Globs over the tool's name.
    tool;
    /// The kinds of ACP: `read`, `edit`, `execute` …
    tool_kind;
    /// A level, or `>=level`.
    side_effect;
    /// Globs over paths.
    path;
    /// The path matches none of these.
    not_path;
    /// `read` or `write`.
    access;
    /// Globs over the text of a simple command.
    command;
    /// Globs over program and subcommand, such as `git push`.
    command_identity;
    /// Globs over host names.
    host;
    /// Globs over URLs.
    url;
    /// Globs over the model's provider.
    provider;
    /// The provider matches none of these.
    not_provider;
    /// Globs over the model's name, with or without `provider/`.
    model;
    /// Globs over the server in `mcp:<server>/<tool>`.
    mcp_server;
    /// Globs over the tool in `mcp:<server>/<tool>`.
    mcp_tool;
    /// The persona that acts; the same as `persona`.
    agent;
    /// Globs over the persona's name.
    persona;
    /// Names of autonomy tiers.
    tier;
    /// Globs over capabilities such as `workspace.write_text`.
    capability;
    /// Globs over the session's id.
    session;
    /// Globs over the workspace's id.
    workspace;
    /// Globs over who submitted the task.
    user;
    /// Built-in denials that do not hold for the path: `builtin.sensitive_path`, `builtin.outside_workspace`.
    waives;
}

impl Match {
    fn from_map(map: Map<String, Value>) -> Result<Self, String> {
        let mut read = Self::default();
        for (key, value) in map {
            let name = match key.as_str() {
                "domain" => "host",
                "mode" => "tier",
                other => other,
            };
            if name == "args" {
                let Value::Object(args) = value else { return Err("`args` must be a table of globs".into()) };
                for (arg, value) in args {
                    let patterns = patterns(value).ok_or_else(|| wanted(&format!("args.{arg}")))?;
                    read.args.insert(arg, patterns);
                }
                continue;
            }
            let patterns = patterns(value).ok_or_else(|| wanted(&key))?;
            if !read.set(name, patterns) {
                return Err(format!("unknown key `{key}` in match; known are {}", Self::KEYS.join(", ")));
            }
        }
        Ok(read)
    }
}

fn wanted(key: &str) -> String {
    format!("`{key}` must be a text or a list of texts")
}

fn patterns(value: Value) -> Option<Patterns> {
    match value {
        Value::String(one) => Some(Patterns(vec![one])),
        Value::Array(several) => several
            .into_iter()
            .map(|one| one.as_str().map(str::to_owned))
            .collect::<Option<_>>()
            .map(Patterns),
        _ => None,
    }
}

/// A call that a rule's author expects to come out in a certain way.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RuleTest {
    pub tool: String,
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub args: Map<String, Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tier: Option<AutonomyTier>,
    pub expect: Verdict,
    /// The rule that has to decide; any when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
}

/// One rule.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Rule {
    pub id: String,
    pub action: Verdict,
    #[serde(rename = "match")]
    pub when: Match,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tests: Vec<RuleTest>,
}

impl Rule {
    pub fn new(id: impl Into<String>, action: Verdict, when: Match) -> Self {
        Self { id: id.into(), action, when, reason: None, expires_at: None, tests: Vec::new() }
    }

    /// Reads `{action, match}` and `{ask: match}` alike. `position` counts from one and names a rule without id.
    pub(crate) fn from_map(
        mut map: Map<String, Value>,
        position: Option<usize>,
    ) -> Result<Self, PolicyError> {
        let id = match map.remove("id") {
            None => position.map(|position| format!("rule-{position}")).unwrap_or_default(),
            Some(Value::String(id)) if !id.is_empty() => id,
            Some(_) => {
                let rule = format!("rule-{}", position.unwrap_or(1));
                return Err(PolicyError::Rule { rule, problem: "`id` must be a text".into() });
            }
        };
        Self::fields(&id, map).map_err(|problem| {
            let rule = if id.is_empty() { "without id".to_owned() } else { id.clone() };
            PolicyError::Rule { rule, problem }
        })
    }

    fn fields(id: &str, mut map: Map<String, Value>) -> Result<Self, String> {
        let mut spelt: Vec<(Verdict, Value)> = Vec::new();
        let short = [("allow", Verdict::Allow), ("ask", Verdict::Ask), ("deny", Verdict::Deny)];
        for (key, action) in short {
            spelt.extend(map.remove(key).map(|when| (action, when)));
        }
        if let Some(action) = map.remove("action") {
            let action = serde_json::from_value(action).map_err(|_| "`action` must be allow, ask or deny")?;
            let when = map.remove("match").unwrap_or_else(|| Value::Object(Map::new()));
            spelt.push((action, when));
        }
        let (action, when) = match (spelt.pop(), spelt.is_empty()) {
            (Some(one), true) => one,
            (None, _) => return Err("it says neither `action` nor one of `allow`, `ask`, `deny`".into()),
            (Some(_), false) => return Err("it says more than one action".into()),
        };
        let Value::Object(when) = when else { return Err("what it matches must be a table".into()) };
        let mut rule = Self::new(id, action, Match::from_map(when)?);
        for (key, value) in map {
            match (key.as_str(), value) {
                ("reason", Value::String(reason)) => rule.reason = Some(reason),
                ("reason", _) => return Err("`reason` must be a text".into()),
                ("expires_at", value) => {
                    let instant = value.get("$__toml_private_datetime").cloned().unwrap_or(value);
                    let read = serde_json::from_value(instant);
                    rule.expires_at =
                        Some(read.map_err(|_| "`expires_at` must be an RFC 3339 time with its zone")?);
                }
                ("tests", value) => {
                    rule.tests = serde_json::from_value(value).map_err(|error| format!("tests: {error}"))?;
                }
                _ => {
                    return Err(format!(
                        "unknown key `{key}`; known are id, action, match, allow, ask, deny, reason, expires_at, tests"
                    ));
                }
            }
        }
        Ok(rule)
    }
}

impl<'de> Deserialize<'de> for Rule {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::from_map(Map::deserialize(deserializer)?, None).map_err(de::Error::custom)
    }
}

impl<'de> Deserialize<'de> for Match {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::from_map(Map::deserialize(deserializer)?).map_err(de::Error::custom)
    }
}

/// Rules of one origin, in their order.
#[derive(Clone, Debug, PartialEq)]
pub struct Layer {
    pub source: RuleSource,
    pub rules: Vec<Rule>,
}
