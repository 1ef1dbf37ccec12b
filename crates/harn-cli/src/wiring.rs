//! How the parts are put together: a log with its owner's lock, an engine with its models, the harness over both.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result};
use futures::future::BoxFuture;
use harn_core::Workspace;
use harn_core::chat::ModelRef;
use harn_engine::guard::GuardCommand;
use harn_engine::tools::ConfinedFiles;
use harn_engine::{Engine, EngineOptions};
use harn_harness::{Harness, HarnessProjection};
use harn_log::owner::OwnerLock;
use harn_log::sqlite::{self, SqliteLog};
use harn_model::catalog::{Because, Catalog, DefaultModel, MODEL_VARIABLE, Resolved};
use harn_model::discover::Checked;
use harn_model::{
    CatalogSource, CatalogView, Model, ModelSource, Models, OfflineModel, Recording, RecordingModel, Redact,
    ScriptedModel, Transport, TransportOptions,
};

use crate::config::Config;

/// Which model answers, and why.
pub struct ModelChoice {
    pub model: Arc<dyn Model>,
    pub reason: String,
}

impl ModelChoice {
    /// The scripted model when a file is given; else what the environment and the configuration ask for; else the
    /// offline one.
    pub fn of(script: Option<&Path>, source: &CatalogSource) -> Result<Self> {
        if let Some(file) = script {
            return Self::scripted(file);
        }
        let asked = environment(MODEL_VARIABLE);
        if asked.as_deref().is_some_and(|asked| asked == "offline" || asked.starts_with("offline:")) {
            return Ok(Self::offline(&format!("{MODEL_VARIABLE} asks for it")));
        }
        match source.catalog().default_for(&environment)? {
            Some(chosen) => Self::provided(source, &chosen),
            None => {
                Ok(Self::offline("no provider has a key; it understands a few requests and needs no network"))
            }
        }
    }

    pub fn offline(reason: &str) -> Self {
        Self { model: Arc::new(OfflineModel), reason: reason.into() }
    }

    fn provided(source: &CatalogSource, chosen: &DefaultModel<'_>) -> Result<Self> {
        let model = source.connect_to(&chosen.model)?;
        let reason = match &chosen.because {
            Because::Variable => format!("{MODEL_VARIABLE} asks for it"),
            Because::Configuration => "the configuration asks for it".to_owned(),
            Because::Key(name) => format!("{name} has a key for it"),
        };
        Ok(Self { model: Arc::new(model), reason })
    }

    pub fn scripted(file: &Path) -> Result<Self> {
        let model = ScriptedModel::from_file(file)?;
        Ok(Self { model: Arc::new(model), reason: format!("its answers are read from {}", file.display()) })
    }

    /// The same model, and its answers are recorded.
    pub fn recorded(self, recording: &Arc<Recording>) -> Self {
        let reason = format!("{}; its answers are recorded in {}", self.reason, recording.path().display());
        Self { model: Arc::new(RecordingModel::new(self.model, Arc::clone(recording))), reason }
    }
}

/// A recording into this file, of which policy says what is secret.
pub fn recording(file: &Path) -> Result<Arc<Recording>> {
    let redact: Redact = Arc::new(|text| harn_policy::redact(text).into_owned());
    Ok(Recording::open(file, redact)?)
}

/// Models of a source, whose answers are recorded like those of the first choice.
struct Recorded {
    source: Arc<dyn ModelSource>,
    recording: Arc<Recording>,
}

impl ModelSource for Recorded {
    fn resolve(&self, selector: &str) -> Result<ModelRef, String> {
        self.source.resolve(selector)
    }

    fn connect(&self, reference: &ModelRef) -> Option<Arc<dyn Model>> {
        let model = self.source.connect(reference)?;
        Some(Arc::new(RecordingModel::new(model, Arc::clone(&self.recording))))
    }

    fn catalog(&self) -> Option<CatalogView<'_>> {
        self.source.catalog()
    }

    fn check(&self, provider: &str) -> Option<BoxFuture<'static, Checked>> {
        self.source.check(provider)
    }
}

pub fn recorded_source(source: Arc<dyn ModelSource>, recording: &Arc<Recording>) -> Arc<dyn ModelSource> {
    Arc::new(Recorded { source, recording: Arc::clone(recording) })
}

/// A variable of our environment, unless it is empty.
pub fn environment(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.trim().is_empty())
}

