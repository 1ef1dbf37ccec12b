//! Whether a rule speaks about an act: widely for deny and ask, narrowly for allow.

use std::borrow::Cow;

use harn_core::decision::Access;
use serde_json::Value;

use crate::command::Command;
use crate::facts::{Act, Facts, SeenPath};
use crate::lookalike::fold;
use crate::matcher::{Breadth, Clause, Compiled, DIMS, Dim, Hits, Sets};
use crate::network;
use crate::paths;
use crate::reading::Touch;
use crate::shell::RedirectKind;

/// Which patterns matched which value of the call.
pub struct Evidence {
    /// Of every dimension about the whole call, by its number: one list per value, wide and narrow.
    call: Vec<[Vec<Hits>; 2]>,
    paths: Vec<PathHits>,
    commands: Vec<CommandHits>,
    hosts: Vec<[Hits; 2]>,
    /// The text of a script that was not understood.
    script: Hits,
}

struct PathHits {
    /// Under any name, in the wide set.
    any_name: Hits,
    leads: Hits,
    /// Of the wide set: what could be among that which is searched, or which a pattern stands for.
    reached: Hits,
}

#[derive(Default)]
struct CommandHits {
    wide: Hits,
    wide_identity: Hits,
    narrow: Hits,
    narrow_identity: Hits,
}

/// Whether a path is what a rule names, or may only turn out to be.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Nearness {
    Named,
    Reached,
}

impl Evidence {
    pub fn gather(facts: &Facts<'_>, sets: &Sets) -> Self {
        let hits = |dim, breadth, values: &mut dyn Iterator<Item = &str>| {
            let side = sets.side(dim, breadth);
            let mut hits = Hits::new();
            if !side.is_empty() {
                values.for_each(|value| side.hits(breadth, value, &mut hits));
            }
            hits
        };
        let one = |dim, breadth, value: &str| hits(dim, breadth, &mut std::iter::once(value));
        let paths = facts.paths.iter().map(|path| {
            let any_name = hits(Dim::Path, Breadth::Wide, &mut path.names.iter().map(String::as_str));
            let leads = hits(Dim::Path, Breadth::Narrow, &mut path.leads().into_iter());
            let side = sets.side(Dim::Path, Breadth::Wide);
            let mut reached: Hits =
                path.reaches().iter().flat_map(|pattern| side.overlapping(pattern)).collect();
            reached.sort_unstable();
            reached.dedup();
            PathHits { any_name, leads, reached }
        });
        let wide_commands = !sets.side(Dim::Command, Breadth::Wide).is_empty();
        let narrow_commands = !sets.side(Dim::Command, Breadth::Narrow).is_empty();
        let commands = facts.analysis.commands.iter().map(|command| {
            let texts = if wide_commands { wide_texts(command) } else { Vec::new() };
            let flat = if narrow_commands { flat_text(command) } else { None };
            let narrow = std::iter::once(command.text.as_str()).chain(flat.as_deref());
            let identity = command.identity.as_deref();
            let known_as = identity.into_iter().chain(command.program.as_deref());
            CommandHits {
                wide: hits(Dim::Command, Breadth::Wide, &mut texts.iter().map(String::as_str)),
                wide_identity: hits(
                    Dim::Identity,
                    Breadth::Wide,
                    &mut known_as.chain(command.wrappers.iter().map(String::as_str)),
                ),
                narrow: hits(Dim::Command, Breadth::Narrow, &mut { narrow }),
                narrow_identity: hits(Dim::Identity, Breadth::Narrow, &mut identity.into_iter()),
            }
        });
        let hosts = facts.hosts.iter();
        Self {
            call: call_hits(facts, sets),
            paths: paths.collect(),
            commands: commands.collect(),
            hosts: hosts
                .map(|host| [one(Dim::Host, Breadth::Wide, host), one(Dim::Host, Breadth::Narrow, host)])
                .collect(),
            script: hits(Dim::Command, Breadth::Wide, &mut facts.script.into_iter()),
        }
    }

