//! Where a script works, and what it sees of its surroundings.

use std::path::{Path, PathBuf};

use harn_core::run::RunRecord;

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
}

impl Place {
    /// A script of this file, or one without a file, in this folder.
    pub fn of(root: PathBuf, file: Option<&Path>) -> Self {
        let source = file.map_or_else(|| root.clone(), |file| folder_of(&root.join(file)));
        let project = source.ancestors().find(|folder| folder.join("harn.toml").is_file());
        let project = project.map_or_else(|| root.clone(), Path::to_path_buf);
        let script = file.and_then(Path::file_stem).map(|stem| stem.to_string_lossy().into_owned());
        let script = script.unwrap_or_default();
        let base = root.clone();
        Self { root, source, base, project, script, input: Input::default(), variables: Vec::new() }
    }

    /// An environment variable, as scripts see it.
    pub fn variable(&self, name: &str) -> Option<String> {
        let own = self.variables.iter().find(|(known, _)| known == name);
        own.map(|(_, value)| value.clone()).or_else(|| std::env::var(name).ok())
    }

    /// Where the project keeps what belongs to Harn.
    pub fn state(&self) -> PathBuf {
        self.project.join(".harn")
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