/// Connections to providers: through the proxies of the environment, trusting `HARN_CA_FILE` beside the system.
pub fn transport() -> Result<Transport> {
    Ok(Transport::new(&transport_options())?)
}

fn transport_options() -> TransportOptions {
    let ca_file = environment("HARN_CA_FILE").map(PathBuf::from);
    TransportOptions { ca_file, ..TransportOptions::default() }
}

/// The models of a catalog, to be called with the keys of our environment.
pub fn source(catalog: &Catalog) -> Arc<CatalogSource> {
    Arc::new(CatalogSource::new(catalog.clone(), environment, transport_options()))
}

/// What a harness is made from.
pub struct Setup {
    pub data: PathBuf,
    pub root: PathBuf,
    pub allowed_roots: Vec<PathBuf>,
    pub model: Arc<dyn Model>,
    /// Where models come from that runs ask for by name; none for the catalog of the configuration.
    pub source: Option<Arc<dyn ModelSource>>,
    pub guard: GuardCommand,
    pub log: sqlite::Options,
}

/// A running harness and what must live as long as it does.
pub struct Running {
    pub harness: Harness,
    pub workspace: Workspace,
    pub log: Arc<SqliteLog>,
    pub owner: OwnerLock,
}

/// The guardian is this very binary.
pub fn own_guard() -> Result<GuardCommand> {
    let program = std::env::current_exe().context("where this binary is cannot be found out")?;
    Ok(GuardCommand { program, args: vec!["guard".into()] })
}

/// Opens the data directory, with nothing configured.
pub async fn start(setup: Setup) -> Result<Running> {
    start_with(setup, &Config::default()).await
}

/// Opens the data directory and brings every unfinished run on its way again.
pub async fn start_with(setup: Setup, config: &Config) -> Result<Running> {
    let root = canonical(&setup.root)?;
    let allowed_roots = setup.allowed_roots.iter().map(|root| canonical(root)).collect::<Result<Vec<_>>>()?;
    refuse_open_data(&setup.data, std::iter::once(&root).chain(&allowed_roots))?;
    let owner = OwnerLock::acquire(&setup.data)?;
    let log = Arc::new(SqliteLog::open(&setup.data, Arc::new(HarnessProjection), setup.log)?);
    if let Some(reason) = &log.rebuilt {
        tracing::warn!("the projections were rebuilt: {reason}");
    }
    let mut guard = setup.guard;
    // Wherever it is, and whatever it is called, no command sees it.
    let mut hidden = std::ffi::OsString::from("--hide=");
    hidden.push(setup.data.canonicalize()?);
    guard.args.push(hidden);
    let model = setup.model.reference();
    let source = setup.source.unwrap_or_else(|| source(&config.catalog));
    let models = Models::new(vec![setup.model, Arc::new(OfflineModel)]).with_source(source);
    let mut engine = EngineOptions::new(models, model, guard);
    let fallbacks = config.catalog.fallbacks_for(&environment)?;
    engine.fallbacks = fallbacks.iter().map(Resolved::reference).collect();
    engine.fallback_on = config.catalog.fallback_on();
    engine.catalog = config.catalog.export_for(&environment);
    let engine = Engine::new(engine);
    let mut options = harn_harness::Options::new(root);
    options.allowed_roots = allowed_roots;
    options.permissions = config.permissions.clone();
    options.budget = config.budget;
    let harness = Harness::new(log.clone(), Arc::new(engine), Arc::new(ConfinedFiles), options);
    let workspace = harness.start().await?;
    Ok(Running { harness, workspace, log, owner })
}

/// Tools may read below the roots, except in `.harn`; a data directory of another name must be elsewhere.
fn refuse_open_data<'a>(data: &Path, mut roots: impl Iterator<Item = &'a PathBuf>) -> Result<()> {
    let data = data.canonicalize().or_else(|_| std::path::absolute(data))?;
    if data.components().any(|part| part.as_os_str() == ".harn") {
        return Ok(());
    }
    if let Some(root) = roots.find(|root| data.starts_with(root)) {
        anyhow::bail!(
            "the data directory {} is inside the workspace root {}, where agents could read it; name it `.harn`, or \
             choose a place outside with --data",
            data.display(),
            root.display()
        );
    }
    Ok(())
}

fn canonical(root: &Path) -> Result<PathBuf> {
    root.canonicalize().with_context(|| format!("the folder {} cannot be used as a root", root.display()))
}
