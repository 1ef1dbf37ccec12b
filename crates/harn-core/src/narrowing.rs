//! What a run may do less than rules let it, in the words of `--allow` and `--deny`.

use serde::{Deserialize, Serialize};

/// Names of calls and tools, or words for several of them. Policy says what they mean.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Narrowing {
    /// When not empty, all that the run may do.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub allow: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub deny: Vec<String>,
}

impl Narrowing {
    pub fn is_empty(&self) -> bool {
        self.allow.is_empty() && self.deny.is_empty()
    }
}