    /// Whether what a rule says about the call as a whole holds.
    pub fn call_holds(&self, rule: &Compiled, facts: &Facts<'_>) -> bool {
        let subject = facts.subject;
        let breadth = Breadth::of(rule.action);
        let plain = rule.expires_at.is_none_or(|end| end > subject.now)
            && rule.effects.as_ref().is_none_or(|list| list.contains(&subject.effect))
            && rule.kinds.as_ref().is_none_or(|list| list.contains(&subject.kind()))
            && rule.tiers.as_ref().is_none_or(|list| list.contains(&subject.tier))
            && rule.reach.as_ref().is_none_or(|list| {
                list.iter()
                    .any(|(at_least, level)| facts.reach == *level || (*at_least && facts.reach > *level))
            });
        plain
            && rule.clauses.iter().filter(|clause| !clause.dim.about_acts()).all(|clause| {
                let lists = &self.call[clause.dim as usize][clause.breadth as usize];
                match breadth {
                    Breadth::Wide => lists.iter().any(|hits| clause.holds(hits)),
                    Breadth::Narrow => !lists.is_empty() && lists.iter().all(|hits| clause.holds(hits)),
                }
            })
            && rule.args.iter().all(|(arg, globs)| argument_holds(facts, breadth, arg, globs))
    }

    /// Deny and ask: some part of the act is what the rule speaks of.
    pub fn speaks_of(&self, rule: &Compiled, facts: &Facts<'_>, act: Act) -> bool {
        self.speaks(rule, facts, act, Nearness::Named)
    }

    /// Deny and ask: some part of the act may turn out to be what the rule speaks of.
    pub fn may_speak_of(&self, rule: &Compiled, facts: &Facts<'_>, act: Act) -> bool {
        rule.has(Dim::Path) && self.speaks(rule, facts, act, Nearness::Reached)
    }

    /// Whether anything of the act could be more than it names.
    pub fn reaches_further(&self, facts: &Facts<'_>, act: Act) -> bool {
        facts.act_paths(act).iter().any(|index| !self.paths[*index].reached.is_empty())
    }

    fn speaks(&self, rule: &Compiled, facts: &Facts<'_>, act: Act, nearness: Nearness) -> bool {
        if !rule.about_acts() {
            return true;
        }
        let command = match act {
            Act::Command(index) => {
                let hits = &self.commands[index];
                clauses(rule, Dim::Command).all(|clause| clause.holds(&hits.wide))
                    && clauses(rule, Dim::Identity).all(|clause| clause.holds(&hits.wide_identity))
            }
            Act::Unparsed => {
                clauses(rule, Dim::Command).all(|clause| clause.holds(&self.script))
                    && !rule.has(Dim::Identity)
            }
            _ => !rule.has(Dim::Command) && !rule.has(Dim::Identity),
        };
        if !command {
            return false;
        }
        let own = facts.act_paths(act).iter();
        let also: &[usize] = if matches!(act, Act::Command(_)) { &facts.argument_paths } else { &[] };
        let path = (!rule.has(Dim::Path) && rule.access.is_none())
            || own.chain(also).any(|index| self.path_spoken_of(rule, &facts.paths[*index], *index, nearness));
        path && (!rule.has(Dim::Host) || self.host_spoken_of(rule, facts, act))
    }

    fn path_spoken_of(&self, rule: &Compiled, path: &SeenPath, index: usize, nearness: Nearness) -> bool {
        let hits = &self.paths[index];
        let negated = clauses(rule, Dim::Path).any(|clause| clause.negated);
        let accessed = rule.access.as_ref().is_none_or(|list| {
            list.iter().any(|access| match (path.fact.access, access) {
                (Access::Mention, Access::Write) if negated => path.touch == Touch::Changes,
                (Access::Mention, Access::Write) => path.touch != Touch::Reads,
                (Access::Mention, _) => true,
                (is, wanted) => is == *wanted,
            })
        });
        let swallowed = negated && path.leads().is_some_and(paths::swallows);
        let named = match nearness {
            Nearness::Named => &hits.any_name,
            Nearness::Reached => &hits.reached,
        };
        accessed
            && !swallowed
            && clauses(rule, Dim::Path)
                .all(|clause| clause.holds(if clause.negated { &hits.leads } else { named }))
    }

    fn host_spoken_of(&self, rule: &Compiled, facts: &Facts<'_>, act: Act) -> bool {
        let all: Vec<usize> = match act {
            Act::Command(index) => facts.command_hosts[index].clone(),
            Act::Host(index) => vec![index],
            Act::Path(_) => (0..self.hosts.len()).collect(),
            Act::Whole | Act::Unparsed => Vec::new(),
        };
        let holds =
            |index: &usize| clauses(rule, Dim::Host).all(|clause| clause.holds(&self.hosts[*index][0]));
        all.iter().any(holds)
    }

