//! From the record of a run to its program: the recorded image is compiled, whatever has become of its files.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use harn_core::Failure;
use harn_core::run::{RunRecord, ScriptLimits};
use harn_lang::value::{Dict, Text};
use harn_lang::vm::{Limits, Vm};
use harn_model::MockFile;
use parking_lot::Mutex;

use super::input::Given;
use super::{ScriptProgram, image};
use crate::calls::Place;
use crate::runner::EngineOptions;

/// What a script of a task may use. A change would end recorded runs differently, so it raises `SEMANTICS`.
const LIMITS: Limits = Limits { fuel: 100_000_000_000, memory: 256 << 20, output: 64 << 20, tasks: 100_000 };

/// As usual, but for what the run was started with.
pub fn limits(wanted: ScriptLimits, usual: Limits) -> Limits {
    let or = |wanted: Option<u64>, usual: u64| match wanted {
        None => usual,
        Some(0) => u64::MAX,
        Some(limit) => limit,
    };
    Limits {
        fuel: or(wanted.steps, usual.fuel),
        memory: or(wanted.memory, usual.memory),
        output: or(wanted.output, usual.output),
        ..usual
    }
}

/// The program of a run, at its beginning, and where it works.
pub fn start(record: &RunRecord) -> Result<(ScriptProgram, Place), Failure> {
    let refused = |message: String| Failure::new("script_error", message);
    let Some(script) = &record.script else {
        return Err(refused("The image of the script is missing.".into()));
    };
    let given = Given::of(record);
    let (program, bound) = image::compile(script, &given).map_err(refused)?;
    let limits = limits(script.limits, LIMITS);
    let mut vm = Vm::new(Arc::new(program), bound.values(), limits, record.manifest.seed);
    vm.set_about(about(record, &given));
    let root = record.manifest.root.as_ref().map(PathBuf::from).unwrap_or_default();
    let place = Place {
        base: root.clone(),
        root,
        source: PathBuf::from(&script.folder),
        project: PathBuf::from(&script.project),
        script: Path::new(&script.entry).file_stem().unwrap_or_default().to_string_lossy().into_owned(),
        skills: script.skills.iter().map(PathBuf::from).collect(),
        ..Place::default()
    };
    Ok((ScriptProgram::new(Arc::new(Mutex::new(vm))), place))
}

/// What the program can ask about its run.
fn about(record: &RunRecord, given: &Given) -> Dict {
    let task = &record.task_id;
    let ids = [("run_id", task.as_str().into()), ("trace_id", task.trace_id().as_str().into())];
    let named = |(name, value)| (Arc::new(Text::new(name)), value);
    ids.into_iter().chain(given.about()).map(named).collect()
}

/// The engine of a run that a file answers in the place of models; none for all others.
pub fn mocked(options: &EngineOptions, record: &RunRecord) -> Result<Option<EngineOptions>, Failure> {
    let Some((file, text)) = record.script.as_ref().and_then(|script| script.llm_mock.as_ref()) else {
        return Ok(None);
    };
    let mock =
        MockFile::parse(file, text).map_err(|error| Failure::new("script_error", error.to_string()))?;
    let models = options.models.clone().with_mock(Arc::new(mock));
    Ok(Some(EngineOptions { models, ..options.clone() }))
}
