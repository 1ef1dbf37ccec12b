//! The report for a person: a table of the categories, then each failure with what to do.

use crate::report::{Report, Status};

impl Report {
    pub fn to_text(&self) -> String {
        let mut text = String::new();
        self.write_text(&mut text);
        text
    }

    fn write_text(&self, text: &mut String) {
        let mut line = |content: String| {
            text.push_str(&content);
            text.push('\n');
        };
        line(format!("{} against {}", self.protocol_version, self.target));
        line(String::new());
        line(format!("{:<16} {:>6} {:>6} {:>7} {:>9}", "category", "passed", "failed", "skipped", "ms"));
        for category in &self.categories {
            line(format!(
                "{:<16} {:>6} {:>6} {:>7} {:>9.0}",
                category.name, category.passed, category.failed, category.skipped, category.duration_ms
            ));
        }
        for (category, test) in self.with_status(Status::Failed) {
            line(String::new());
            line(format!("FAILED {category}/{}", test.name));
            line(format!("  says   {}", test.sentence));
            line(format!("  seen   {}", test.error.as_deref().unwrap_or("nothing")));
            line(format!("  to do  {}", test.remedy.as_deref().unwrap_or("nothing")));
        }
        let mut first = true;
        for (category, test) in self.with_status(Status::Skipped) {
            if std::mem::take(&mut first) {
                line(String::new());
            }
            line(format!(
                "skipped {category}/{}: {}",
                test.name,
                test.reason.as_deref().unwrap_or("no reason")
            ));
        }
        let summary = &self.summary;
        line(String::new());
        line(format!(
            "{} passed, {} failed, {} skipped; score {:.3}",
            summary.passed, summary.failed, summary.skipped, summary.score
        ));
    }

    fn with_status(&self, status: Status) -> impl Iterator<Item = (&str, &crate::CheckReport)> {
        let tests = self
            .categories
            .iter()
            .flat_map(|category| category.tests.iter().map(|test| (category.name.as_str(), test)));
        tests.filter(move |(_, test)| test.status == status)
    }
}