    /// Allow: the rule speaks of all of the act.
    pub fn covers(
        &self,
        rule: &Compiled,
        facts: &Facts<'_>,
        act: Act,
        permits_write: &dyn Fn(usize) -> bool,
    ) -> bool {
        if act == Act::Unparsed {
            return false;
        }
        if !rule.about_acts() {
            return true;
        }
        let about_command = rule.has(Dim::Command) || rule.has(Dim::Identity);
        let about_path = rule.has(Dim::Path) || rule.access.is_some();
        match act {
            Act::Whole | Act::Unparsed => false,
            Act::Path(index) => {
                !about_command && !rule.has(Dim::Host) && self.path_covered(rule, facts, index)
            }
            Act::Host(index) => !about_command && !about_path && self.host_covered(rule, index),
            Act::Command(index) => {
                let own_paths = &facts.command_paths[index];
                let own_hosts = &facts.command_hosts[index];
                let paths = !about_path
                    || (!own_paths.is_empty()
                        && own_paths.iter().all(|path| self.path_covered(rule, facts, *path)));
                let hosts = !rule.has(Dim::Host)
                    || (!own_hosts.is_empty() && own_hosts.iter().all(|host| self.host_covered(rule, *host)));
                about_command && paths && hosts && self.command_covered(rule, facts, index, permits_write)
            }
        }
    }

    fn command_covered(
        &self,
        rule: &Compiled,
        facts: &Facts<'_>,
        index: usize,
        permits_write: &dyn Fn(usize) -> bool,
    ) -> bool {
        let command = &facts.analysis.commands[index];
        let hits = &self.commands[index];
        let traits = command.traits;
        let plain = !traits.dynamic
            && !traits.steered
            && !traits.unknown_program
            && !traits.calls_function
            && command.plain_program();
        // Options before the subcommand may change what it does: `git -c core.pager=… log`.
        let direct = command.subcommand.is_none_or(|at| at == 1) && command.assignments.is_empty();
        plain
            && clauses(rule, Dim::Command).all(|clause| clause.holds(&hits.narrow))
            && clauses(rule, Dim::Identity).all(|clause| direct && clause.holds(&hits.narrow_identity))
            && facts.command_paths[index]
                .iter()
                .all(|path| facts.paths[*path].fact.access != Access::Write || permits_write(*path))
    }

    pub fn path_covered(&self, rule: &Compiled, facts: &Facts<'_>, index: usize) -> bool {
        let fact = &facts.paths[index].fact;
        let accessed = rule.access.as_ref().is_none_or(|list| list.contains(&fact.access));
        let hits = &self.paths[index];
        accessed
            && clauses(rule, Dim::Path)
                .all(|clause| clause.holds(if clause.negated { &hits.any_name } else { &hits.leads }))
    }

    fn host_covered(&self, rule: &Compiled, index: usize) -> bool {
        clauses(rule, Dim::Host).all(|clause| clause.holds(&self.hosts[index][1]))
    }
}

fn clauses(rule: &Compiled, dim: Dim) -> impl Iterator<Item = &Clause> {
    rule.clauses.iter().filter(move |clause| clause.dim == dim)
}

/// The dimensions about the whole call.
const CALL_DIMS: [Dim; 11] = [
    Dim::Tool,
    Dim::Url,
    Dim::Provider,
    Dim::Model,
    Dim::McpServer,
    Dim::McpTool,
    Dim::Persona,
    Dim::Capability,
    Dim::Session,
    Dim::Workspace,
    Dim::User,
];

/// Of every dimension about the whole call, by its number: one list per value, wide and narrow.
fn call_hits(facts: &Facts<'_>, sets: &Sets) -> Vec<[Vec<Hits>; 2]> {
    let mut call: Vec<[Vec<Hits>; 2]> = (0..DIMS).map(|_| Default::default()).collect();
    for dim in CALL_DIMS {
        let sides = [Breadth::Wide, Breadth::Narrow].map(|breadth| (breadth, sets.side(dim, breadth)));
        if sides.iter().all(|(_, side)| side.is_empty()) {
            continue;
        }
        let values = call_values(facts, dim);
        call[dim as usize] = sides.map(|(breadth, side)| {
            let hit = |value: &Cow<'_, str>| {
                let mut hits = Hits::new();
                match (dim, breadth) {
                    (Dim::Url, Breadth::Narrow) => {
                        side.hits(breadth, &network::parted_url(value).unwrap_or_default(), &mut hits);
                    }
                    _ => side.hits(breadth, value, &mut hits),
                }
                hits
            };
            values.iter().filter(|_| !side.is_empty()).map(hit).collect()
        });
    }
    call
}

