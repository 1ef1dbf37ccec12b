//! Path templates of OpenAPI and the order in which they win.

use std::fmt;

/// A path such as `/v1/events/{event_id}`. The greater of two that match a path is the one to take:
/// a literal is greater than a parameter, and the leftmost segment decides.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Template(Vec<Segment>);

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Segment {
    Parameter(String),
    Literal(String),
}

impl Template {
    pub fn new(path: &str) -> Self {
        Self(path.split('/').map(Segment::new).collect())
    }

    pub fn matches(&self, path: &str) -> bool {
        let given: Vec<_> = path.split('/').collect();
        given.len() == self.0.len() && self.0.iter().zip(given).all(|(segment, text)| segment.matches(text))
    }
}

impl Segment {
    fn new(text: &str) -> Self {
        match text.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')) {
            Some(name) => Self::Parameter(name.to_owned()),
            None => Self::Literal(text.to_owned()),
        }
    }

    fn matches(&self, text: &str) -> bool {
        match self {
            Self::Parameter(_) => !text.is_empty(),
            Self::Literal(literal) => literal == text,
        }
    }
}

impl fmt::Display for Template {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let segments: Vec<_> = self
            .0
            .iter()
            .map(|segment| match segment {
                Segment::Parameter(name) => format!("{{{name}}}"),
                Segment::Literal(text) => text.clone(),
            })
            .collect();
        f.write_str(&segments.join("/"))
    }
}
