//! A check: a sentence of the specification and the code that asks a server about it.

use std::fmt;
use std::pin::Pin;

use crate::options::Category;
use crate::probe::Probe;

/// Why a check ended before its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// What was seen instead of what the sentence says.
    Failed(String),
    /// Why this server need not pass it.
    Skipped(String),
}

pub(crate) type Verdict<T = ()> = Result<T, Stop>;

type Running<'p> = Pin<Box<dyn Future<Output = Verdict> + Send + 'p>>;

pub struct Check {
    pub category: Category,
    pub name: &'static str,
    /// Where it comes from, quoted shortly.
    pub sentence: &'static str,
    /// What to do about a failure.
    pub remedy: &'static str,
    pub(crate) run: for<'p> fn(&'p Probe) -> Running<'p>,
}

impl fmt::Debug for Check {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{}", self.category, self.name)
    }
}

/// The table of one category: `function: sentence => remedy`, named after its functions.
macro_rules! checks {
    ($category:ident; $($run:ident: $sentence:literal => $remedy:literal;)*) => {
        pub(crate) const CHECKS: &[$crate::check::Check] = &[
            $($crate::check::Check {
                category: $crate::options::Category::$category,
                name: stringify!($run),
                sentence: $sentence,
                remedy: $remedy,
                run: |probe| Box::pin($run(probe)),
            },)*
        ];
    };
}

pub(crate) use checks;

/// Fails with the message unless the condition holds.
macro_rules! ensure {
    ($condition:expr, $($message:tt)+) => {
        if !$condition {
            return Err($crate::check::Stop::Failed(format!($($message)+)));
        }
    };
}

pub(crate) use ensure;

pub(crate) fn failed<T>(message: impl Into<String>) -> Verdict<T> {
    Err(Stop::Failed(message.into()))
}

pub(crate) fn skipped<T>(reason: impl Into<String>) -> Verdict<T> {
    Err(Stop::Skipped(reason.into()))
}