fn call_values<'f>(facts: &'f Facts<'_>, dim: Dim) -> Vec<Cow<'f, str>> {
    let subject = facts.subject;
    let mcp = || subject.name.strip_prefix("mcp:").and_then(|name| name.split_once('/'));
    let one = |value: Option<&'f str>| value.map(Cow::from).into_iter().collect();
    match dim {
        Dim::Tool => one(Some(subject.name)),
        Dim::Url => facts.urls.iter().map(|url| Cow::from(*url)).collect(),
        Dim::Provider => one(subject.model.map(|model| model.provider.as_str())),
        Dim::Model => {
            let full = subject.model.map(|model| format!("{}/{}", model.provider, model.model).into());
            full.into_iter().collect()
        }
        Dim::McpServer => one(mcp().map(|(server, _)| server)),
        Dim::McpTool => one(mcp().map(|(_, tool)| tool)),
        Dim::Persona => one(subject.persona),
        Dim::Capability => {
            let notes = subject.spec.map(|spec| spec.annotations.capabilities.as_slice()).unwrap_or_default();
            notes.iter().map(|text| text.as_str().into()).collect()
        }
        Dim::Session => one(Some(subject.session)),
        Dim::Workspace => one(Some(subject.workspace)),
        Dim::User => one(Some(subject.submitter)),
        Dim::Path | Dim::Command | Dim::Identity | Dim::Host => Vec::new(),
    }
}

fn argument_holds(facts: &Facts<'_>, breadth: Breadth, arg: &str, globs: &globset::GlobSet) -> bool {
    let subject = facts.subject;
    let Some(value) = subject.args.get(arg) else { return false };
    let text = match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    if breadth == Breadth::Wide {
        return globs.is_match(&*fold(&text)) || globs.is_match(text.as_str());
    }
    let annotations = subject.spec.map(|spec| &spec.annotations);
    // An allowance over a whole script would also allow what is appended to it; so every command has to match.
    if annotations.is_some_and(|notes| notes.command.as_deref() == Some(arg)) {
        let commands = &facts.analysis.commands;
        return facts.analysis.unparsed.is_none()
            && !commands.is_empty()
            && commands.iter().all(|command| {
                !command.traits.dynamic && !command.traits.steered && globs.is_match(command.text.as_str())
            });
    }
    let is_path = annotations.is_some_and(|notes| notes.paths.iter().any(|(name, _)| name == arg));
    let climbs = is_path && text.split('/').any(|part| part == "..");
    !climbs && globs.is_match(text.as_str())
}

/// The command in every spelling that a denial may have meant.
fn wide_texts(command: &Command) -> Vec<String> {
    let words =
        |from: usize| command.words[from.min(command.words.len())..].iter().map(|word| word.text.as_str());
    let raw = words(0).collect::<Vec<_>>().join(" ");
    let mut texts = vec![command.text.clone()];
    if let Some(program) = command.program.as_deref() {
        texts.push(std::iter::once(program).chain(words(1)).collect::<Vec<_>>().join(" "));
        if let (Some(at), Some(identity)) = (command.subcommand, command.identity.as_deref()) {
            texts.push(std::iter::once(identity).chain(words(at + 1)).collect::<Vec<_>>().join(" "));
        }
    }
    texts.extend(command.wrappers.iter().map(|wrapper| format!("{wrapper} {raw}")));
    texts.push(raw);
    texts.sort();
    texts.dedup();
    texts
}

/// The text without quotes, when that cannot be mistaken for another command.
fn flat_text(command: &Command) -> Option<String> {
    let plain = |text: &str| !text.is_empty() && !text.contains(char::is_whitespace);
    let clear = command.assignments.is_empty()
        && command.plain_program()
        && command.words.iter().all(|word| plain(&word.text))
        && command.redirects.iter().all(|redirect| redirect.kind != RedirectKind::HereString);
    let program = command.program.as_deref().filter(|_| clear)?;
    let words = std::iter::once(program).chain(command.args().iter().map(|word| word.text.as_str()));
    Some(words.collect::<Vec<_>>().join(" "))
}
