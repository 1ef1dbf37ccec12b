//! Where scripts are: the files that a command names, and the modules that a script imports.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail};
use harn_engine::script::packages;
use harn_lang::bytecode::Source;
use harn_lang::compile::Loader;

/// A script larger than this is a mistake.
const LARGEST: u64 = 64 << 20;

pub fn read(path: &Path) -> Result<Source> {
    let text = read_text(path).with_context(|| format!("{} cannot be read", path.display()))?;
    Ok(Source { name: name_of(path).into(), text: text.into() })
}

pub fn read_text(path: &Path) -> Result<String> {
    text_of(File::open(path)?)
}

/// The text of a script from anywhere, also from a device that never ends.
pub fn text_of(source: impl Read) -> Result<String> {
    let mut bytes = Vec::new();
    source.take(LARGEST + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > LARGEST {
        bail!("a script has at most {LARGEST} bytes, and this is longer");
    }
    let text = String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        anyhow!("it is not text in UTF-8: byte {} belongs to no character", at + 1)
    })?;
    Ok(text)
}

/// Replaces a script as a whole or not at all. A link stays a link, and the file keeps its permissions.
pub fn replace(path: &Path, text: &str) -> io::Result<()> {
    let file = path.canonicalize()?;
    let mut beside = file.clone().into_os_string();
    beside.push(format!(".{}.new", std::process::id()));
    let written = File::create_new(&beside).and_then(|mut new| {
        new.set_permissions(fs::metadata(&file)?.permissions())?;
        new.write_all(text.as_bytes())?;
        new.sync_all()?;
        fs::rename(&beside, &file)
    });
    if written.as_ref().is_err_and(|error| error.kind() != io::ErrorKind::AlreadyExists) {
        // The first error says more than one of tidying up.
        let _ = fs::remove_file(&beside);
    }
    written
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

/// Modules beside the file that imports them, or in a package.
pub struct Beside;

impl Loader for Beside {
    fn load(&self, path: &str, from: &str) -> Result<Source, String> {
        let found = find(path, folder_of(from)).and_then(|found| {
            let text = read_text(&found)?;
            Ok(Source { name: name_of(&found).into(), text: text.into() })
        });
        found.map_err(|error| format!("Import error: cannot read '{path}': {error}"))
    }
}

/// The file of a module. If there is none, the one that was looked for first.
fn find(path: &str, folder: &Path) -> Result<PathBuf> {
    let wanted = folder.join(path);
    if let Some(found) = packages::module(&wanted) {
        return Ok(found);
    }
    let in_package = packages::find(path, folder).map_err(anyhow::Error::msg)?;
    Ok(in_package.unwrap_or_else(|| packages::with_ending(wanted)))
}

/// The folder of a source; code that is in no file is in the current one.
pub fn folder_of(source: &str) -> &Path {
    Path::new(source).parent().unwrap_or_else(|| Path::new(""))
}

/// One name for one file, however it is reached: as seen from the current folder if it is in there.
fn name_of(path: &Path) -> String {
    let Ok(full) = path.canonicalize() else { return path.display().to_string() };
    let here = std::env::current_dir().and_then(|here| here.canonicalize());
    let short = here.ok().and_then(|here| full.strip_prefix(here).ok().map(Path::to_owned));
    // A file in a folder `std` must not pass for a standard module.
    let short = short.filter(|short| !short.starts_with("std"));
    short.unwrap_or(full).display().to_string()
}
