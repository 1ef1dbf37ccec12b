//! An event as the view needs it: its kind, its time, and a payload that is looked at with care.

use harn_core::{EventKind, Timestamp};
use serde::Deserialize;
use serde_json::Value;

#[derive(Clone, Debug, Deserialize)]
pub struct Event {
    #[serde(rename = "event")]
    name: String,
    pub created_at: Timestamp,
    #[serde(default)]
    pub task_id: Option<String>,
    #[serde(default)]
    pub actor: Option<String>,
    #[serde(default)]
    pub payload: Value,
}

impl Event {
    pub fn parse(json: &str) -> Option<Self> {
        serde_json::from_str(json).ok()
    }

    /// None for a kind that this version does not know.
    pub fn kind(&self) -> Option<EventKind> {
        EventKind::parse(&self.name)
    }

    /// A text of the payload; empty when there is none.
    pub fn text(&self, key: &str) -> &str {
        self.payload[key].as_str().unwrap_or_default()
    }
}
