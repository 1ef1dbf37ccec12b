//! One ordered list of rules, and the decision that it gives.

use std::collections::HashSet;

use harn_core::decision::{
    CommandFact, DecisionContext, DecisionTag, MatchedRule, PathFact, RiskLabel, RuleSource, Trust,
};
use harn_core::tool::SideEffect;
use harn_core::{Decision, EffectKind, Verdict};

use crate::builtin::{self, About, Builtin, TierRule, Waivers};
use crate::danger::Danger;
use crate::facts::{Act, Facts, SeenPath};
use crate::judge::Evidence;
use crate::lookalike::pretends;
use crate::matcher::{Breadth, Clause, Compiled, Compiler, Dim, Hits, Sets};
use crate::redact::redact;
use crate::rule::{Layer, Match, PolicyError, Rule};
use crate::subject::Subject;
use crate::{interactive, paths};

/// Compiled rules. Cheap to share, immutable.
#[derive(Debug)]
pub struct Policy {
    rules: Vec<Known>,
    waivers: Vec<(Builtin, Option<Clause>)>,
    sets: Sets,
}

#[derive(Debug)]
struct Known {
    source: RuleSource,
    id: String,
    index: u32,
    reason: Option<String>,
    compiled: Compiled,
}

/// Who decided about an act.
#[derive(Clone, Copy)]
enum Decider<'p> {
    Builtin(Builtin),
    Tier(&'p TierRule),
    /// Its place in the list.
    Rule(usize, &'p Known),
}

struct Ruling<'p> {
    verdict: Verdict,
    decider: Decider<'p>,
    act: Act,
}

impl Ruling<'_> {
    /// The place in the list of all rules.
    fn place(&self) -> (u8, usize) {
        match self.decider {
            Decider::Builtin(rule) if rule.action() == Verdict::Deny => (0, rule as usize),
            Decider::Tier(rule) if rule.action == Verdict::Deny => (1, 0),
            Decider::Rule(place, _) => (2, place),
            Decider::Builtin(rule) => (3, rule as usize),
            Decider::Tier(_) => (4, 0),
        }
    }
}

impl Default for Policy {
    fn default() -> Self {
        Self { rules: Vec::new(), waivers: Vec::new(), sets: Compiler::new().finish() }
    }
}

fn rank(source: RuleSource) -> u8 {
    match source {
        RuleSource::Builtin | RuleSource::Tier | RuleSource::Budget => 0,
        RuleSource::CommandLine => 1,
        RuleSource::Rules => 2,
        RuleSource::ApprovalPolicy => 3,
        RuleSource::Policy => 4,
        RuleSource::Remembered => 5,
    }
}

impl Policy {
    /// Puts the layers into their order. Built-in rules and tiers are always there and cannot be given.
    pub fn compile(mut layers: Vec<Layer>) -> Result<Self, PolicyError> {
        layers.sort_by_key(|layer| rank(layer.source));
        let mut compiler = Compiler::new();
        let (mut rules, mut waivers) = (Vec::new(), Vec::new());
        let mut ids: HashSet<(u8, String)> = HashSet::new();
        let (mut source, mut index) = (RuleSource::Builtin, 0);
        for layer in layers {
            if layer.source != source {
                (source, index) = (layer.source, 0);
            }
            for mut rule in layer.rules {
                if rule.id.is_empty() {
                    rule.id = format!("rule-{}", index + 1);
                }
                if !ids.insert((rank(source), rule.id.clone())) {
                    return Err(PolicyError::Duplicate { id: rule.id });
                }
                let wrong = |problem: String| PolicyError::Rule { rule: rule.id.clone(), problem };
                check(&rule, source).map_err(wrong)?;
                let compiled = compiler.rule(&rule).map_err(wrong)?;
                if let Some(waived) = &rule.when.waives {
                    let path = compiled.clauses.iter().find(|clause| clause.dim == Dim::Path).cloned();
                    for name in &waived.0 {
                        waivers.push((
                            waivable(name).ok_or_else(|| wrong(format!("`{name}` cannot be waived")))?,
                            path.clone(),
                        ));
                    }
                } else {
                    rules.push(Known { source, id: rule.id, index, reason: rule.reason, compiled });
                }
                index += 1;
            }
        }
        Ok(Self { rules, waivers, sets: compiler.finish() })
    }

