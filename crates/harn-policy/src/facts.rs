//! A call taken apart: its commands, paths and hosts, each of which is judged by itself.

use std::collections::{HashMap, HashSet};

use harn_core::decision::{Access, PathFact};
use harn_core::tool::SideEffect;
use harn_core::{EffectKind, tool::ToolSpec};
use serde_json::Value;

use crate::analyse::{Analysis, analyse};
use crate::danger::{self, Danger};
use crate::embedded::runs_ruin;
use crate::lookalike::{disguised, fold};
use crate::reading::{self, Touch};
use crate::subject::{Subject, path_arguments};
use crate::{mention, network, paths, texts};

/// A path of the call, and what is done with it.
#[derive(Debug)]
pub struct SeenPath {
    pub fact: PathFact,
    /// Written in a command, so that only a redirect says what happens there.
    pub in_command: bool,
    pub touch: Touch,
    /// Every text under which it is known, the place where it leads first.
    pub names: Vec<String>,
    /// The same for comparing widely.
    pub folded: Vec<String>,
    /// Everything below it is looked at as well.
    pub searched: bool,
}

impl SeenPath {
    fn new(fact: PathFact, in_command: bool, touch: Touch, searched: bool) -> Self {
        let names: Vec<String> = paths::names(&fact).collect();
        let mut folded: Vec<String> = names.iter().map(|name| fold(name).into_owned()).collect();
        folded.extend(names.iter().filter_map(|name| disguised(name)));
        Self { fact, in_command, touch, names, folded, searched }
    }

    /// Patterns over the paths that it stands for, beyond its own names.
    pub fn reaches(&self) -> Vec<String> {
        let glob = |name: &&String| self.in_command && name.contains(['*', '?', '[']);
        let mut found: Vec<String> = self.names.iter().filter(glob).cloned().collect();
        if self.searched {
            let below = |name: &String| if name == "." { "**".to_owned() } else { format!("{name}/**") };
            found.extend(self.names.iter().map(below));
        }
        found
    }

    /// It is changed, as far as anybody knows.
    pub fn may_change(&self) -> bool {
        match self.fact.access {
            Access::Read => false,
            Access::Write => true,
            Access::Mention => self.touch != Touch::Reads,
        }
    }

    /// Where it leads, for comparing narrowly.
    pub fn leads(&self) -> Option<&str> {
        self.fact.workspace_path.as_deref().or(self.fact.host_path.as_deref())
    }
}

/// One act of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    /// The call as a whole, when it names nothing in particular.
    Whole,
    /// A simple command, with the paths and hosts that it names.
    Command(usize),
    /// A command that was not understood.
    Unparsed,
    Path(usize),
    Host(usize),
}

#[derive(Debug)]
pub struct Facts<'a> {
    pub subject: &'a Subject<'a>,
    pub reach: SideEffect,
    pub script: Option<&'a str>,
    pub analysis: Analysis,
    pub paths: Vec<SeenPath>,
    /// The paths of each command.
    pub command_paths: Vec<Vec<usize>>,
    pub command_hosts: Vec<Vec<usize>>,
    /// What is dangerous about each command.
    pub dangers: Vec<Option<Danger>>,
    pub argument_paths: Vec<usize>,
    pub hosts: Vec<String>,
    pub urls: Vec<&'a str>,
    pub acts: Vec<Act>,
}

impl<'a> Facts<'a> {
    pub fn of(subject: &'a Subject<'a>) -> Self {
        let annotations = subject.spec.map(|spec| &spec.annotations);
        let runs = annotations.and_then(|notes| notes.command.as_ref());
        let script = runs.and_then(|arg| subject.args.get(arg)).and_then(Value::as_str);
        let mut facts = Self {
            subject,
            reach: subject.side_effect(),
            script,
            analysis: script.map(analyse).unwrap_or_default(),
            paths: Vec::new(),
            command_paths: Vec::new(),
            command_hosts: Vec::new(),
            dangers: Vec::new(),
            argument_paths: Vec::new(),
            hosts: Vec::new(),
            urls: Vec::new(),
            acts: Vec::new(),
        };
        facts.take_apart_commands();
        facts.take_apart_arguments();
        if (runs.is_some() && script.is_none()) || facts.analysis.unparsed.is_some() {
            facts.acts.push(Act::Unparsed);
        }
        if facts.acts.is_empty() {
            facts.acts.push(Act::Whole);
        }
        facts
    }

