//! Other spellings of permissions, and the rules that they mean.

use harn_core::decision::{RuleSource, Trust};
use harn_core::hash::Sha256Hash;
use harn_core::{Decision, Verdict};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::policy::Policy;
use crate::rule::{Layer, Match, Patterns, Rule};
use crate::subject::Subject;

/// The approval policy of the bridge protocol: four lists of globs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ApprovalPolicy {
    /// Tools that need nobody's word.
    pub auto_approve: Vec<String>,
    /// Tools that are never used.
    pub auto_deny: Vec<String>,
    /// Tools about which a person is asked.
    pub require_approval: Vec<String>,
    /// When not empty, the only paths that may be written.
    pub write_path_allowlist: Vec<String>,
}

impl ApprovalPolicy {
    pub fn layer(&self) -> Layer {
        let tools = |list: &[String], name: &str, action| {
            let rules = list.iter().map(|glob| {
                let when = Match { tool: Some(glob.as_str().into()), ..Match::default() };
                Rule::new(format!("{name}:{glob}"), action, when)
            });
            rules.collect::<Vec<_>>()
        };
        let mut rules = tools(&self.auto_deny, "auto_deny", Verdict::Deny);
        if !self.write_path_allowlist.is_empty() {
            let when = Match {
                not_path: Some(self.write_path_allowlist.clone().into()),
                access: Some("write".into()),
                ..Match::default()
            };
            rules.push(Rule {
                reason: Some("writes are limited to `write_path_allowlist`".into()),
                ..Rule::new("write_path_allowlist", Verdict::Deny, when)
            });
        }
        rules.extend(tools(&self.require_approval, "require_approval", Verdict::Ask));
        rules.extend(tools(&self.auto_approve, "auto_approve", Verdict::Allow));
        Layer { source: RuleSource::ApprovalPolicy, rules: without_repeats(rules) }
    }
}

impl ApprovalPolicy {
    /// The policy that a script brings along; whatever else it says is not about approvals.
    pub fn of_script(value: &Value) -> Option<Self> {
        let fields = value.as_object()?;
        let list = |name: &str| match fields.get(name) {
            Some(Value::Array(items)) => items.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
            Some(Value::String(one)) => vec![one.clone()],
            _ => Vec::new(),
        };
        Some(Self {
            auto_approve: list("auto_approve"),
            auto_deny: list("auto_deny"),
            require_approval: list("require_approval"),
            write_path_allowlist: list("write_path_allowlist"),
        })
    }

    /// The stricter one of a decision and of what this policy says.
    pub fn narrow(&self, decision: Decision, subject: &Subject<'_>) -> Decision {
        match Policy::compile(vec![self.layer()]) {
            Ok(policy) => {
                let own = policy.decide(&Subject { trust: Trust::Own, ..*subject });
                if own.action > decision.action { own } else { decision }
            }
            Err(error) => Decision {
                action: Verdict::Deny,
                reason: format!("The approval policy of the script is not understood: {error}"),
                ..decision
            },
        }
    }
}

/// The same glob twice in a list is the same rule.
fn without_repeats(rules: Vec<Rule>) -> Vec<Rule> {
    let mut seen = std::collections::HashSet::new();
    rules.into_iter().filter(|rule| seen.insert(rule.id.clone())).collect()
}

/// The policy document of the REST interface.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PermissionPolicy {
    /// Globs over paths that may be read.
    pub read: Vec<String>,
    /// Globs over paths that may be written.
    pub write: Vec<String>,
    /// Globs over commands that may be run.
    pub exec: Vec<String>,
    /// Globs over hosts that may be reached.
    pub net: Vec<String>,
    pub llm: LlmPolicy,
    pub redact: RedactPolicy,
    /// Who is asked.
    pub escalate_to: Vec<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LlmPolicy {
    /// When not empty, the only providers that may be called.
    pub providers: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_ceiling_usd_cents: Option<u64>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RedactPolicy {
    pub transcript: Vec<String>,
    pub logs: Vec<String>,
}

impl PermissionPolicy {
    pub fn layer(&self) -> Layer {
        let mut rules = Vec::new();
        let mut allow = |class: &str, globs: &[String], when: fn(Patterns) -> Match| {
            rules.extend(globs.iter().map(|glob| {
                Rule::new(format!("{class}:{glob}"), Verdict::Allow, when(glob.as_str().into()))
            }));
        };
        allow("read", &self.read, |glob| Match {
            path: Some(glob),
            access: Some("read".into()),
            ..Match::default()
        });
        allow("write", &self.write, |glob| Match {
            path: Some(glob),
            access: Some("write".into()),
            ..Match::default()
        });
        allow("exec", &self.exec, |glob| Match { command: Some(glob), ..Match::default() });
        allow("net", &self.net, |glob| Match { host: Some(glob), ..Match::default() });
        if !self.llm.providers.is_empty() {
            let when = Match {
                effect: Some("model".into()),
                not_provider: Some(self.llm.providers.clone().into()),
                ..Match::default()
            };
            rules.push(Rule::new("llm.providers", Verdict::Deny, when));
        }
        Layer { source: RuleSource::Policy, rules: without_repeats(rules) }
    }

    /// The hash of the document in one spelling: keys sorted, no blanks.
    pub fn version(&self) -> String {
        // `serde_json::Value` keeps its keys sorted unless a feature says otherwise, so they are sorted here.
        let value = serde_json::to_value(self).unwrap_or_default();
        let mut text = String::new();
        canonical(&value, &mut text);
        Sha256Hash::of(text.as_bytes()).prefixed()
    }
}

fn canonical(value: &serde_json::Value, out: &mut String) {
    match value {
        serde_json::Value::Object(map) => {
            let mut keys: Vec<&String> = map.keys().collect();
            keys.sort();
            out.push('{');
            for (at, key) in keys.into_iter().enumerate() {
                if at > 0 {
                    out.push(',');
                }
                out.push_str(&serde_json::Value::from(key.as_str()).to_string());
                out.push(':');
                canonical(&map[key], out);
            }
            out.push('}');
        }
        serde_json::Value::Array(items) => {
            out.push('[');
            for (at, item) in items.iter().enumerate() {
                if at > 0 {
                    out.push(',');
                }
                canonical(item, out);
            }
            out.push(']');
        }
        other => out.push_str(&other.to_string()),
    }
}
