//! What to check, where, and how long to wait.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// The categories of the public report, in the order in which they run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Category {
    Core,
    Streaming,
    Lifecycle,
    Idempotency,
    AuthAndScopes,
    Replay,
    Receipts,
    Vaults,
    Outcomes,
    Webhooks,
}

impl Category {
    pub const ALL: [Category; 10] = [
        Category::Core,
        Category::Streaming,
        Category::Lifecycle,
        Category::Idempotency,
        Category::AuthAndScopes,
        Category::Replay,
        Category::Receipts,
        Category::Vaults,
        Category::Outcomes,
        Category::Webhooks,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Category::Core => "core",
            Category::Streaming => "streaming",
            Category::Lifecycle => "lifecycle",
            Category::Idempotency => "idempotency",
            Category::AuthAndScopes => "auth-and-scopes",
            Category::Replay => "replay",
            Category::Receipts => "receipts",
            Category::Vaults => "vaults",
            Category::Outcomes => "outcomes",
            Category::Webhooks => "webhooks",
        }
    }
}

impl fmt::Display for Category {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.name())
    }
}

#[derive(Debug, PartialEq, Eq)]
pub struct UnknownCategory(String);

impl fmt::Display for UnknownCategory {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known = Category::ALL.map(Category::name).join(", ");
        write!(formatter, "there is no category {:?}; choose from {known}", self.0)
    }
}

impl std::error::Error for UnknownCategory {}

impl FromStr for Category {
    type Err = UnknownCategory;

    fn from_str(name: &str) -> Result<Category, UnknownCategory> {
        let found = Category::ALL.into_iter().find(|category| category.name() == name);
        found.ok_or_else(|| UnknownCategory(name.to_owned()))
    }
}

#[derive(Clone)]
pub struct Options {
    /// Shown in the report; the client is what connects.
    pub target: String,
    /// The key that the client sends. Without one, what needs a key is skipped.
    pub api_key: Option<String>,
    /// Empty for all.
    pub categories: Vec<Category>,
    /// What one check may take.
    pub timeout: Duration,
    /// Used instead of a workspace that is created or found.
    pub workspace_id: Option<String>,
    /// Used instead of a session that is created, where a check does not need a session of its own.
    pub session_id: Option<String>,
}

impl Options {
    pub fn new(target: impl Into<String>) -> Options {
        Options {
            target: target.into(),
            api_key: None,
            categories: Vec::new(),
            timeout: Duration::from_secs(30),
            workspace_id: None,
            session_id: None,
        }
    }

    pub fn with_key(mut self, key: impl Into<String>) -> Options {
        self.api_key = Some(key.into());
        self
    }

    pub(crate) fn includes(&self, category: Category) -> bool {
        self.categories.is_empty() || self.categories.contains(&category)
    }
}
