//! Where scripts are: the files that a command names, and the modules that a script imports.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use harn_lang::bytecode::Source;
use harn_lang::compile::Loader;

/// A script larger than this is a mistake.
const LARGEST: u64 = 64 << 20;

pub fn read(path: &Path) -> Result<Source> {
    let text = load(path).with_context(|| format!("{} cannot be read", path.display()))?;
    Ok(Source { name: path.display().to_string().into(), text: text.into() })
}

fn load(path: &Path) -> Result<String> {
    let size = fs::metadata(path)?.len();
    if size > LARGEST {
        bail!("it has {size} bytes; a script has at most {LARGEST}");
    }
    Ok(fs::read_to_string(path)?)
}

/// The scripts among these paths; folders are searched, in the order of their names.
pub fn scripts(paths: &[PathBuf]) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for path in paths {
        if !path.is_dir() {
            found.push(path.clone());
            continue;
        }
        for entry in ignore::WalkBuilder::new(path).sort_by_file_name(Ord::cmp).build() {
            let entry = entry.with_context(|| format!("{} cannot be searched", path.display()))?;
            if entry.path().extension().is_some_and(|ending| ending == "harn") && entry.path().is_file() {
                found.push(entry.into_path());
            }
        }
    }
    Ok(found)
}

/// Modules beside the file that imports them.
pub struct Beside;

impl Loader for Beside {
    fn load(&self, path: &str, from: &str) -> Result<Source, String> {
        let folder = Path::new(from).parent().unwrap_or_else(|| Path::new("."));
        let wanted = folder.join(path);
        let with_ending = wanted.with_extension("harn");
        let found = if wanted.is_file() || wanted.extension().is_some() { wanted } else { with_ending };
        // One name for one file, however it is reached.
        let found = found.canonicalize().unwrap_or(found);
        match load(&found) {
            Ok(text) => Ok(Source { name: found.display().to_string().into(), text: text.into() }),
            Err(error) => Err(format!("Import error: cannot read '{path}': {error}")),
        }
    }
}