    /// What is said to a call, for those who ask about very many paths.
    pub fn verdict(&self, subject: &Subject<'_>) -> Verdict {
        match subject.trust {
            Trust::Own if self.rules.is_empty() => builtin::own_script().action,
            _ => self.decide(subject).action,
        }
    }

    /// Judges a call act by act; the gravest verdict holds.
    pub fn decide(&self, subject: &Subject<'_>) -> Decision {
        let facts = Facts::of(subject);
        let evidence = Evidence::gather(&facts, &self.sets);
        let mut speaking: [Vec<(usize, &Known)>; 3] = Default::default();
        for (place, rule) in self.rules.iter().enumerate() {
            if evidence.call_holds(&rule.compiled, &facts) {
                speaking[rule.compiled.action as usize].push((place, rule));
            }
        }
        let bench = Bench {
            policy: self,
            facts: &facts,
            evidence: &evidence,
            speaking: &speaking,
            trust: subject.trust,
        };
        let (ceiling, default) = match subject.trust {
            Trust::Judged => {
                (builtin::ceiling(subject.tier, facts.reach), builtin::default(subject.tier, facts.reach))
            }
            Trust::Own => (None, builtin::own_script()),
        };
        let rulings = facts.acts.iter().filter_map(|act| bench.judge(*act, ceiling.as_ref(), &default));
        let ruling = rulings.reduce(graver);
        let ruling = ruling.unwrap_or(Ruling {
            verdict: default.action,
            decider: Decider::Tier(&default),
            act: Act::Whole,
        });
        record(&facts, &ruling)
    }
}

/// Of two allowances the later one in the list is told, since without it the call would not be allowed.
fn graver<'p>(one: Ruling<'p>, other: Ruling<'p>) -> Ruling<'p> {
    let first_wins = match one.verdict.cmp(&other.verdict) {
        std::cmp::Ordering::Greater => true,
        std::cmp::Ordering::Less => false,
        std::cmp::Ordering::Equal if one.verdict == Verdict::Allow => one.place() >= other.place(),
        std::cmp::Ordering::Equal => one.place() <= other.place(),
    };
    if first_wins { one } else { other }
}

fn check(rule: &Rule, source: RuleSource) -> Result<(), String> {
    if rank(source) == 0 {
        return Err("built-in rules, tiers and budgets cannot be given".into());
    }
    if rule.id.starts_with("builtin.") || rule.id.starts_with("tier.") || rule.id.starts_with("reach.") {
        return Err("ids that begin with `builtin.`, `tier.` or `reach.` are the harness's own".into());
    }
    let others = Match { waives: None, path: None, ..rule.when.clone() };
    if rule.when.waives.is_some() && (rule.action != Verdict::Allow || others != Match::default()) {
        return Err("`waives` goes with `allow` and `path` only".into());
    }
    Ok(())
}

fn waivable(name: &str) -> Option<Builtin> {
    [Builtin::SensitivePath, Builtin::OutsideWorkspace].into_iter().find(|rule| rule.id() == name)
}

impl Waivers for Policy {
    fn waived(&self, rule: Builtin, path: &SeenPath) -> bool {
        self.waivers.iter().filter(|(waived, _)| *waived == rule).any(|(_, clause)| {
            let Some(clause) = clause else { return true };
            let mut hits = Hits::new();
            if let Some(leads) = path.leads() {
                self.sets.side(Dim::Path, Breadth::Narrow).hits(Breadth::Narrow, leads, &mut hits);
            }
            clause.holds(&hits)
        })
    }
}

