//! Where the sources of a script are: beside the file that imports them, or in a package.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use harn_core::ports::Reach;
use harn_lang::bytecode::Source;
use harn_lang::compile::Loader;

use super::packages;

/// A source larger than this is a mistake.
const LARGEST: u64 = 4 << 20;

/// The sources of a workspace, named as they are seen from its root.
pub struct Files {
    root: PathBuf,
    reach: Reach,
}

impl Files {
    pub fn new(root: &Path, reach: Reach) -> Result<Self, String> {
        let root =
            root.canonicalize().map_err(|error| format!("{} cannot be used: {error}", root.display()))?;
        Ok(Self { root, reach })
    }

    /// A script and the folder that it is in.
    pub fn entry(&self, path: &str) -> Result<(Source, PathBuf), String> {
        let file = self.root.join(path);
        let source = self.read(&file).map_err(|why| format!("The script `{path}` cannot be read: {why}"))?;
        let file = file.canonicalize().unwrap_or(file);
        let folder = file.parent().map(Path::to_path_buf).unwrap_or_default();
        Ok((source, folder))
    }

    fn read(&self, path: &Path) -> Result<Source, String> {
        let file = path.canonicalize().map_err(|error| error.to_string())?;
        let short = file.strip_prefix(&self.root).ok();
        if short.is_none() && self.reach == Reach::Workspace {
            return Err("it is outside of the workspace".into());
        }
        // A file in a folder `std` must not pass for a standard module.
        let short = short.filter(|short| !short.starts_with("std")).unwrap_or(&file);
        let name = short.display().to_string();
        Ok(Source { name: name.into(), text: text_of(&file)?.into() })
    }

    fn find(&self, path: &str, folder: &Path) -> Result<PathBuf, String> {
        let wanted = folder.join(path);
        if let Some(found) = packages::module(&wanted) {
            return Ok(found);
        }
        Ok(packages::find(path, folder)?.unwrap_or_else(|| packages::with_ending(wanted)))
    }
}

impl Loader for Files {
    fn load(&self, path: &str, from: &str) -> Result<Source, String> {
        let importer = self.root.join(from);
        let folder = importer.parent().unwrap_or(&self.root);
        let found = self.find(path, folder).and_then(|found| self.read(&found));
        found.map_err(|error| format!("Import error: cannot read '{path}': {error}"))
    }
}

fn text_of(file: &Path) -> Result<String, String> {
    if !file.is_file() {
        return Err("it is not a file".into());
    }
    let mut bytes = Vec::new();
    let file = File::open(file).map_err(|error| error.to_string())?;
    file.take(LARGEST + 1).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    if bytes.len() as u64 > LARGEST {
        return Err(format!("it has more than {LARGEST} bytes"));
    }
    String::from_utf8(bytes).map_err(|error| {
        format!(
            "it is not text in UTF-8: byte {} belongs to no character",
            error.utf8_error().valid_up_to() + 1
        )
    })
}
