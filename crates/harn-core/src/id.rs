//! Identifiers: one newtype per resource, written `<object>_<ULID>` and never recycled.

use std::fmt;

use serde::{Deserialize, Serialize};
use ulid::Ulid;
use utoipa::ToSchema;

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident = $prefix:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema)]
        #[serde(transparent)]
        #[schema(value_type = String)]
        pub struct $name(String);

        impl $name {
            /// A fresh id, unique for all time.
            pub fn generate() -> Self {
                Self(format!(concat!($prefix, "_{}"), Ulid::generate()))
            }

            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self(text.to_owned())
            }
        }

        impl From<String> for $name {
            fn from(text: String) -> Self {
                Self(text)
            }
        }

        impl AsRef<str> for $name {
            fn as_ref(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    )*};
}

ids! {
    WorkspaceId = "workspace";
    PersonaId = "persona";
    SessionId = "session";
    TaskId = "task";
    MessageId = "message";
    ArtifactId = "artifact";
    BranchId = "branch";
    OutcomeId = "outcome";
    /// A request to a person: an approval or a question.
    RuleId = "rule";
    RequestId = "request";
    /// A point that runs wait at, when nobody gave it a name.
    WaitpointId = "waitpoint";
    /// An API key's public name; the secret itself is never stored.
    KeyId = "key";
}

impl TaskId {
    /// One trace per task, derived from its id.
    pub fn trace_id(&self) -> String {
        crate::hash::Sha256Hash::of(self.as_str().as_bytes()).to_string()[..32].to_owned()
    }
}
