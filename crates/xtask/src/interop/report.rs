//! One line for each check, and the count at the end.

use std::io::Write;
use std::process::ExitCode;

#[derive(Default)]
pub struct Report {
    passed: usize,
    failed: usize,
}

impl Report {
    pub fn heading(&mut self, words: &str) -> anyhow::Result<()> {
        line(&format!("\n{words}"))
    }

    /// A check, and what differed if it failed.
    pub fn check(&mut self, name: &str, result: Result<(), String>) -> anyhow::Result<()> {
        match result {
            Ok(()) => {
                self.passed += 1;
                line(&format!("  ok       {name}"))
            }
            Err(problem) => {
                self.failed += 1;
                line(&format!("  FAILED   {name}: {problem}"))
            }
        }
    }

    /// A check that the other program has no way to do.
    pub fn skipped(&mut self, name: &str, why: &str) -> anyhow::Result<()> {
        line(&format!("  skipped: {name}: {why}"))
    }

    pub fn finish(self) -> anyhow::Result<ExitCode> {
        line(&format!("\n{} passed, {} failed", self.passed, self.failed))?;
        // Nothing checked is nothing proven.
        let is_good = self.failed == 0 && self.passed > 0;
        Ok(if is_good { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }
}

/// What is going on, for those who wait.
pub fn line(text: &str) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{text}")?;
    Ok(out.flush()?)
}
