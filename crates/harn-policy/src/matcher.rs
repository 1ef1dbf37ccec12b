//! Rules compiled for matching: one set of patterns per dimension, so that a value is compared with all rules at once.

use std::ops::Range;

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use harn_core::decision::Access;
use harn_core::tool::{SideEffect, ToolKind};
use harn_core::{AutonomyTier, EffectKind, Timestamp, Verdict};

use crate::lookalike::{disguised, fold, shape};
use crate::network;
use crate::overlap::overlap;
use crate::pattern::{Pattern, Separator};
use crate::rule::{Match, Patterns, Rule};

/// Dimensions whose values are compared by glob.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dim {
    Tool,
    Path,
    Command,
    Identity,
    Host,
    Url,
    Provider,
    Model,
    McpServer,
    McpTool,
    Persona,
    Capability,
    Session,
    Workspace,
    User,
}

impl Dim {
    /// It is about single acts of a call and not about the call as a whole.
    pub const fn about_acts(self) -> bool {
        matches!(self, Self::Path | Self::Command | Self::Identity | Self::Host)
    }
}

pub const DIMS: usize = Dim::User as usize + 1;

/// Deny and ask compare widely, allow compares narrowly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Breadth {
    Wide,
    Narrow,
}

impl Breadth {
    pub fn of(action: Verdict) -> Self {
        if action == Verdict::Allow { Self::Narrow } else { Self::Wide }
    }

    fn opposite(self) -> Self {
        if self == Self::Wide { Self::Narrow } else { Self::Wide }
    }
}

/// The patterns of one dimension that matched some values, in order.
pub type Hits = Vec<usize>;

/// One dimension of one rule: which of the set's patterns are its own.
#[derive(Clone, Debug)]
pub struct Clause {
    pub dim: Dim,
    pub patterns: Range<usize>,
    /// It holds when none of them matches.
    pub negated: bool,
    /// Which of the dimension's sets the patterns are in.
    pub breadth: Breadth,
}

impl Clause {
    pub fn holds(&self, hits: &[usize]) -> bool {
        let first = hits.partition_point(|hit| *hit < self.patterns.start);
        let hit = hits.get(first).is_some_and(|hit| *hit < self.patterns.end);
        hit != self.negated
    }
}

/// A rule ready for use.
#[derive(Debug)]
pub struct Compiled {
    pub action: Verdict,
    pub clauses: Vec<Clause>,
    pub args: Vec<(String, GlobSet)>,
    pub effects: Option<Vec<EffectKind>>,
    pub kinds: Option<Vec<ToolKind>>,
    pub reach: Option<Vec<(bool, SideEffect)>>,
    pub access: Option<Vec<Access>>,
    pub tiers: Option<Vec<AutonomyTier>>,
    pub expires_at: Option<Timestamp>,
    /// Its tool is given by full name.
    pub names_tool: bool,
    /// Command patterns that mean one text and no other.
    pub exact_commands: Vec<String>,
}

impl Compiled {
    pub fn has(&self, dim: Dim) -> bool {
        self.clauses.iter().any(|clause| clause.dim == dim)
    }

    pub fn about_acts(&self) -> bool {
        self.access.is_some() || self.clauses.iter().any(|clause| clause.dim.about_acts())
    }
}

/// All patterns of one dimension and one breadth.
#[derive(Debug, Default)]
pub struct Side {
    plain: Vec<Pattern>,
    /// The same patterns by shape, for text that may be disguised.
    shapes: Vec<Pattern>,
}

impl Side {
    pub fn is_empty(&self) -> bool {
        self.plain.is_empty()
    }

    /// The patterns that could match something that a pattern over paths stands for.
    pub fn overlapping(&self, value: &str) -> Hits {
        let value = fold(value);
        let meets = |(at, pattern): (usize, &Pattern)| overlap(pattern.text(), &value).then_some(at);
        self.plain.iter().enumerate().filter_map(meets).collect()
    }

    /// Adds the patterns that match a value.
    pub fn hits(&self, breadth: Breadth, value: &str, hits: &mut Hits) {
        if self.plain.is_empty() {
            return;
        }
        match breadth {
            Breadth::Narrow => add(&self.plain, value, hits),
            Breadth::Wide => {
                add(&self.plain, &fold(value), hits);
                if let Some(value) = disguised(value) {
                    add(&self.shapes, &value, hits);
                }
            }
        }
    }
}

