//! Compares our generated OpenAPI document with the public one, by meaning and with a direction.
//!
//! What the public document asks for and ours lacks is [`Kind::Missing`]; what contradicts it is
//! [`Kind::Conflict`]; what we offer on top is [`Kind::Addition`]. A promise is no difference: where we
//! say more precisely what an answer contains, every answer of ours is still valid in public.

mod allowlist;
mod operation;
mod schema;
mod view;

use std::collections::BTreeSet;
use std::fmt;

use serde_json::Value;

pub use self::allowlist::unexplained;

/// One difference. The order is the order of reports: by place, then by kind.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Difference {
    /// Stable name of the place: `Task.status` inside a component, else `GET /v1/tasks query limit`.
    pub location: String,
    pub kind: Kind,
    pub detail: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// The public document has it and ours has not.
    Missing,
    /// Both have it, and a client or server of the public document would be refused or surprised.
    Conflict,
    /// Only ours has it, and nobody who keeps to the public document notices.
    Addition,
}

/// All differences between the public document and ours, sorted, each once.
pub fn compare(public: &Value, ours: &Value) -> Vec<Difference> {
    let mut comparison = Comparison::new(public, ours);
    comparison.operations();
    comparison.found.into_iter().collect()
}

/// Who writes the value that a schema describes. A request is written by the client: refusing more than
/// the public document is a conflict. A response is written by us: there, allowing more is one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Side {
    Request,
    Response,
}

struct Comparison<'a> {
    public: view::Schemas<'a>,
    ours: view::Schemas<'a>,
    /// Pairs of components already compared; also what ends recursion in recursive schemas.
    seen: BTreeSet<(String, String, &'static str)>,
    found: BTreeSet<Difference>,
}

impl<'a> Comparison<'a> {
    fn new(public: &'a Value, ours: &'a Value) -> Self {
        Self {
            public: view::Schemas::new(public),
            ours: view::Schemas::new(ours),
            seen: BTreeSet::new(),
            found: BTreeSet::new(),
        }
    }

    fn report(&mut self, kind: Kind, location: &str, detail: impl Into<String>) {
        let location = location.trim_end().to_owned();
        self.found.insert(Difference { location, kind, detail: detail.into() });
    }

    /// Ours allows more than the public document.
    fn wider(&mut self, side: Side, location: &str, detail: impl fmt::Display) {
        let kind = match side {
            Side::Request => Kind::Addition,
            Side::Response => Kind::Conflict,
        };
        self.report(kind, location, format!("{detail} ({side})"));
    }

    /// Ours allows less than the public document; in a response that is a promise, so nothing to report.
    fn narrower(&mut self, side: Side, location: &str, detail: impl fmt::Display) {
        match side {
            Side::Request => self.report(Kind::Conflict, location, format!("{detail} ({side})")),
            Side::Response => {}
        }
    }
}

impl Side {
    fn name(self) -> &'static str {
        match self {
            Self::Request => "request",
            Self::Response => "response",
        }
    }
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} {}: {}", self.kind, self.location, self.detail)
    }
}
