//! The registry of builtins: what each is called, takes and gives, and what it does.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use crate::fault::{Fault, Limit};
use crate::value::{Text, Value};

pub(crate) mod args;
mod assertions;
mod bytes;
pub(crate) mod case;
pub(crate) mod collections;
mod compression;
mod cookies;
mod csv;
pub mod dates;
mod effects;
mod encoding;
mod internal;
mod iterators;
pub(crate) mod json;
mod junit;
mod jwt;
pub(crate) mod math;
mod multipart;
pub(crate) mod order;
mod output;
mod paths;
mod ranking;
mod reach;
mod regex;
mod responses;
mod rng;
pub mod schema;
mod secrets;
pub(crate) mod sets;
mod signing;
mod skills;
mod stats;
pub(crate) mod strings;
mod tasks;
mod tools;
pub(crate) mod types;
mod url;

pub use assertions::category;
pub use rng::Rng;
pub use signing::{ed25519_public, x25519_public};
pub(crate) use tools::tools as tools_of;

use effects::{agents, files, host, http, inner, models, work};

/// A function that every program has.
#[derive(Clone, Copy)]
pub struct Builtin {
    pub name: &'static str,
    /// Its parameters as documented: `str, start, len?` or `template, ...`.
    pub params: &'static str,
    /// What the checker assumes that it returns: `string`, `string|nil`, `any`.
    pub returns: &'static str,
    /// One sentence for the documentation.
    pub doc: &'static str,
    pub body: Body,
}

/// Given what it may use and its arguments, of which there may be fewer than parameters.
pub type PureFn = fn(&mut Cx<'_>, &mut [Value]) -> Result<Value, Fault>;

/// What a builtin does when it is called.
#[derive(Clone, Copy)]
pub enum Body {
    /// Computed in place. The arguments are its own: it may take them, to change them without a copy.
    Pure(PureFn),
    /// Written in Harn, in the prelude, under the same name: it calls functions that it is given.
    Prelude,
    /// Part of the VM: it starts, joins or parks tasks.
    Vm,
    /// Asked of the host.
    Effect,
    /// Known, and not offered; the sentence says why.
    Refused(&'static str),
}

/// Builtins that belong together in the documentation.
pub struct Group {
    pub title: &'static str,
    pub builtins: &'static [Builtin],
}

const fn pure(
    name: &'static str,
    params: &'static str,
    returns: &'static str,
    doc: &'static str,
    body: PureFn,
) -> Builtin {
    Builtin { name, params, returns, doc, body: Body::Pure(body) }
}

const fn prelude(
    name: &'static str,
    params: &'static str,
    returns: &'static str,
    doc: &'static str,
) -> Builtin {
    Builtin { name, params, returns, doc, body: Body::Prelude }
}

const fn vm(name: &'static str, params: &'static str, returns: &'static str, doc: &'static str) -> Builtin {
    Builtin { name, params, returns, doc, body: Body::Vm }
}

const fn effect(
    name: &'static str,
    params: &'static str,
    returns: &'static str,
    doc: &'static str,
) -> Builtin {
    Builtin { name, params, returns, doc, body: Body::Effect }
}

const fn refused(
    name: &'static str,
    params: &'static str,
    returns: &'static str,
    doc: &'static str,
    why: &'static str,
) -> Builtin {
    Builtin { name, params, returns, doc, body: Body::Refused(why) }
}

/// Every group, in the order of the documentation.
pub static GROUPS: &[&Group] = &[
    &internal::INTERNAL,
    &inner::INNER,
    &ranking::RANKING,
    &types::TYPES,
    &assertions::ASSERTIONS,
    &output::OUTPUT,
    &strings::STRINGS,
    &math::MATH,
    &collections::COLLECTIONS,
    &collections::DICTS,
    &sets::SETS,
    &iterators::ITERATORS,
    &tasks::TASKS,
    &tasks::SHARED,
    &tasks::SUPERVISORS,
    &tasks::CONTEXT,
    &json::JSON,
    &regex::REGEX,
    &bytes::BYTES,
    &encoding::ENCODING,
    &csv::CSV,
    &url::URL,
    &paths::PATHS,
    &dates::DATES,
    &files::CLOCK,
    &files::FILES,
    &files::WATCHING,
    &files::PROCESS,
    &files::STORE,
    &files::CHECKPOINT,
    &files::METADATA,
    &compression::COMPRESSION,
    &cookies::COOKIES,
    &multipart::MULTIPART,
    &http::CLIENT,
    &http::SERVER,
    &http::SSE,
    &http::WEBSOCKET,
    &tools::TOOLS,
    &skills::SKILLS,
    &models::MCP,
    &models::MCP_SERVER,
    &models::LLM,
    &models::CONVERSATION,
    &models::CONFIGURATION,
    &models::COST,
    &agents::SESSIONS,
    &agents::AGENTS,
    &agents::DAEMONS,
    &work::WORKFLOWS,
    &work::MESSAGES,
    &work::RECORDS,
    &host::TRIGGERS,
    &host::HOST,
    &host::COMMANDS,
    &host::TRACING,
    &host::PEOPLE,
    &host::WAITPOINTS,
    &host::CONNECTORS,
    &host::FLOW,
    &host::PROJECT,
    &host::POSTGRES,
    &host::ASSEMBLE,
    &host::EGRESS,
    &host::EVENT_LOG,
    &host::PENDING,
    &junit::JUNIT,
    &agents::FEEDBACK,
    &models::STATS,
    &host::MONITORS,
    &host::ENRICH,
    &host::REVIEW,
    &secrets::SECRETS,
    &models::COMPACT,
    &host::VISION,
];

/// What a builtin may use besides its arguments.
pub struct Cx<'a> {
    pub meter: &'a mut Meter,
    /// For `random` and its kin. When their first argument is an `rng` handle, the VM puts that generator here.
    pub rng: &'a mut Rng,
}

impl Cx<'_> {
    /// Before something is allocated whose size the program chooses.
    pub fn charge(&mut self, bytes: usize) -> Result<(), Fault> {
        self.meter.charge(bytes)
    }

    /// Work that takes longer than a step of the VM: so many items looked at, or bytes read.
    pub fn work(&mut self, units: usize) {
        self.meter.work(units);
    }
}

