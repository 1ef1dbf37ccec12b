//! Who asks: an actor with scopes and the workspaces that it may see.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::{Code, Error, Result, WorkspaceId};

/// `sessions:read`, `tasks:write`, … or `*` for everything.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Scope(pub String);

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkspaceAccess {
    All,
    Only(BTreeSet<WorkspaceId>),
}

/// The authenticated caller of a command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Actor {
    pub id: String,
    pub scopes: BTreeSet<Scope>,
    pub workspaces: WorkspaceAccess,
}

impl Actor {
    /// The owner of the data directory: all scopes, all workspaces.
    pub fn owner(id: impl Into<String>) -> Self {
        Self { id: id.into(), scopes: [Scope("*".into())].into(), workspaces: WorkspaceAccess::All }
    }

    pub fn has(&self, scope: &str) -> bool {
        self.scopes.iter().any(|held| held.0 == "*" || held.0 == scope)
    }

    pub fn require(&self, scope: &str) -> Result<()> {
        if self.has(scope) {
            return Ok(());
        }
        Err(Error::new(
            Code::PermissionDenied,
            format!("This needs the scope `{scope}`, which your key lacks."),
        )
        .detail("required_scope", scope))
    }

    pub fn sees(&self, workspace: &WorkspaceId) -> bool {
        match &self.workspaces {
            WorkspaceAccess::All => true,
            WorkspaceAccess::Only(allowed) => allowed.contains(workspace),
        }
    }

    /// `internal` parts are shown only to actors with this scope.
    pub fn sees_internal(&self) -> bool {
        self.has("internal:read")
    }
}
