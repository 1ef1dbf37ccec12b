//! The words of `--allow` and `--deny`, and the rules that they mean.

use std::collections::BTreeSet;

use harn_core::decision::RuleSource;
use harn_core::narrowing::Narrowing;
use harn_core::tool::{SideEffect, ToolSpec};
use harn_core::{EffectKind, Verdict};

use crate::rule::{Layer, Match, Patterns, Rule};

/// Words for several calls at once.
const GROUPS: [&str; 6] = ["files", "process", "network", "models", "people", "host"];

/// Names of builtins that are made of calls of another name.
const MADE_OF: [(&str, &str); 8] = [
    ("exec_at", "exec"),
    ("shell_at", "shell"),
    ("llm_call", "models"),
    ("agent_loop", "models"),
    ("ask_user", "people"),
    ("host_call", "host"),
    ("secret_get", "secret"),
    ("event_log", "events"),
];

/// What words can mean: the calls of scripts, and the tools that agents in them use.
#[derive(Clone, Copy)]
pub struct Nameable<'a> {
    pub calls: &'a [ToolSpec],
    pub tools: &'a [ToolSpec],
}

/// The rules that the words mean. The error names a word that means nothing.
pub fn narrowing(words: &Narrowing, known: Nameable<'_>) -> Result<Layer, String> {
    let mut rules = Vec::new();
    for word in words.deny.iter().collect::<BTreeSet<_>>() {
        rules.extend(denials(&format!("--deny {word}"), &known.meant(word)?));
    }
    if !words.allow.is_empty() {
        let mut denied = known.everything();
        for word in &words.allow {
            let allowed = known.allowed(word)?;
            denied.retain(|effect| !allowed.contains(effect));
        }
        rules.extend(denials(&format!("--allow {}", words.allow.join(",")), &denied));
    }
    Ok(Layer { source: RuleSource::CommandLine, rules })
}

/// Something that can be denied: a kind of effect, or what of that kind has a name.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Named {
    effect: EffectKind,
    name: Option<String>,
}

impl Named {
    fn every(effect: EffectKind) -> Self {
        Self { effect, name: None }
    }
}

/// One rule for each kind of effect that is denied.
fn denials(id: &str, denied: &[Named]) -> Vec<Rule> {
    let mut rules: Vec<Rule> = Vec::new();
    for effect in [EffectKind::Call, EffectKind::Tool, EffectKind::Model, EffectKind::Question] {
        let of_kind = denied.iter().filter(|named| named.effect == effect);
        let names: Vec<String> = of_kind.clone().filter_map(|named| named.name.clone()).collect();
        if of_kind.count() == 0 {
            continue;
        }
        let tool = Some(names).filter(|names| !names.is_empty()).map(Patterns::from);
        let when = Match { effect: Some(effect.as_str().into()), tool, ..Match::default() };
        let id = if rules.is_empty() { id.to_owned() } else { format!("{id} ({})", effect.as_str()) };
        rules.push(Rule::new(id, Verdict::Deny, when));
    }
    rules
}

impl Nameable<'_> {
    /// What only looks at the clock or at the program itself is nothing that anybody would forbid.
    fn everything(self) -> Vec<Named> {
        let mut all = self.those(&|spec| spec.side_effect > SideEffect::None);
        all.extend([EffectKind::Model, EffectKind::Question].map(Named::every));
        all
    }

    fn those(self, test: &dyn Fn(&ToolSpec) -> bool) -> Vec<Named> {
        let of_kind = [(EffectKind::Call, self.calls), (EffectKind::Tool, self.tools)];
        let named = |effect, spec: &ToolSpec| Named { effect, name: Some(spec.name.clone()) };
        let found = of_kind.into_iter().flat_map(|(effect, specs)| {
            specs.iter().filter(|spec| test(spec)).map(move |spec| named(effect, spec))
        });
        found.collect()
    }

    /// A word allows no more than it says: running a program is more than the folder that it runs in.
    fn allowed(self, word: &str) -> Result<Vec<Named>, String> {
        if word != "files" {
            return self.meant(word);
        }
        let within = |spec: &ToolSpec| spec.side_effect <= SideEffect::WorkspaceWrite;
        Ok(self.those(&|spec| !spec.annotations.paths.is_empty() && within(spec)))
    }

    fn meant(self, word: &str) -> Result<Vec<Named>, String> {
        let made_of = MADE_OF.iter().find(|(name, _)| *name == word).map_or(word, |(_, part)| part);
        let found = match made_of {
            "models" => vec![Named::every(EffectKind::Model)],
            "people" => vec![Named::every(EffectKind::Question)],
            "files" => self.those(&|spec| !spec.annotations.paths.is_empty()),
            "process" => self.those(&|spec| spec.side_effect == SideEffect::ProcessExec),
            "network" => self.those(&|spec| !spec.annotations.urls.is_empty()),
            "host" => self.those(&|spec| spec.name.starts_with("host") || spec.name == "builtin_call"),
            _ if word.starts_with("http") => self.those(&|spec| spec.name.starts_with("http")),
            _ if word.starts_with("websocket") => self.those(&|spec| spec.name.starts_with("socket")),
            _ if word.starts_with("sse") => self.those(&|spec| spec.name.starts_with("sse")),
            name => self.those(&|spec| spec.name == name),
        };
        if found.is_empty() {
            return Err(format!(
                "--allow and --deny do not know `{word}`; known are {} and every call such as `read_file` or `exec`",
                GROUPS.join(", ")
            ));
        }
        Ok(found)
    }
}
