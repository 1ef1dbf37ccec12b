//! Overlays: what `providers.toml`, `llm.toml` and `harn.toml` say, merged row by row and field by field.

use std::collections::{BTreeMap, HashMap};

use harn_core::route::FallbackOn;
use serde::Deserialize;
use toml::Spanned;

use super::Catalog;
use super::check::{self, Row};
use super::patch::{ModelPatch, ProviderPatch};

/// More text than any catalog needs, and little enough to read without care.
const LARGEST: usize = 1 << 18;

/// The text of a file, and what to call the file in an error.
#[derive(Clone, Copy, Debug)]
pub struct OverlayFile<'a> {
    pub kind: OverlayKind,
    pub path: &'a str,
    pub text: &'a str,
}

/// Which file it is. All three have the same tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OverlayKind {
    Providers,
    Llm,
    /// `harn.toml` has tables of other parts of Harn too, which are not looked at.
    Harn,
}

/// An overlay that cannot be used, and where it goes wrong.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{path}:{line}: {problem}")]
pub struct OverlayError {
    pub path: String,
    pub line: usize,
    pub problem: String,
}

impl Catalog {
    /// The catalog with the files applied in their order: of two files that say something, the later one counts.
    pub fn overlaid(mut self, files: &[OverlayFile<'_>]) -> Result<Self, OverlayError> {
        for file in files {
            self.apply(file)?;
        }
        Ok(self)
    }

    fn apply(&mut self, file: &OverlayFile<'_>) -> Result<(), OverlayError> {
        let tables = file.tables()?;
        let mut seen = Seen { file, rows: HashMap::new() };
        for patch in tables.providers {
            let id = self.canonical(patch.id.get_ref());
            let at = patch.id.span().start;
            seen.first(Row::Provider(id.clone()), at)?;
            let row =
                patch.applied_to(self.providers.remove(&id)).map_err(|problem| file.error(at, problem))?;
            self.providers.insert(id, row);
        }
        for patch in tables.models {
            let key = self.key(patch.provider.get_ref(), patch.id.get_ref());
            let at = patch.id.span().start;
            seen.first(Row::Model(key.0.clone(), key.1.clone()), at)?;
            let old = self.models.remove(&key);
            let mut row = patch.applied_to(old).map_err(|problem| file.error(at, problem))?;
            row.provider.clone_from(&key.0);
            self.models.insert(key, row);
        }
        for (name, target) in tables.llm.aliases {
            seen.first(Row::Alias(name.clone()), target.span().start)?;
            self.aliases.insert(name, target.into_inner());
        }
        if let Some(model) = tables.llm.model {
            seen.first(Row::Default, model.span().start)?;
            self.default_selector = Some(model.into_inner());
        }
        if let Some(fallbacks) = tables.llm.fallbacks {
            for (nth, fallback) in fallbacks.get_ref().iter().enumerate() {
                seen.first(Row::Fallback(nth), fallback.span().start)?;
            }
            seen.first(Row::Fallbacks, fallbacks.span().start)?;
            self.fallbacks = fallbacks.into_inner().into_iter().map(Spanned::into_inner).collect();
        }
        if tables.llm.fallback_on.is_some() {
            self.fallback_on = tables.llm.fallback_on;
        }
        match check::first_problem(self) {
            None => Ok(()),
            Some(problem) => Err(seen.error(&problem.rows, problem.what)),
        }
    }

    /// The key of the row that is meant, whichever way it is written.
    fn key(&self, provider: &str, id: &str) -> (String, String) {
        let provider = self.canonical(provider);
        let row = self.models().find(|row| row.provider == provider && row.id.eq_ignore_ascii_case(id));
        (provider, row.map_or(id, |row| &row.id).to_owned())
    }

    fn canonical(&self, provider: &str) -> String {
        self.provider(provider).map_or_else(|| provider.to_owned(), |provider| provider.id.clone())
    }
}

/// The rows of a file, with the places where they stand.
struct Seen<'a> {
    file: &'a OverlayFile<'a>,
    rows: HashMap<Row, usize>,
}

impl Seen<'_> {
    fn first(&mut self, row: Row, at: usize) -> Result<(), OverlayError> {
        let problem = format!("{row} stands in this file twice; put all that you have to say in one place");
        match self.rows.insert(row, at) {
            None => Ok(()),
            Some(_) => Err(self.file.error(at, problem)),
        }
    }

    /// The place is that of the first of the rows that this file has.
    fn error(&self, rows: &[Row], problem: String) -> OverlayError {
        let at = rows.iter().find_map(|row| self.rows.get(row)).copied().unwrap_or(0);
        self.file.error(at, problem)
    }
}

#[derive(Default)]
struct Tables {
    llm: Llm,
    providers: Vec<ProviderPatch>,
    models: Vec<ModelPatch>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Llm {
    model: Option<Spanned<String>>,
    aliases: BTreeMap<String, Spanned<String>>,
    fallbacks: Option<Spanned<Vec<Spanned<String>>>>,
    fallback_on: Option<Vec<FallbackOn>>,
}

/// All tables of the file are ours.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Strict {
    #[serde(default)]
    llm: Llm,
    #[serde(default)]
    providers: Vec<ProviderPatch>,
    #[serde(default)]
    models: Vec<ModelPatch>,
}

/// Other tables belong to others.
#[derive(Deserialize)]
struct Shared {
    #[serde(default)]
    llm: Llm,
    #[serde(default)]
    providers: Vec<ProviderPatch>,
    #[serde(default)]
    models: Vec<ModelPatch>,
}

impl OverlayFile<'_> {
    fn tables(&self) -> Result<Tables, OverlayError> {
        if self.text.len() > LARGEST {
            return Err(self.error(0, format!("the file has more than {LARGEST} bytes")));
        }
        let read = match self.kind {
            OverlayKind::Providers | OverlayKind::Llm => toml::from_str::<Strict>(self.text)
                .map(|Strict { llm, providers, models }| Tables { llm, providers, models }),
            OverlayKind::Harn => toml::from_str::<Shared>(self.text)
                .map(|Shared { llm, providers, models }| Tables { llm, providers, models }),
        };
        read.map_err(|error| {
            let at = error.span().map_or(0, |span| span.start);
            self.error(at, error.message().trim_end().replace('\n', "; "))
        })
    }

    fn error(&self, at: usize, problem: String) -> OverlayError {
        let before = self.text.as_bytes().get(..at).unwrap_or_default();
        let line = 1 + before.iter().filter(|byte| **byte == b'\n').count();
        OverlayError { path: self.path.to_owned(), line, problem }
    }
}
