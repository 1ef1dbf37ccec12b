//! Pure decisions: may an effect happen, must a person agree, and when have enough people agreed.

mod analyse;
mod builtin;
mod command;
mod danger;
mod desugar;
mod facts;
mod file;
mod interactive;
mod judge;
mod lookalike;
mod matcher;
mod mention;
mod network;
mod paths;
mod pattern;
mod policy;
mod programs;
mod quorum;
mod reading;
mod redact;
mod remember;
mod rule;
mod shell;
mod subject;

pub use desugar::{ApprovalPolicy, LlmPolicy, PermissionPolicy, RedactPolicy};
pub use file::{PermissionsFile, TestReport};
pub use interactive::interactive;
pub use paths::locate;
pub use policy::Policy;
pub use quorum::{Resolution, Vote, resolve};
pub use redact::{redact, redact_value};
pub use remember::{RememberAction, RememberClass, RememberRule, RememberScope, Remembered, remember_for};
pub use rule::{Layer, Match, Patterns, PolicyError, Rule, RuleTest};
pub use subject::{Subject, mentions};