    fn take_apart_commands(&mut self) {
        if self.analysis.commands.is_empty() {
            return;
        }
        let located: HashMap<(&str, Access), &PathFact> =
            self.subject.paths.iter().map(|fact| ((fact.asked.as_str(), fact.access), fact)).collect();
        let mut networked = self.reach == SideEffect::Network;
        for (index, command) in self.analysis.commands.iter().enumerate() {
            let touch = reading::touch(command);
            let searched = texts::searches(command);
            let mut own_paths = Vec::new();
            for (text, access) in mention::of_command(command) {
                // A shell expands these; whoever located the text as it stands saw another path.
                let expands = paths::leads_anywhere(&text);
                let fact = located
                    .get(&(text.as_str(), access))
                    .filter(|fact| !expands || fact.workspace_path.is_none());
                let fact = fact.map_or_else(|| paths::locate(&text, access), |fact| (*fact).clone());
                own_paths.push(self.paths.len());
                self.paths.push(SeenPath::new(fact, true, touch, searched));
            }
            self.command_paths.push(own_paths);
            let ruins = runs_ruin(command).then_some(Danger::Ruin);
            self.dangers.push(ruins.or_else(|| danger::of(command)));
            networked |= network::reaches_out(command);
            let mut own_hosts = Vec::new();
            if network::reaches_out(command) || self.reach == SideEffect::Network {
                for host in network::hosts(command) {
                    own_hosts.push(self.hosts.len());
                    self.hosts.push(host);
                }
            }
            self.command_hosts.push(own_hosts);
            self.acts.push(Act::Command(index));
        }
        if networked {
            self.reach = SideEffect::Network;
        }
    }

    fn take_apart_arguments(&mut self) {
        let subject = self.subject;
        let in_commands: HashSet<(String, Access)> =
            self.paths.iter().map(|path| (path.fact.asked.clone(), path.fact.access)).collect();
        let mut seen: HashSet<(&str, Access)> = HashSet::new();
        for fact in subject.paths {
            let key = (fact.asked.as_str(), fact.access);
            if seen.insert(key) && !in_commands.contains(&(fact.asked.clone(), fact.access)) {
                self.argument_path(fact.clone());
            }
        }
        let named =
            subject.spec.map(|spec: &'a ToolSpec| path_arguments(spec, subject.args)).unwrap_or_default();
        for (text, access) in named {
            if seen.insert((text, access)) {
                self.argument_path(paths::locate(text, access));
            }
        }
        let urls = subject.spec.map(|spec| spec.annotations.urls.as_slice()).unwrap_or_default();
        for url in urls.iter().filter_map(|arg| subject.args.get(arg)?.as_str()) {
            self.urls.push(url);
            if let Some(host) = network::host_of_argument(url) {
                self.acts.push(Act::Host(self.hosts.len()));
                self.hosts.push(host);
            }
        }
    }

    fn argument_path(&mut self, fact: PathFact) {
        let index = self.paths.len();
        let touch = if fact.access == Access::Read { Touch::Reads } else { Touch::Changes };
        self.argument_paths.push(index);
        self.acts.push(Act::Path(index));
        self.paths.push(SeenPath::new(fact, false, touch, false));
    }

    pub fn act_paths(&self, act: Act) -> &[usize] {
        match act {
            Act::Command(index) => &self.command_paths[index],
            Act::Path(index) => {
                let at = self.argument_paths.partition_point(|path| *path < index);
                &self.argument_paths[at..=at]
            }
            Act::Whole | Act::Unparsed | Act::Host(_) => &[],
        }
    }

    /// Only what is asked about or denied counts of it: another act stands for the rest.
    pub fn stood_for(&self, act: Act) -> bool {
        let Act::Command(index) = act else { return false };
        let traits = self.analysis.commands[index].traits;
        traits.guessed || traits.stood_for
    }

    /// What the act is, in words that follow a tool's name.
    pub fn describe(&self, act: Act) -> String {
        let name = self.subject.name;
        match act {
            Act::Whole if self.subject.effect == EffectKind::Tool => format!("`{name}`"),
            Act::Whole => format!("The effect `{name}`"),
            Act::Command(index) => {
                format!("`{name}` would run `{}`", short(&self.analysis.commands[index].text))
            }
            Act::Unparsed => format!("`{name}` would run a command that cannot be understood"),
            Act::Path(index) => {
                let fact = &self.paths[index].fact;
                let verb = match fact.access {
                    Access::Read => "read",
                    Access::Write => "write",
                    Access::Mention => "touch",
                };
                format!("`{name}` would {verb} `{}`", short(&fact.asked))
            }
            Act::Host(index) => format!("`{name}` would reach `{}`", short(&self.hosts[index])),
        }
    }
}

/// At most 160 characters, so that a reason stays a sentence.
pub fn short(text: &str) -> String {
    let line = text.replace(['\n', '\r'], " ");
    if line.chars().count() <= 160 { line } else { line.chars().take(159).chain(['…']).collect() }
}