/// Everything that is needed to judge the acts of one call.
struct Bench<'p> {
    policy: &'p Policy,
    facts: &'p Facts<'p>,
    evidence: &'p Evidence,
    /// The rules that hold for the call as a whole, by their action.
    speaking: &'p [Vec<(usize, &'p Known)>; 3],
    trust: Trust,
}

impl<'p> Bench<'p> {
    /// None when the act does not count because another stands for it.
    fn judge(&self, act: Act, ceiling: Option<&'p TierRule>, default: &'p TierRule) -> Option<Ruling<'p>> {
        let ruling = |verdict, decider| Some(Ruling { verdict, decider, act });
        let is_judged = self.trust == Trust::Judged;
        if is_judged && let Some(rule) = builtin::denial(self.facts, act, self.policy) {
            return ruling(Verdict::Deny, Decider::Builtin(rule));
        }
        if let Some(rule) = ceiling {
            return ruling(Verdict::Deny, Decider::Tier(rule));
        }
        if let Some((place, rule)) = self.speaks(Verdict::Deny, act) {
            return ruling(Verdict::Deny, Decider::Rule(place, rule));
        }
        if let Some((place, rule)) = self.remembers_script() {
            return ruling(Verdict::Allow, Decider::Rule(place, rule));
        }
        let mut covering = self.covering(act);
        if let Some((place, rule)) = self.remembered(act) {
            return ruling(Verdict::Allow, Decider::Rule(place, rule));
        }
        if let Some((place, rule)) = self.speaks(Verdict::Ask, act).or_else(|| self.may_speak(act)) {
            return ruling(Verdict::Ask, Decider::Rule(place, rule));
        }
        let questions = match self.trust {
            Trust::Judged => builtin::questions(self.facts, act, self.policy),
            Trust::Own => Vec::new(),
        };
        let open = questions
            .into_iter()
            .find(|question| !covering.clone().any(|(_, rule)| lifts(&rule.compiled, act, *question)));
        if let Some(question) = open {
            return ruling(Verdict::Ask, Decider::Builtin(question));
        }
        if self.facts.stood_for(act) {
            return None;
        }
        if let Some((place, rule)) = covering.next() {
            return ruling(Verdict::Allow, Decider::Rule(place, rule));
        }
        if builtin::reads(self.facts, act, self.policy) {
            return ruling(Verdict::Allow, Decider::Builtin(Builtin::ReadingCommand));
        }
        ruling(default.action, Decider::Tier(default))
    }

    fn of_action(&self, action: Verdict) -> impl Iterator<Item = (usize, &'p Known)> + Clone + use<'p> {
        self.speaking[action as usize].iter().copied()
    }

    fn speaks(&self, action: Verdict, act: Act) -> Option<(usize, &'p Known)> {
        self.of_action(action).find(|(_, rule)| self.evidence.speaks_of(&rule.compiled, self.facts, act))
    }

    fn remembered(&self, act: Act) -> Option<(usize, &'p Known)> {
        let answers =
            self.of_action(Verdict::Allow).filter(|(_, rule)| rule.source == RuleSource::Remembered);
        let permits = |index: usize| self.permits_write(index);
        answers.into_iter().find(|(_, rule)| self.evidence.covers(&rule.compiled, self.facts, act, &permits))
    }

    /// A rule about paths that may hold for something that is searched, or that a pattern stands for.
    fn may_speak(&self, act: Act) -> Option<(usize, &'p Known)> {
        if !self.evidence.reaches_further(self.facts, act) {
            return None;
        }
        let both = self.of_action(Verdict::Deny).chain(self.of_action(Verdict::Ask));
        both.into_iter().find(|(_, rule)| self.evidence.may_speak_of(&rule.compiled, self.facts, act))
    }

    /// What was not understood may hold anything, so only an answer about exactly this script holds for it.
    fn remembers_script(&self) -> Option<(usize, &'p Known)> {
        let script = self.facts.script.filter(|_| self.facts.analysis.unparsed.is_some())?;
        self.of_action(Verdict::Allow).find(|(_, rule)| {
            rule.source == RuleSource::Remembered
                && rule.compiled.exact_commands.iter().any(|text| text == script)
        })
    }

    fn covering(&self, act: Act) -> impl Iterator<Item = (usize, &'p Known)> + Clone {
        let (facts, evidence) = (self.facts, self.evidence);
        let permits = move |index: usize| self.permits_write(index);
        self.of_action(Verdict::Allow)
            .filter(move |(_, rule)| evidence.covers(&rule.compiled, facts, act, &permits))
    }

    /// A redirect may go there: nowhere at all, or where an allow rule over paths says so.
    fn permits_write(&self, index: usize) -> bool {
        self.facts.paths[index].leads().is_some_and(paths::swallows)
            || self.of_action(Verdict::Allow).any(|(_, rule)| {
                let rule = &rule.compiled;
                let only_path = rule.has(Dim::Path) && !rule.has(Dim::Command) && !rule.has(Dim::Identity);
                only_path && self.evidence.path_covered(rule, self.facts, index)
            })
    }
}

