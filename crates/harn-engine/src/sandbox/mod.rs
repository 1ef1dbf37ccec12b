//! What keeps a command within its workspace: Landlock for files, seccomp for system calls, namespaces for the rest.
//!
//! Each layer is applied by a process to itself, before it starts the command, and holds for all its descendants. No
//! layer depends on another: where the kernel lacks one, the others hold, and the result says so.

mod files;
mod namespaces;
mod paths;
mod probe;
mod syscalls;

use serde::{Deserialize, Serialize};

pub(crate) use files::restrict_files;
pub(crate) use namespaces::{Ids, Rooms, View, arrange, enter};
pub(crate) use paths::{Lists, TOOL_FOLDERS};
pub use probe::{Probe, probe};
pub(crate) use syscalls::restrict_syscalls;

/// What held for one command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sandbox {
    pub files: FileRules,
    pub network: NetworkRules,
    /// Whether it saw its own processes only, a private `/tmp`, and no `.harn`.
    pub namespaces: bool,
    /// Whether dangerous system calls were refused.
    pub syscalls: bool,
    /// What is missing and what that means, in words.
    pub notes: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum FileRules {
    #[serde(rename = "landlock")]
    Landlock,
    #[serde(rename = "none")]
    None,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum NetworkRules {
    #[serde(rename = "closed")]
    Closed,
    #[serde(rename = "open")]
    Open,
    /// It was to be closed, and nothing here can close it.
    #[serde(rename = "not enforced")]
    NotEnforced,
}