fn add(patterns: &[Pattern], value: &str, hits: &mut Hits) {
    let before = hits.len();
    hits.extend(patterns.iter().enumerate().filter(|(_, pattern)| pattern.matches(value)).map(|(at, _)| at));
    if before > 0 {
        hits.sort_unstable();
        hits.dedup();
    }
}

/// The sets of all dimensions.
#[derive(Debug, Default)]
pub struct Sets {
    sides: Vec<[Side; 2]>,
}

impl Sets {
    pub fn side(&self, dim: Dim, breadth: Breadth) -> &Side {
        &self.sides[dim as usize][breadth as usize]
    }
}

/// Collects the patterns of rules.
pub struct Compiler {
    sides: Vec<[Side; 2]>,
}

impl Compiler {
    pub fn new() -> Self {
        Self { sides: (0..DIMS).map(|_| Default::default()).collect() }
    }

    pub fn finish(self) -> Sets {
        Sets { sides: self.sides }
    }

    pub fn rule(&mut self, rule: &Rule) -> Result<Compiled, String> {
        let when = &rule.when;
        let breadth = Breadth::of(rule.action);
        let mut clauses = Vec::new();
        let globbed: [(Dim, &Option<Patterns>, bool); 18] = [
            (Dim::Tool, &when.tool, false),
            (Dim::Path, &when.path, false),
            (Dim::Path, &when.not_path, true),
            (Dim::Command, &when.command, false),
            (Dim::Identity, &when.command_identity, false),
            (Dim::Host, &when.host, false),
            (Dim::Url, &when.url, false),
            (Dim::Provider, &when.provider, false),
            (Dim::Provider, &when.not_provider, true),
            (Dim::Model, &when.model, false),
            (Dim::McpServer, &when.mcp_server, false),
            (Dim::McpTool, &when.mcp_tool, false),
            (Dim::Persona, &when.agent, false),
            (Dim::Persona, &when.persona, false),
            (Dim::Capability, &when.capability, false),
            (Dim::Session, &when.session, false),
            (Dim::Workspace, &when.workspace, false),
            (Dim::User, &when.user, false),
        ];
        for (dim, patterns, negated) in globbed {
            if let Some(patterns) = patterns {
                // An exception to a denial is as small as written, an exception to an allowance as large as can be.
                let breadth = if negated { breadth.opposite() } else { breadth };
                let patterns = self.patterns(dim, breadth, patterns)?;
                clauses.push(Clause { dim, patterns, negated, breadth });
            }
        }
        Ok(Compiled {
            action: rule.action,
            clauses,
            args: args(when, breadth)?,
            effects: named(&when.effect, "effect", |text| {
                EffectKind::ALL.iter().find(|kind| kind.as_str() == text).copied()
            })?,
            kinds: named(&when.tool_kind, "tool_kind", by_name)?,
            reach: named(&when.side_effect, "side_effect", |text| match text.strip_prefix(">=") {
                Some(level) => by_name(level.trim()).map(|level| (true, level)),
                None => by_name(text).map(|level| (false, level)),
            })?,
            access: named(&when.access, "access", |text| match text {
                "read" => Some(Access::Read),
                "write" => Some(Access::Write),
                _ => None,
            })?,
            tiers: named(&when.tier, "tier", by_name)?,
            expires_at: rule.expires_at,
            exact_commands: when
                .command
                .iter()
                .flat_map(|given| &given.0)
                .filter_map(|text| exact(text))
                .collect(),
            names_tool: when
                .tool
                .as_ref()
                .is_some_and(|tool| !tool.0.iter().any(|text| text.contains(['*', '?', '[', '{']))),
        })
    }

    fn patterns(&mut self, dim: Dim, breadth: Breadth, patterns: &Patterns) -> Result<Range<usize>, String> {
        let draft = &mut self.sides[dim as usize][breadth as usize];
        let parted = dim == Dim::Path || (dim == Dim::Url && breadth == Breadth::Narrow);
        let separator = if parted { Separator::Literal } else { Separator::Ordinary };
        let start = draft.plain.len();
        for pattern in &patterns.0 {
            for spelling in spellings(dim, breadth, pattern) {
                let glob = |text: &str| {
                    Pattern::new(text, separator).map_err(|error| format!("`{pattern}` is no glob: {error}"))
                };
                match breadth {
                    Breadth::Narrow => draft.plain.push(glob(&spelling)?),
                    Breadth::Wide => {
                        draft.plain.push(glob(&fold(&spelling))?);
                        draft.shapes.push(glob(&shape_of_pattern(&fold(&spelling)))?);
                    }
                }
            }
        }
        Ok(start..draft.plain.len())
    }
}