/// A built-in question is answered by a rule that names what it is about.
fn lifts(rule: &Compiled, act: Act, question: Builtin) -> bool {
    let names_command = rule.has(Dim::Command) || rule.has(Dim::Identity);
    match (act, question.about()) {
        (Act::Path(_), _) => rule.has(Dim::Path),
        (_, About::Path) => names_command,
        // What stands inside of words may be a denial by itself.
        (_, About::Command) if question == Builtin::EmbeddedCommand => names_command,
        (_, About::Command) => names_command || rule.names_tool,
    }
}

fn record(facts: &Facts<'_>, ruling: &Ruling<'_>) -> Decision {
    let subject = facts.subject;
    let (source, id, index) = match ruling.decider {
        Decider::Builtin(rule) => (RuleSource::Builtin, rule.id().to_owned(), rule as u32),
        Decider::Tier(rule) => (RuleSource::Tier, rule.id.to_owned(), rule.index),
        Decider::Rule(_, rule) => (rule.source, rule.id.clone(), rule.index),
    };
    let mut paths: Vec<PathFact> = Vec::new();
    let mut told: HashSet<(&str, harn_core::decision::Access)> = HashSet::new();
    for path in &facts.paths {
        if facts.paths.len() == 1 || told.insert((&path.fact.asked, path.fact.access)) {
            paths.push(path.fact.clone());
        }
    }
    let mut hosts = facts.hosts.clone();
    hosts.sort();
    hosts.dedup();
    let found = facts.analysis.commands.iter().filter(|command| !command.traits.guessed);
    let mut commands: Vec<CommandFact> = found
        .map(|command| CommandFact { identity: command.identity.clone(), text: command.text.clone() })
        .collect();
    if let Some(script) = facts.script.filter(|_| facts.analysis.unparsed.is_some()) {
        commands.push(CommandFact { identity: None, text: script.to_owned() });
    }
    Decision {
        record: DecisionTag::Tag,
        action: ruling.verdict,
        // A reason is for people and for logs, and commands may hold secrets.
        reason: redact(&reason(facts, ruling)).into_owned(),
        matched_rule: MatchedRule { source, action: ruling.verdict, id, index },
        risk_labels: labels(facts, ruling),
        context: DecisionContext {
            effect: subject.effect,
            tool_name: subject.name.to_owned(),
            tool_kind: subject.kind(),
            side_effect: facts.reach,
            tier: subject.tier,
            paths,
            commands,
            hosts,
            capabilities: subject.spec.map(|spec| spec.annotations.capabilities.clone()).unwrap_or_default(),
        },
    }
}

