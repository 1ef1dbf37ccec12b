//! The guardian's command line: what was asked of the sandbox and of the limits.
//!
//! The last argument is always the command; every argument before it is an option of the form `--name=value`.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::caps::Caps;

/// Whether layers may be missing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Mode {
    /// Each layer that the kernel has.
    #[default]
    Auto,
    /// No command without all of them.
    Required,
    Off,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Layer {
    Landlock,
    Seccomp,
    Namespaces,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Network {
    #[default]
    Closed,
    Open,
}

/// What was asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Options {
    pub(crate) mode: Mode,
    pub(crate) network: Network,
    /// Layers to do without, as on a kernel that lacks them.
    pub(crate) without: Vec<Layer>,
    /// More that may be read, and more that may be written.
    pub(crate) read: Vec<PathBuf>,
    pub(crate) write: Vec<PathBuf>,
    /// Folders that commands must not see, besides `.harn` in the workspace.
    pub(crate) hide: Vec<PathBuf>,
    /// Like any program of the user: without layers, limits and a private folder for temporary files.
    pub(crate) bare: bool,
    pub(crate) caps: Caps,
}

impl Options {
    pub(crate) fn parse(args: &[OsString]) -> Result<Self, String> {
        let mut options = Self::default();
        for arg in args {
            options.take(arg)?;
        }
        Ok(options)
    }

    pub(crate) fn uses(&self, layer: Layer) -> bool {
        self.mode != Mode::Off && !self.without.contains(&layer)
    }

    fn take(&mut self, arg: &OsStr) -> Result<(), String> {
        let bytes = arg.as_bytes();
        let equals = bytes.iter().position(|byte| *byte == b'=').unwrap_or(bytes.len());
        let (name, value) = bytes.split_at(equals);
        let value = OsStr::from_bytes(value.strip_prefix(b"=").unwrap_or_default());
        match name {
            b"--sandbox" => self.mode = mode(value)?,
            b"--bare" => {
                self.bare = true;
                self.mode = Mode::Off;
                self.network = Network::Open;
                self.caps = Caps::unlimited();
            }
            b"--network" => self.network = Network::Open,
            b"--without" => self.without.push(layer(value)?),
            b"--read" => self.read.extend(folders(value)),
            b"--write" => self.write.extend(folders(value)),
            b"--hide" => self.hide.extend(folders(value)),
            b"--max-processes" => self.caps.processes = number(arg, value)?,
            b"--max-memory" => self.caps.memory = number(arg, value)?,
            b"--max-file-size" => self.caps.file_size = number(arg, value)?,
            b"--max-open-files" => self.caps.open_files = number(arg, value)?,
            b"--min-free" => self.caps.min_free = Some(number(arg, value)?),
            _ => return Err(format!("the guardian has no option `{}`", arg.display())),
        }
        Ok(())
    }
}

fn mode(value: &OsStr) -> Result<Mode, String> {
    match value.as_bytes() {
        b"" | b"auto" => Ok(Mode::Auto),
        b"required" => Ok(Mode::Required),
        b"off" => Ok(Mode::Off),
        _ => Err(format!("HARN_SANDBOX must be `auto`, `required` or `off`, not `{}`", value.display())),
    }
}

fn layer(value: &OsStr) -> Result<Layer, String> {
    match value.as_bytes() {
        b"landlock" => Ok(Layer::Landlock),
        b"seccomp" => Ok(Layer::Seccomp),
        b"namespaces" => Ok(Layer::Namespaces),
        _ => Err(format!("the sandbox has no layer `{}`", value.display())),
    }
}

fn number(arg: &OsStr, value: &OsStr) -> Result<u64, String> {
    let number = value.to_str().and_then(|text| text.parse().ok());
    number.ok_or_else(|| format!("`{}` is not a number", arg.display()))
}

/// Relative paths would mean something else in each workspace, so they are passed over.
fn folders(value: &OsStr) -> impl Iterator<Item = PathBuf> {
    std::env::split_paths(value).filter(|path| path.is_absolute())
}
