//! What a script of the command line finds: values by name, a policy, models, and the calls of the engine.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use anyhow::Result;
use futures::future::BoxFuture;
use harn_core::Part;
use harn_core::chat::ModelRef;
use harn_engine::EngineOptions;
use harn_engine::calls::{Input, Place};
use harn_engine::script::Given;
use harn_lang::value::{Dict, Text, Value};
use harn_model::catalog::Provider;
use harn_model::discover::Checked;
use harn_model::{CatalogSource, CatalogView, MockFile, MockRecording, Model, ModelSource, Models, Redact};
use harn_policy::{Layer, Policy};

use crate::config::Config;
use crate::wiring::{self, ModelChoice};

/// The names that a script finds defined, in the order of `values`.
pub fn names() -> Vec<Arc<str>> {
    ["argv", "task", "project", "context"].into_iter().map(Arc::from).collect()
}

/// The values of those names. The words of the command line are the task, as they are with `--durable`.
pub fn values(place: &Place, args: &[String]) -> Vec<Value> {
    let argv = args.iter().map(|arg| Value::str(arg.as_str())).collect();
    let project = Value::str(place.project.display().to_string());
    let task = Value::str(args.join(" "));
    let context = [("task", task.clone()), ("project_root", project.clone()), ("task_type", Value::Nil)];
    vec![Value::list(argv), task, project, Value::record(context)]
}

/// What a script can ask about its run.
pub fn about(args: &[String]) -> Dict {
    let task = Given::said(&[Part::text(args.join(" "))]);
    task.about().into_iter().map(|(name, value)| (Arc::new(Text::new(name)), value)).collect()
}

/// A script of this file, or one without a file, in the current folder.
pub fn place_of(file: Option<&Path>) -> Place {
    let root = std::env::current_dir().unwrap_or_else(|_| PathBuf::from("."));
    Place { input: Input::Process, ..Place::of(root, file) }
}

/// What is configured for scripts of a project: its `harn.toml`, or the file that was given in its place.
pub struct Configuration {
    project: PathBuf,
    /// None where there is no file.
    config: Option<Config>,
}

/// The models of the configuration, which are looked up when the first one is asked for: most scripts ask none.
struct Configured {
    root: PathBuf,
    config: Option<Config>,
    found: OnceLock<Result<Found, String>>,
}

struct Found {
    source: Arc<CatalogSource>,
    default: ModelChoice,
}

impl Configured {
    fn found(&self) -> Result<&Found, String> {
        let find = || {
            let config = match &self.config {
                Some(config) => config.clone(),
                None => Config::load(&self.root, None)?,
            };
            let source = wiring::source(&config.catalog);
            let default = ModelChoice::of(None, &source)?;
            anyhow::Ok(Found { source, default })
        };
        let found = self.found.get_or_init(|| find().map_err(|error| format!("{error:#}")));
        found.as_ref().map_err(Clone::clone)
    }
}

impl ModelSource for Configured {
    fn resolve(&self, selector: &str) -> Result<ModelRef, String> {
        let found = self.found()?;
        match selector {
            "" => Ok(found.default.model.reference()),
            selector => found.source.resolve(selector),
        }
    }

    fn connect(&self, reference: &ModelRef) -> Option<Arc<dyn Model>> {
        let found = self.found().ok()?;
        if *reference == found.default.model.reference() {
            return Some(Arc::clone(&found.default.model));
        }
        found.source.connect(reference)
    }

    fn catalog(&self) -> Option<CatalogView<'_>> {
        ModelSource::catalog(&*self.found().ok()?.source)
    }

    fn check(&self, provider: &str) -> Option<BoxFuture<'static, Checked>> {
        ModelSource::check(&*self.found().ok()?.source, provider)
    }

    fn extended(&self, row: Provider) -> Result<CatalogSource, String> {
        self.found()?.source.extended(row)
    }
}

/// Files that answer in the place of models, or keep what they answer.
#[derive(Clone, Debug, Default)]
pub struct Answers {
    pub from: Option<PathBuf>,
    pub to: Option<PathBuf>,
}

impl Configuration {
    pub fn of(project: &Path, given: Option<&Path>) -> Result<Self> {
        let is_there = given.is_some() || project.join(crate::config::FILE).is_file();
        let config = if is_there { Some(Config::load(project, given)?) } else { None };
        Ok(Self { project: project.to_path_buf(), config })
    }

    /// What scripts of this project are run with.
    pub fn options(&self, answers: &Answers) -> Result<EngineOptions> {
        let (root, config) = (self.project.clone(), self.config.clone());
        let source = Configured { root, config, found: OnceLock::new() };
        let mut models = Models::new(Vec::new()).with_source(Arc::new(source));
        if let Some(file) = &answers.from {
            models = models.with_mock(Arc::new(MockFile::open(file)?));
        }
        if let Some(file) = &answers.to {
            let redact: Redact = Arc::new(|text| harn_policy::redact(text).into_owned());
            models = models.with_mock_recording(MockRecording::create(file, redact)?);
        }
        // Which model that is, the source says when a script asks one.
        let unnamed = ModelRef { provider: String::new(), model: String::new() };
        let mut options = EngineOptions::new(models, unnamed, wiring::own_guard()?);
        options.limits.budget = self.config.as_ref().map(|config| config.budget).unwrap_or_default();
        Ok(options)
    }

    /// Its rules, and those of the command line. Without either there are none.
    pub fn policy(&self, limits: Option<Layer>) -> Result<Policy> {
        let mut layers = self.config.as_ref().map(|config| config.permissions.layers()).unwrap_or_default();
        layers.extend(limits);
        Ok(Policy::compile(layers)?)
    }
}
