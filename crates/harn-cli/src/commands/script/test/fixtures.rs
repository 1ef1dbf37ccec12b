//! Files beside tests that keep what models, the network, commands and the host gave them.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, anyhow};
use harn_engine::fixture::Fixture;

use super::find::Test;
use crate::args::TestArgs;

/// `fixtures/FILE__NAME.jsonl` beside the test.
fn path(test: &Test) -> PathBuf {
    let file = test.file.file_stem().unwrap_or_default().to_string_lossy();
    let name = test.pipeline.as_deref().unwrap_or_default();
    test.file.with_file_name("fixtures").join(format!("{file}__{name}.jsonl"))
}

/// What a test is run with.
pub fn of(test: &Test, args: &TestArgs, project: &Path) -> Result<Option<Arc<Fixture>>> {
    if args.record {
        return Ok(Some(Arc::new(Fixture::recording(project))));
    }
    if !args.replay {
        return Ok(None);
    }
    let path = path(test);
    let text = match fs::read_to_string(&path) {
        Ok(text) => text,
        // A test that asks for nothing has none.
        Err(error) if error.kind() == ErrorKind::NotFound => String::new(),
        Err(error) => return Err(error).with_context(|| format!("{} cannot be read", path.display())),
    };
    let fixture = Fixture::replaying(&text, project);
    let fixture = fixture.map_err(|why| anyhow!("{} is no fixture: {why}", path.display()))?;
    Ok(Some(Arc::new(fixture)))
}

/// Writes what was recorded in the place of what was there.
pub fn keep(test: &Test, fixture: Option<&Fixture>) -> Result<()> {
    let Some(fixture) = fixture else { return Ok(()) };
    let (path, text) = (path(test), fixture.recorded());
    let written = match text.is_empty() {
        true => match fs::remove_file(&path) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        },
        false => fs::create_dir_all(path.with_file_name("")).and_then(|()| fs::write(&path, text)),
    };
    written.with_context(|| format!("{} cannot be written", path.display()))
}
