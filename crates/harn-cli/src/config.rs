//! The configuration file `harn.toml`: what runs may do and spend. Every mistake is named with its file and line.

use std::fs;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

use anyhow::Result;
use harn_core::budget::Budget;
use harn_model::catalog::{Catalog, OverlayFile, OverlayKind};
use harn_policy::PermissionsFile;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::problem::Problem;

pub const FILE: &str = "harn.toml";
/// More than anybody writes by hand.
const LARGEST: u64 = 1 << 20;
const MICROS: f64 = 1_000_000.0;
const MOST_USD: f64 = 1_000_000_000.0;

/// What is configured.
#[derive(Clone)]
pub struct Config {
    /// None when there is no file, and so nothing is configured.
    pub file: Option<PathBuf>,
    pub permissions: PermissionsFile,
    /// What every run may spend.
    pub budget: Budget,
    /// The models that can be chosen, with what the configuration says about them.
    pub catalog: Catalog,
    /// What is in the file and means nothing to us, in words.
    pub warnings: Vec<String>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            file: None,
            permissions: PermissionsFile::default(),
            budget: Budget::default(),
            catalog: Catalog::builtin(),
            warnings: Vec::new(),
        }
    }
}

impl Config {
    /// Reads the given file, which must be there, or `harn.toml` of the root, which may be.
    pub fn load(root: &Path, given: Option<&Path>) -> Result<Self> {
        let file = given.map_or_else(|| root.join(FILE), Path::to_path_buf);
        let text = match read(&file) {
            Ok(text) => text,
            Err(cause) if cause.kind() == ErrorKind::NotFound && given.is_none() => {
                return Ok(Self { catalog: catalog(root, None)?, ..Self::default() });
            }
            Err(cause) => {
                let message = format!("the configuration file {} cannot be read", file.display());
                return Err(Problem::new(message)
                    .cause(cause.to_string())
                    .hint("check the name after --config and the rights of the file")
                    .into());
            }
        };
        let config = Self::parse(file.clone(), &text)?;
        Ok(Self { catalog: catalog(root, Some((&file, &text)))?, ..config })
    }

    fn parse(file: PathBuf, text: &str) -> Result<Self> {
        let wrong = |at: usize, what: String| {
            Problem::new(format!("{}, line {}: {what}", file.display(), line(text, at)))
                .hint("docs/config.md describes the file; `harn doctor` checks it")
        };
        let document = DeTable::parse(text)
            .map_err(|error| wrong(error.span().map_or(0, |span| span.start), one_line(error.message())))?;
        let mut config = Self { file: Some(file.clone()), ..Self::default() };
        for (name, value) in document.get_ref() {
            match name.get_ref().as_ref() {
                "permissions" | "llm" | "providers" | "models" => {}
                // Read by whoever runs scripts.
                "package" | "exports" | "skills" | "skill" => {}
                "budget" => config.budget = budget(value).map_err(|(at, what)| wrong(at, what))?,
                other => config.warnings.push(format!(
                    "{}, line {}: `{other}` is unknown and ignored; known are [permissions], [budget], [llm], [[providers]], [[models]], [package], [exports], [skills] and [[skill.source]]",
                    file.display(),
                    line(text, name.span().start)
                )),
            }
        }
        config.permissions = PermissionsFile::parse(text).map_err(|error| {
            // It names the line itself, and the file by its usual name.
            let told = error.to_string();
            let told = told.strip_prefix("harn.toml, ").unwrap_or(&told);
            Problem::new(format!("{}, {told}", file.display()))
                .hint("docs/config.md describes the file; `harn policy test` tries its rules")
        })?;
        Ok(config)
    }
}

/// The built-in catalog with `providers.toml` and `llm.toml` of the root and the configuration over it, in this order.
fn catalog(root: &Path, configuration: Option<(&Path, &str)>) -> Result<Catalog> {
    let mut texts = Vec::new();
    for (kind, name) in [(OverlayKind::Providers, "providers.toml"), (OverlayKind::Llm, "llm.toml")] {
        let file = root.join(name);
        match read(&file) {
            Ok(text) => texts.push((kind, file.display().to_string(), text)),
            Err(cause) if cause.kind() == ErrorKind::NotFound => {}
            Err(cause) => {
                return Err(Problem::new(format!("{} cannot be read", file.display()))
                    .cause(cause.to_string())
                    .into());
            }
        }
    }
    if let Some((file, text)) = configuration {
        texts.push((OverlayKind::Harn, file.display().to_string(), text.to_owned()));
    }
    let files: Vec<OverlayFile<'_>> =
        texts.iter().map(|(kind, path, text)| OverlayFile { kind: *kind, path, text }).collect();
    Catalog::builtin()
        .overlaid(&files)
        .map_err(|error| Problem::new(error.to_string()).hint("docs/models.md describes these tables").into())
}