/// The one text that a pattern means; none when it has wildcards.
fn exact(pattern: &str) -> Option<String> {
    let mut text = String::with_capacity(pattern.len());
    let mut chars = pattern.chars();
    while let Some(c) = chars.next() {
        match c {
            '*' | '?' | '[' | '{' => return None,
            '\\' => text.extend(chars.next()),
            c => text.push(c),
        }
    }
    Some(text)
}

/// The globs that a pattern stands for. Paths follow the rules of `docs/policy.md`.
fn spellings(dim: Dim, breadth: Breadth, pattern: &str) -> Vec<String> {
    match dim {
        Dim::Host => vec![pattern.trim_end_matches('.').to_lowercase()],
        Dim::Url if breadth == Breadth::Narrow => network::parted_url(pattern).into_iter().collect(),
        Dim::Model => vec![pattern.to_owned(), format!("*/{pattern}")],
        Dim::Path => {
            // `./name` is anchored although nothing of its slash remains.
            let rooted = pattern.contains('/');
            let pattern = pattern.strip_prefix("./").unwrap_or(pattern);
            if pattern == "." || pattern == "./" || pattern.is_empty() {
                return vec![".".to_owned()];
            }
            let anchored = if rooted { pattern.to_owned() } else { format!("**/{pattern}") };
            // Who denies all that is in a folder also denies the folder: it could be moved away.
            let all_within =
                anchored.strip_suffix("/**").filter(|folder| !folder.is_empty() && breadth == Breadth::Wide);
            if let Some(folder) = all_within {
                return vec![folder.to_owned(), anchored.clone()];
            }
            match (anchored.strip_suffix('/'), breadth) {
                (Some(folder), Breadth::Wide) => vec![folder.to_owned(), format!("{folder}/**")],
                (Some(folder), Breadth::Narrow) => vec![format!("{folder}/**")],
                // Denying a folder by name denies what is in it.
                (None, Breadth::Wide) if !anchored.ends_with("**") => {
                    vec![format!("{anchored}/**"), anchored]
                }
                (None, _) => vec![anchored],
            }
        }
        _ => vec![pattern.to_owned()],
    }
}

/// The shape of the literal parts; what is special to globs stays.
fn shape_of_pattern(pattern: &str) -> String {
    let mut out = String::new();
    let mut literal = String::new();
    for c in pattern.chars() {
        if "*?[]{},\\!/".contains(c) {
            out.push_str(&shape(&literal));
            literal.clear();
            out.push(c);
        } else {
            literal.push(c);
        }
    }
    out + &shape(&literal)
}

fn args(when: &Match, breadth: Breadth) -> Result<Vec<(String, GlobSet)>, String> {
    let compiled = when.args.iter().map(|(arg, patterns)| {
        let mut builder = GlobSetBuilder::new();
        for pattern in &patterns.0 {
            let text = if breadth == Breadth::Wide { fold(pattern) } else { pattern.into() };
            let glob = GlobBuilder::new(&text).backslash_escape(true).build();
            builder.add(glob.map_err(|error| format!("`{pattern}` is no glob: {error}"))?);
        }
        Ok((arg.clone(), builder.build().map_err(|error| error.to_string())?))
    });
    compiled.collect()
}

fn by_name<T: serde::de::DeserializeOwned>(text: &str) -> Option<T> {
    serde_json::from_value(text.into()).ok()
}

fn named<T>(
    patterns: &Option<Patterns>,
    key: &str,
    read: impl Fn(&str) -> Option<T>,
) -> Result<Option<Vec<T>>, String> {
    let Some(patterns) = patterns else { return Ok(None) };
    let read = patterns.0.iter().map(|text| {
        read(text)
            .ok_or_else(|| format!("`{text}` is no {key}; see the table of dimensions in docs/policy.md"))
    });
    read.collect::<Result<_, _>>().map(Some)
}
