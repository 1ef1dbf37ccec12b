//! The result of a run, in the public report schema.
//!
//! Beyond that schema a check also carries its sentence, its remedy, and why it was skipped.

use std::time::Duration;

use harn_core::PROTOCOL_VERSION;
use jiff::Timestamp;
use serde::Serialize;
use serde_json::Value;

use crate::options::Category;

const SCHEMA: &str = "harn-agents-conformance-2026-04-25";

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    Passed,
    Failed,
    Skipped,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    pub schema: &'static str,
    pub target: String,
    pub protocol_version: &'static str,
    pub generated_at: String,
    pub summary: Summary,
    pub percentiles_ms: Percentiles,
    pub capabilities: Value,
    pub categories: Vec<CategoryReport>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Summary {
    pub status: Status,
    /// `passed / (passed + failed)`; 0 when everything was skipped.
    pub score: f64,
    pub passed: usize,
    pub failed: usize,
    pub skipped: usize,
    pub total: usize,
    pub categories_passed: usize,
    pub categories_failed: usize,
    pub categories_skipped: usize,
    pub categories_total: usize,
    pub duration_ms: f64,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CategoryReport {
    pub name: String,
    pub status: Status,
    pub passed: usize,
    pub failed: usize,
    pub skipped: usize,
    pub duration_ms: f64,
    pub percentiles_ms: Percentiles,
    pub tests: Vec<CheckReport>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CheckReport {
    pub name: String,
    pub status: Status,
    pub duration_ms: f64,
    /// What was seen; only of a failed check.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Only of a skipped check.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    pub sentence: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remedy: Option<String>,
}

/// Of the durations of the checks that ran.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Percentiles {
    pub avg: f64,
    pub p50: f64,
    pub p95: f64,
    pub p99: f64,
}

impl Report {
    pub(crate) fn new(
        target: String,
        capabilities: Value,
        results: Vec<(Category, Vec<CheckReport>)>,
        duration: Duration,
    ) -> Report {
        let all: Vec<CheckReport> = results.iter().flat_map(|(_, reports)| reports.clone()).collect();
        let categories: Vec<_> =
            results.into_iter().map(|(category, reports)| CategoryReport::new(category, reports)).collect();
        let of_status = |status| categories.iter().filter(|category| category.status == status).count();
        let (passed, failed, skipped) = counts(&all);
        let summary = Summary {
            status: overall(passed, failed),
            score: if passed + failed == 0 { 0.0 } else { passed as f64 / (passed + failed) as f64 },
            passed,
            failed,
            skipped,
            total: all.len(),
            categories_passed: of_status(Status::Passed),
            categories_failed: of_status(Status::Failed),
            categories_skipped: of_status(Status::Skipped),
            categories_total: categories.len(),
            duration_ms: duration.as_secs_f64() * 1000.0,
        };
        Report {
            schema: SCHEMA,
            target,
            protocol_version: PROTOCOL_VERSION,
            generated_at: Timestamp::now().to_string(),
            summary,
            percentiles_ms: Percentiles::of(&all),
            capabilities,
            categories,
        }
    }

    /// 0 when nothing failed, 1 otherwise.
    pub fn exit_code(&self) -> u8 {
        u8::from(self.summary.status == Status::Failed)
    }

    pub fn to_json(&self) -> String {
        // Nothing in a report can fail to be written: its map keys are strings.
        serde_json::to_string_pretty(self).unwrap_or_default()
    }
}

impl CategoryReport {
    fn new(category: Category, tests: Vec<CheckReport>) -> CategoryReport {
        let (passed, failed, skipped) = counts(&tests);
        CategoryReport {
            name: category.name().to_owned(),
            status: overall(passed, failed),
            passed,
            failed,
            skipped,
            duration_ms: tests.iter().map(|test| test.duration_ms).sum(),
            percentiles_ms: Percentiles::of(&tests),
            tests,
        }
    }
}

impl Percentiles {
    fn of(tests: &[CheckReport]) -> Percentiles {
        let ran = tests.iter().filter(|test| test.status != Status::Skipped);
        let mut durations: Vec<f64> = ran.map(|test| test.duration_ms).collect();
        durations.sort_by(f64::total_cmp);
        let Some(last) = durations.len().checked_sub(1) else { return Percentiles::default() };
        let at = |percent: usize| durations[(durations.len() * percent).div_ceil(100).clamp(1, last + 1) - 1];
        Percentiles {
            avg: durations.iter().sum::<f64>() / durations.len() as f64,
            p50: at(50),
            p95: at(95),
            p99: at(99),
        }
    }
}

fn counts(tests: &[CheckReport]) -> (usize, usize, usize) {
    let of = |status| tests.iter().filter(|test| test.status == status).count();
    (of(Status::Passed), of(Status::Failed), of(Status::Skipped))
}

fn overall(passed: usize, failed: usize) -> Status {
    match (passed, failed) {
        (_, 1..) => Status::Failed,
        (0, 0) => Status::Skipped,
        _ => Status::Passed,
    }
}

#[cfg(test)]
#[path = "report_tests.rs"]
mod tests;