/// What a program has left.
#[derive(Clone, Debug)]
pub struct Meter {
    /// Steps. Fewer than none if the last one took more than there were left: then they are owed.
    pub fuel: i64,
    /// Bytes that may be alive at once.
    pub memory_limit: u64,
    /// At most so many bytes are alive: what was counted last, and all that was allocated since.
    pub memory: u64,
    /// From here on it is worth counting what is really alive.
    pub count_at: u64,
}

impl Meter {
    pub fn new(memory_limit: u64) -> Self {
        Self { fuel: 0, memory_limit, memory: 0, count_at: memory_limit / 8 }
    }

    /// Work that takes longer than a step of the VM: so many items looked at, or bytes read.
    pub fn work(&mut self, units: usize) {
        let steps = i64::try_from(units.div_ceil(16)).unwrap_or(i64::MAX);
        self.fuel = self.fuel.saturating_sub(steps);
    }

    pub fn is_high(&self) -> bool {
        self.memory > self.count_at
    }

    /// So many bytes were found to be alive.
    pub fn counted(&mut self, bytes: u64) {
        self.memory = bytes;
        self.count_at = bytes.saturating_mul(2).max(self.memory_limit / 8);
    }

    pub fn charge(&mut self, bytes: usize) -> Result<(), Fault> {
        let wanted = self.memory.saturating_add(bytes as u64);
        if wanted > self.memory_limit {
            return Err(Fault::Limit(Limit::Memory(self.memory_limit)));
        }
        self.memory = wanted;
        Ok(())
    }
}

struct Table {
    all: Vec<&'static Builtin>,
    by_name: HashMap<&'static str, u16>,
}

fn table() -> &'static Table {
    static TABLE: OnceLock<Table> = OnceLock::new();
    TABLE.get_or_init(|| {
        let all: Vec<&Builtin> = GROUPS.iter().flat_map(|group| group.builtins).collect();
        let number = |at: usize| u16::try_from(at).unwrap_or(u16::MAX);
        let by_name = all.iter().enumerate().map(|(at, builtin)| (builtin.name, number(at))).collect();
        Table { all, by_name }
    })
}

/// The number of a builtin.
pub fn find(name: &str) -> Option<u16> {
    table().by_name.get(name).copied()
}

pub fn get(number: u16) -> Option<&'static Builtin> {
    table().all.get(usize::from(number)).copied()
}

/// Whether it is a part of the machine that only the language itself uses.
pub fn is_of_machine(number: u16) -> bool {
    get(number).is_some_and(|builtin| matches!(builtin.body, Body::Vm) && builtin.name.starts_with("__"))
}

/// The value of a builtin's name where it is not called: of a few a constant, of the others the builtin itself.
pub fn named_value(number: u16) -> Value {
    match name_of(number) {
        "pi" => Value::Float(std::f64::consts::PI),
        "e" => Value::Float(std::f64::consts::E),
        name @ "stream" => namespace(name),
        _ => Value::Builtin(number),
    }
}

/// The value of a name that is no builtin, but that builtins have before a dot.
pub fn named_group(name: &str) -> Option<Value> {
    matches!(name, "event_log" | "workflow").then(|| namespace(name))
}

/// The builtins `name.x` as a dict.
fn namespace(name: &str) -> Value {
    let member = |number: u16| Some((name_of(number).strip_prefix(name)?.strip_prefix('.')?, number));
    let all = (0..).take(table().all.len()).filter_map(member);
    Value::dict(all.map(|(name, number)| (Arc::new(Text::new(name)), Value::Builtin(number))).collect())
}

pub fn name_of(number: u16) -> &'static str {
    get(number).map_or("?", |builtin| builtin.name)
}

/// How many parameters an effect has that depends on where it is called: after them the host is given the name of the
/// calling module, beside which the files of that module are.
pub fn seen_from(name: &str) -> Option<usize> {
    match name {
        "render" | "render_prompt" | "render_with_provenance" => Some(2),
        "source_dir" => Some(0),
        _ => None,
    }
}

/// Every builtin, by number.
pub fn all() -> impl Iterator<Item = &'static Builtin> {
    table().all.iter().copied()
}
