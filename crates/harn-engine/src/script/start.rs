//! From the record of a run to its program: the recorded image is compiled, whatever has become of its files.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use harn_core::Failure;
use harn_core::run::RunRecord;
use harn_lang::vm::{Limits, Vm};
use parking_lot::Mutex;

use super::input::Given;
use super::{ScriptProgram, image};
use crate::calls::Place;

/// What a script of a task may use. A change would end recorded runs differently, so it raises `SEMANTICS`.
const LIMITS: Limits = Limits { fuel: 100_000_000_000, memory: 256 << 20, output: 64 << 20, tasks: 100_000 };

/// The program of a run, at its beginning, and where it works.
pub fn start(record: &RunRecord) -> Result<(ScriptProgram, Place), Failure> {
    let refused = |message: String| Failure::new("script_error", message);
    let Some(script) = &record.script else {
        return Err(refused("The image of the script is missing.".into()));
    };
    let (program, bound) = image::compile(script, &Given::of(record)).map_err(refused)?;
    let vm = Vm::new(Arc::new(program), bound.values(), LIMITS, record.manifest.seed);
    let root = record.manifest.root.as_ref().map(PathBuf::from).unwrap_or_default();
    let place = Place {
        base: root.clone(),
        root,
        source: PathBuf::from(&script.folder),
        project: PathBuf::from(&script.project),
        script: Path::new(&script.entry).file_stem().unwrap_or_default().to_string_lossy().into_owned(),
        ..Place::default()
    };
    Ok((ScriptProgram::new(Arc::new(Mutex::new(vm))), place))
}
