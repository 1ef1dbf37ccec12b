//! Rows and documents: what the log stores and what projections make of it.

use std::collections::BTreeSet;

use harn_core::Timestamp;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::Result;

/// Only events are ever shown by the event API.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RowKind {
    Event = 0,
    Journal = 1,
    Fact = 2,
}

impl RowKind {
    pub(crate) fn from_code(code: i64) -> Option<Self> {
        match code {
            0 => Some(Self::Event),
            1 => Some(Self::Journal),
            2 => Some(Self::Fact),
            _ => None,
        }
    }
}

/// What an event is about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Subject {
    pub object: String,
    pub id: String,
}

/// A row before the log has given it its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewRow {
    pub kind: RowKind,
    /// The event kind, journal entry or fact that this is.
    pub name: String,
    pub at: Timestamp,
    pub workspace: Option<String>,
    pub session: Option<String>,
    pub task: Option<String>,
    /// Rows with a subject are counted: `sequence` per subject, from 1.
    pub subject: Option<Subject>,
    /// At most one row per task may carry a given key.
    pub key: Option<String>,
    pub actor: Option<String>,
    pub trace: Option<String>,
    pub span: Option<String>,
    /// JSON.
    pub body: String,
}

impl NewRow {
    pub fn new(kind: RowKind, name: impl Into<String>, at: Timestamp, body: String) -> Self {
        Self {
            kind,
            name: name.into(),
            at,
            workspace: None,
            session: None,
            task: None,
            subject: None,
            key: None,
            actor: None,
            trace: None,
            span: None,
            body,
        }
    }
}

/// A row in its place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Row {
    pub id: u64,
    pub kind: RowKind,
    pub name: String,
    pub at: Timestamp,
    pub workspace: Option<String>,
    pub session: Option<String>,
    pub task: Option<String>,
    pub subject: Option<Subject>,
    pub sequence: Option<u64>,
    /// The row before this one about the same subject.
    pub previous: Option<u64>,
    pub key: Option<String>,
    pub actor: Option<String>,
    pub trace: Option<String>,
    pub span: Option<String>,
    pub body: String,
}

impl Row {
    pub fn parse<T: DeserializeOwned>(&self) -> Result<T> {
        Ok(serde_json::from_str(&self.body)?)
    }
}

/// Which rows are wanted. Everything given must hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RowFilter {
    pub kind: Option<RowKind>,
    pub workspace: Option<String>,
    pub session: Option<String>,
    pub task: Option<String>,
    /// When given, only rows of these workspaces.
    pub within: Option<BTreeSet<String>>,
}

impl RowFilter {
    pub fn events() -> Self {
        Self { kind: Some(RowKind::Event), ..Self::default() }
    }

    pub fn journal(task: &str) -> Self {
        Self { kind: Some(RowKind::Journal), task: Some(task.into()), ..Self::default() }
    }

    pub fn matches(&self, row: &Row) -> bool {
        let same = |wanted: &Option<String>, found: &Option<String>| wanted.is_none() || wanted == found;
        self.kind.is_none_or(|kind| kind == row.kind)
            && same(&self.workspace, &row.workspace)
            && same(&self.session, &row.session)
            && same(&self.task, &row.task)
            && self.allows(row)
    }

    pub(crate) fn allows(&self, row: &Row) -> bool {
        match (&self.within, &row.workspace) {
            (None, _) => true,
            (Some(allowed), Some(workspace)) => allowed.contains(workspace),
            (Some(_), None) => false,
        }
    }
}

/// A document of a projection: JSON with the few columns that lists filter by.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Doc {
    pub kind: String,
    pub id: String,
    /// Lists are in this order; usually the id of the row that created the document.
    pub position: u64,
    pub workspace: Option<String>,
    pub session: Option<String>,
    pub task: Option<String>,
    /// A state worth finding quickly, such as `open`.
    pub tag: Option<String>,
    pub body: String,
}

impl Doc {
    pub fn parse<T: DeserializeOwned>(&self) -> Result<T> {
        Ok(serde_json::from_str(&self.body)?)
    }
}

/// Which documents are wanted. Everything given must hold.
#[derive(Clone, Copy, Debug, Default)]
pub struct DocQuery<'a> {
    pub kind: &'a str,
    pub workspace: Option<&'a str>,
    pub session: Option<&'a str>,
    pub task: Option<&'a str>,
    pub tag: Option<&'a str>,
    /// Only positions above this.
    pub after: u64,
    /// 0 means all.
    pub limit: usize,
}

impl<'a> DocQuery<'a> {
    pub fn of(kind: &'a str) -> Self {
        Self { kind, ..Self::default() }
    }
}
