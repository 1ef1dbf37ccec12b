//! What the codes of Harn mean, in one table: errors of the API, failures of tasks, risk labels, exit codes.

mod examples;
mod table;

use harn_core::decision::RiskLabel;
use harn_lang::problem::{Code, Explanation};

pub use examples::{Example, example};
use table::{ERRORS, EXITS, FAILURES};

/// Where a code is met.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// In an error of the API.
    Error,
    /// In the `failure` of a task.
    Failure,
    /// In the `risk_labels` of a decision.
    Risk,
    /// What a command ends with.
    Exit,
    /// Under an error or a warning in a script.
    Script,
}

impl Kind {
    pub fn name(self) -> &'static str {
        match self {
            Self::Error => "error of the API",
            Self::Failure => "failure of a task",
            Self::Risk => "risk label of a decision",
            Self::Exit => "exit code",
            Self::Script => "problem of a script",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    pub kind: Kind,
    pub code: &'static str,
    pub meaning: &'static str,
    pub causes: &'static str,
    pub to_do: &'static str,
}

/// Every entry, in the order in which they are listed.
pub fn all() -> Vec<Entry> {
    let risks = RiskLabel::ALL.iter().map(|label| Entry {
        kind: Kind::Risk,
        code: label.as_str(),
        meaning: label.meaning(),
        causes: "the call itself; `harn policy explain EVENT` shows what policy saw of it",
        to_do: "nothing, if you agree; a rule in [permissions] of harn.toml can allow, ask about or deny such calls",
    });
    let scripts = Code::ALL.iter().map(|code| {
        let Explanation { meaning, causes, to_do } = code.explanation();
        Entry { kind: Kind::Script, code: code.id(), meaning, causes, to_do }
    });
    let fixed = |entries: &'static [Entry]| entries.iter().copied();
    fixed(ERRORS).chain(fixed(FAILURES)).chain(risks).chain(fixed(EXITS)).chain(scripts).collect()
}

/// The entries of this code; one word may be met in several places.
pub fn of(code: &str) -> Vec<Entry> {
    all().into_iter().filter(|entry| entry.code == code).collect()
}

/// The codes that look most like this one, nearest first.
pub fn nearest(code: &str) -> Vec<&'static str> {
    // Longer words name nothing, and comparing them would take long.
    let wanted: Vec<char> = code.to_lowercase().replace(['-', ' '], "_").chars().take(64).collect();
    let mut found: Vec<(usize, &'static str)> = all()
        .into_iter()
        .filter(|entry| entry.kind != Kind::Exit)
        .map(|entry| (distance(&wanted, entry.code), entry.code))
        .filter(|(distance, code)| *distance <= 2 + code.len() / 4)
        .collect();
    found.sort_unstable();
    found.dedup();
    let best = found.first().map_or(0, |(distance, _)| *distance);
    found.into_iter().filter(|(distance, _)| *distance <= best + 1).map(|(_, code)| code).take(3).collect()
}

/// How many letters have to be put in, taken out or changed.
fn distance(from: &[char], to: &str) -> usize {
    let mut row: Vec<usize> = (0..=to.chars().count()).collect();
    for (i, a) in from.iter().enumerate() {
        let mut corner = i;
        row[0] = i + 1;
        for (j, b) in to.chars().enumerate() {
            let kept = corner + usize::from(*a != b);
            corner = row[j + 1];
            row[j + 1] = kept.min(corner + 1).min(row[j] + 1);
        }
    }
    row.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mistyped_code_finds_its_neighbours() {
        let cases: [(&str, &[&str]); 4] = [
            ("budget_exhaused", &["budget_exhausted"]),
            ("Rate-Limit", &["rate_limited"]),
            ("resource_not_fond", &["resource_not_found"]),
            ("qqqqqqqqqqqqqq", &[]),
        ];
        for (given, expected) in cases {
            assert_eq!(nearest(given), expected, "{given}");
        }
    }
}
