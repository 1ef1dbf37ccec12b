//! Where a script works, and what it sees of its surroundings.

use std::path::{Path, PathBuf};

use harn_core::run::{RunRecord, Trust};

use crate::tools::launch::is_passed_on;

/// What a script reads when it reads standard input, and whether terminals are anything to it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Input {
    /// Nothing, and no terminals.
    #[default]
    Empty,
    /// Those of the process.
    Process,
}

/// The surroundings of one run.
#[derive(Clone, Debug, Default)]
pub struct Place {
    /// Where relative paths start.
    pub root: PathBuf,
    /// The folder of the script.
    pub source: PathBuf,
    /// Where the names of sources start.
    pub base: PathBuf,
    /// The nearest folder from the script's on upwards that has a `harn.toml`, else where it works.
    pub project: PathBuf,
    /// The name of the script's file, without its ending; empty for one without a file.
    pub script: String,
    pub input: Input,
    /// Environment variables that stand before those of the process.
    pub variables: Vec<(String, String)>,
    /// Folders with skills that the run was started with.
    pub skills: Vec<PathBuf>,
}

impl Place {
    /// A script of this file, or one without a file, in this folder.
    pub fn of(root: PathBuf, file: Option<&Path>) -> Self {
        let source = file.map_or_else(|| root.clone(), |file| folder_of(&root.join(file)));
        let project = project_of(&source).unwrap_or(&root).to_path_buf();
        let script = file.and_then(Path::file_stem).map(|stem| stem.to_string_lossy().into_owned());
        let script = script.unwrap_or_default();
        Self { base: root.clone(), root, source, project, script, ..Self::default() }
    }

    /// An environment variable of the run. An own script sees what any program of its owner sees; others see what
    /// commands see, which has no secrets. The harness itself asks as the owner.
    pub fn variable(&self, name: &str, trust: Trust) -> Option<String> {
        let own = self.variables.iter().rev().find(|(known, _)| known == name);
        let of_process = || std::env::var(name).ok().filter(|_| trust == Trust::Own || is_passed_on(name));
        own.map(|(_, value)| value.clone()).or_else(of_process)
    }

    /// Where the project keeps what belongs to Harn: beside the script where there is no project, and never where
    /// somebody happened to start it.
    pub fn state(&self) -> PathBuf {
        project_of(&self.source).unwrap_or(&self.source).join(".harn")
    }

    pub fn of_record(record: &RunRecord) -> Self {
        Self::of(record.manifest.root.as_ref().map(PathBuf::from).unwrap_or_default(), None)
    }
}

/// The folder that a file is in, without `.` and `..` where the system can tell.
fn folder_of(file: &Path) -> PathBuf {
    let folder = file.parent().unwrap_or(Path::new("."));
    folder.canonicalize().unwrap_or_else(|_| folder.to_path_buf())
}

/// The nearest folder on the way up that has a `harn.toml`.
fn project_of(folder: &Path) -> Option<&Path> {
    folder.ancestors().find(|folder| folder.join("harn.toml").is_file())
}