fn reason(facts: &Facts<'_>, ruling: &Ruling<'_>) -> String {
    let what = facts.describe(ruling.act);
    let says = match ruling.verdict {
        Verdict::Allow => "allows it",
        Verdict::Ask => "asks a person first",
        Verdict::Deny => "denies it",
    };
    match ruling.decider {
        Decider::Builtin(rule) => {
            format!("{what}: the built-in rule `{}` {says}, because {}.", rule.id(), rule.because())
        }
        Decider::Tier(rule) => format!("{what}: {}.", rule.says),
        Decider::Rule(_, rule) => {
            let origin = match rule.source {
                RuleSource::CommandLine => "of the command line",
                RuleSource::Rules => "of harn.toml",
                RuleSource::ApprovalPolicy => "of the approval policy",
                RuleSource::Policy => "of the permission policy",
                RuleSource::Remembered => "from a remembered answer",
                RuleSource::Builtin | RuleSource::Tier | RuleSource::Budget => "of the harness",
            };
            let because =
                rule.reason.as_deref().map(|text| format!(", because: {}", text.trim_end_matches('.')));
            format!("{what}: the rule `{}` {origin} {says}{}.", rule.id, because.unwrap_or_default())
        }
    }
}

fn labels(facts: &Facts<'_>, ruling: &Ruling<'_>) -> Vec<RiskLabel> {
    let about = |dims: &[Dim], kind: About| match ruling.decider {
        Decider::Rule(_, rule) => dims.iter().any(|dim| rule.compiled.has(*dim)),
        Decider::Builtin(rule) => rule.about() == kind,
        Decider::Tier(_) => false,
    };
    let by_host = matches!(ruling.decider, Decider::Rule(_, rule) if rule.compiled.has(Dim::Host) || rule.compiled.has(Dim::Url));
    let commands = &facts.analysis.commands;
    let seen = |test: fn(&crate::command::Command) -> bool| {
        commands.iter().filter(|command| !command.traits.guessed).any(test)
    };
    let runs = facts.script.is_some() || facts.reach == SideEffect::ProcessExec;
    let checks = [
        (ruling.verdict == Verdict::Ask, RiskLabel::ApprovalRequired),
        (about(&[Dim::Path], About::Path), RiskLabel::PathRule),
        (about(&[Dim::Command, Dim::Identity], About::Command), RiskLabel::CommandRule),
        (by_host, RiskLabel::HostRule),
        (facts.reach == SideEffect::WorkspaceWrite, RiskLabel::WorkspaceWrite),
        (runs, RiskLabel::ProcessExec),
        (facts.reach == SideEffect::Network, RiskLabel::Network),
        (facts.subject.effect == EffectKind::Model, RiskLabel::Spending),
        (facts.acts.contains(&Act::Unparsed), RiskLabel::UnparsedCommand),
        (seen(|command| command.traits.dynamic || command.traits.unknown_program), RiskLabel::DynamicCommand),
        (seen(|command| command.traits.runs_input), RiskLabel::PipeToShell),
        (seen(|command| command.traits.inline_code), RiskLabel::InlineCode),
        (seen(|command| command.traits.privileged), RiskLabel::Privilege),
        (facts.analysis.fork_bomb || facts.dangers.iter().any(is_destructive), RiskLabel::Destructive),
        (seen(|command| interactive::waits(command).is_some()), RiskLabel::Interactive),
        (
            seen(|command| command.words.first().is_some_and(|word| pretends(&word.text))),
            RiskLabel::Lookalike,
        ),
        (seen(|command| command.traits.background), RiskLabel::Background),
    ];
    let mut labels: Vec<RiskLabel> =
        checks.into_iter().filter_map(|(holds, label)| holds.then_some(label)).collect();
    facts.paths.iter().for_each(|path| builtin::path_labels(path, &mut labels));
    labels.sort();
    labels.dedup();
    labels
}

fn is_destructive(danger: &Option<Danger>) -> bool {
    matches!(danger, Some(Danger::Ruin | Danger::Delete))
}
