//! The outcomes as a JUnit file, which build servers read.

use std::fmt::Write as _;
use std::path::Path;

use anyhow::{Context, Result};

use super::report::Outcome;

pub fn write(file: &Path, outcomes: &[Outcome]) -> Result<()> {
    std::fs::write(file, document(outcomes)).with_context(|| format!("{} cannot be written", file.display()))
}

fn document(outcomes: &[Outcome]) -> String {
    let mut text = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let (tests, failures) = counts(outcomes);
    let _ = writeln!(text, "<testsuites tests=\"{tests}\" failures=\"{failures}\">");
    // Those of a file stand together already.
    for suite in outcomes.chunk_by(|a, b| a.suite == b.suite) {
        let (tests, failures) = counts(suite);
        let name = suite.first().map(|outcome| escaped(&outcome.suite)).unwrap_or_default();
        let _ = writeln!(text, "  <testsuite name=\"{name}\" tests=\"{tests}\" failures=\"{failures}\">");
        for outcome in suite {
            case(&mut text, outcome);
        }
        text.push_str("  </testsuite>\n");
    }
    text.push_str("</testsuites>\n");
    text
}

fn counts(outcomes: &[Outcome]) -> (usize, usize) {
    (outcomes.len(), outcomes.iter().filter(|outcome| outcome.failure.is_some()).count())
}

fn case(text: &mut String, outcome: &Outcome) {
    let (name, suite) = (escaped(&outcome.name), escaped(&outcome.suite));
    let seconds = outcome.took.as_secs_f64();
    let _ = write!(text, "    <testcase name=\"{name}\" classname=\"{suite}\" time=\"{seconds:.3}\"");
    if outcome.failure.is_none() && outcome.output.is_empty() {
        text.push_str("/>\n");
        return;
    }
    text.push_str(">\n");
    if let Some(failure) = &outcome.failure {
        let message = escaped(failure.lines().next().unwrap_or_default());
        let _ = writeln!(text, "      <failure message=\"{message}\">{}</failure>", escaped(failure));
    }
    if !outcome.output.is_empty() {
        let _ = writeln!(text, "      <system-out>{}</system-out>", escaped(&outcome.output));
    }
    text.push_str("    </testcase>\n");
}

/// As XML has it; what no XML may contain is left out.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\n' | '\t' => escaped.push(character),
            '\u{fffe}' | '\u{ffff}' => {}
            _ if character.is_control() => {}
            _ => escaped.push(character),
        }
    }
    escaped
}