fn read(file: &Path) -> std::io::Result<String> {
    let mut text = String::new();
    fs::File::open(file)?.take(LARGEST + 1).read_to_string(&mut text)?;
    if text.len() as u64 > LARGEST {
        return Err(std::io::Error::new(ErrorKind::InvalidData, "it is larger than 1 MiB"));
    }
    Ok(text)
}

fn line(text: &str, at: usize) -> usize {
    text.as_bytes()[..at.min(text.len())].iter().filter(|byte| **byte == b'\n').count() + 1
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

type Wrong = (usize, String);

fn budget(value: &Spanned<DeValue<'_>>) -> Result<Budget, Wrong> {
    let DeValue::Table(table) = value.get_ref() else {
        return Err((value.span().start, "`budget` must be a table: [budget]".into()));
    };
    let mut budget = Budget::default();
    for (key, value) in table {
        match key.get_ref().as_ref() {
            "usd" => budget.micro_usd = Some(dollars(value)?),
            "tokens" => budget.tokens = Some(whole("tokens", value)?),
            "seconds" => budget.seconds = Some(whole("seconds", value)?),
            other => {
                let what = format!("unknown key `{other}` in [budget]; known are usd, tokens, seconds");
                return Err((key.span().start, what));
            }
        }
    }
    Ok(budget)
}

fn dollars(value: &Spanned<DeValue<'_>>) -> Result<u64, Wrong> {
    let written = match value.get_ref() {
        DeValue::Float(number) => number.as_str().parse::<f64>().ok(),
        DeValue::Integer(number) if number.radix() == 10 => number.as_str().parse::<f64>().ok(),
        _ => None,
    };
    written.filter(|usd| (0.0..=MOST_USD).contains(usd)).map(|usd| (usd * MICROS).round() as u64).ok_or_else(
        || (value.span().start, "`usd` must be an amount of US dollars from 0, such as 2.50".to_owned()),
    )
}

fn whole(name: &str, value: &Spanned<DeValue<'_>>) -> Result<u64, Wrong> {
    let written = match value.get_ref() {
        DeValue::Integer(number) => u64::from_str_radix(number.as_str(), number.radix()).ok(),
        _ => None,
    };
    written.ok_or_else(|| (value.span().start, format!("`{name}` must be a whole number from 0")))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Config, String> {
        Config::parse("harn.toml".into(), text).map_err(|error| error.to_string())
    }

    #[test]
    fn a_budget_is_read_exactly_and_mistakes_have_a_line() {
        let cases: [(&str, Result<Budget, &str>); 9] = [
            ("", Ok(Budget::default())),
            (
                "[budget]\nusd = 2.50\ntokens = 1_000\nseconds = 60\n",
                Ok(Budget { micro_usd: Some(2_500_000), tokens: Some(1000), seconds: Some(60) }),
            ),
            ("[budget]\nusd = 0.000001\n", Ok(Budget { micro_usd: Some(1), ..Budget::default() })),
            ("[budget]\nusd = 3\n", Ok(Budget { micro_usd: Some(3_000_000), ..Budget::default() })),
            ("\n[budget]\nusd = -1.0\n", Err("harn.toml, line 3: `usd` must be an amount")),
            ("[budget]\nusd = nan\n", Err("harn.toml, line 2: `usd` must be an amount")),
            ("[budget]\ntokens = \"many\"\n", Err("harn.toml, line 2: `tokens` must be a whole number")),
            ("[budget]\neuros = 1\n", Err("harn.toml, line 2: unknown key `euros` in [budget]")),
            ("budget = 3\n", Err("harn.toml, line 1: `budget` must be a table")),
        ];
        for (text, expected) in cases {
            match (parse(text), expected) {
                (Ok(config), Ok(budget)) => assert_eq!(config.budget, budget, "{text}"),
                (Err(told), Err(start)) => assert!(told.starts_with(start), "{told}"),
                (got, _) => panic!("{text}: {:?}", got.map(|config| config.budget)),
            }
        }
    }

    #[test]
    fn text_that_is_no_toml_is_named_by_its_line_and_unknown_tables_are_warned_about() {
        assert!(parse("[budget]\nusd = \n").err().unwrap().starts_with("harn.toml, line 2: "));
        let warnings = parse("[theme]\ndark = true\n").unwrap().warnings;
        assert_eq!(
            warnings,
            [
                "harn.toml, line 1: `theme` is unknown and ignored; known are [permissions], [budget], [llm], [[providers]], [[models]], [package], [exports], [skills] and [[skill.source]]"
            ]
        );
    }
}
