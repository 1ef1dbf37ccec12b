//! Where a path of a script leads, and what may be done there: own scripts go anywhere, others stay in the workspace
//! unless policy let them out.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};

use cap_std::ambient_authority;
use cap_std::fs::Dir;
use harn_core::run::Trust;

use crate::tools::ToolContext;
use crate::tools::confined::{Confined, LastLink, Refusal, Spot, is_closed};
use crate::tools::locate::locate;

/// As much as a script may have in memory.
pub const LARGEST: u64 = 1 << 30;

/// A path of a script, as far as it is safe to use.
pub enum Target {
    /// Below the root, where nothing leads out.
    Inside {
        workspace: Confined,
        path: String,
    },
    Anywhere(PathBuf),
}

impl Target {
    pub fn of(ctx: &ToolContext, asked: &str) -> io::Result<Self> {
        if asked.is_empty() {
            return Err(io::Error::new(io::ErrorKind::NotFound, "the path is empty"));
        }
        if ctx.trust == Trust::Own {
            return Ok(Self::Anywhere(ctx.place.root.join(asked)));
        }
        Self::judged(root_of(ctx)?, asked)
    }

    /// The path as policy has judged it.
    fn judged(root: &Path, asked: &str) -> io::Result<Self> {
        let found = locate(root, asked);
        match (found.workspace_path, found.host_path) {
            (Some(path), _) => Ok(Self::Inside { workspace: Confined::open(root).map_err(io_error)?, path }),
            (None, Some(path)) if may_leave(root, asked) => Ok(Self::Anywhere(path.into())),
            (None, Some(_)) => Err(io_error(Refusal::Escapes { path: asked.to_owned() })),
            (None, None) => Err(io::Error::other("the path leads nowhere")),
        }
    }

    /// The path below the root, where a write can be planned.
    pub fn planned(ctx: &ToolContext, asked: &str) -> io::Result<Option<(Confined, String)>> {
        if ctx.trust == Trust::Own && !ctx.is_kept {
            return Ok(None);
        }
        match Self::judged(root_of(ctx)?, asked)? {
            Self::Inside { workspace, path } => Ok(Some((workspace, path))),
            Self::Anywhere(_) => Ok(None),
        }
    }

    pub fn open(&self) -> io::Result<File> {
        match self {
            Self::Inside { workspace, path } => {
                let (_, file) = workspace.open_file(path).map_err(io_error)?;
                Ok(file.into_std())
            }
            Self::Anywhere(path) => File::open(path),
        }
    }

    pub fn folder(&self) -> io::Result<Dir> {
        match self {
            Self::Inside { workspace, path } => {
                match workspace.resolve(path, LastLink::Follow).map_err(io_error)?.spot {
                    Spot::Directory(dir) => Ok(dir),
                    Spot::Entry { .. } => Err(io::Error::from_raw_os_error(nix::libc::ENOTDIR)),
                    Spot::Missing { .. } => Err(missing()),
                }
            }
            Self::Anywhere(path) => Dir::open_ambient_dir(path, ambient_authority()),
        }
    }

    pub fn facts(&self) -> io::Result<fs::Metadata> {
        let (workspace, path) = match self {
            Self::Anywhere(path) => return fs::metadata(path),
            Self::Inside { workspace, path } => (workspace, path),
        };
        match workspace.resolve(path, LastLink::Follow).map_err(io_error)?.spot {
            Spot::Directory(dir) => dir.into_std_file().metadata(),
            Spot::Entry { .. } => self.open()?.metadata(),
            Spot::Missing { .. } => Err(missing()),
        }
    }

    pub fn read(&self) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.open()?.take(LARGEST + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > LARGEST {
            return Err(io::Error::other(format!("it has more than {LARGEST} bytes")));
        }
        Ok(bytes)
    }

    pub fn read_text(&self) -> io::Result<String> {
        String::from_utf8(self.read()?).map_err(|_| io::Error::other("stream did not contain valid UTF-8"))
    }
}

/// A name in a folder that is open: what is removed or moved is this, and not what a link leads to.
pub struct Entry {
    pub folder: Dir,
    pub name: OsString,
}

impl Entry {
    pub fn of(ctx: &ToolContext, asked: &str) -> io::Result<Self> {
        let path = Path::new(asked);
        let unusable = || io::Error::new(io::ErrorKind::InvalidInput, "it is no name in a folder");
        let name = path.file_name().ok_or_else(unusable)?.to_owned();
        let confined = ctx.trust != Trust::Own;
        if confined && name.to_str().is_some_and(is_closed) {
            return Err(io_error(Refusal::Closed { path: asked.to_owned() }));
        }
        let parent = path.parent().and_then(Path::to_str).filter(|parent| !parent.is_empty());
        Ok(Self { folder: Target::of(ctx, parent.unwrap_or("."))?.folder()?, name })
    }
}

/// Whether a path is spelled as one that leads out: then policy has let it. One that is spelled as leading into the
/// workspace was judged so, and may have been made to lead elsewhere since.
fn may_leave(root: &Path, asked: &str) -> bool {
    let path = Path::new(asked);
    let is_up = |part: &Component<'_>| *part == Component::ParentDir;
    let below: Vec<_> =
        path.components().skip_while(|part| is_up(part) || *part == Component::RootDir).collect();
    let ups = path.components().take_while(is_up).count();
    if below.iter().any(is_up) || !(path.is_absolute() || ups > 0) {
        return false;
    }
    // Above the top there is only the top.
    let above = root.ancestors().nth(ups).filter(|_| !path.is_absolute()).unwrap_or(Path::new("/"));
    let mut spelled = above.to_owned();
    spelled.extend(&below);
    !spelled.starts_with(root)
}

fn root_of(ctx: &ToolContext) -> io::Result<&Path> {
    ctx.root.as_deref().ok_or_else(|| io::Error::other("this workspace has no files"))
}

fn missing() -> io::Error {
    io::Error::from_raw_os_error(nix::libc::ENOENT)
}

/// In the words of the system where it has some, so that a script sees the same in every run.
pub fn io_error(refusal: Refusal) -> io::Error {
    match refusal {
        Refusal::NotFound { .. } => missing(),
        Refusal::Io { source, .. } => source,
        other => io::Error::other(other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_path_that_is_spelled_as_leading_out_may_do_so() {
        let root = Path::new("/home/me/project");
        let cases = [
            ("/etc/hosts", true),
            ("../other/x", true),
            ("../../x", true),
            ("/home/me", true),
            ("../../../../../x", true),
            ("d/x", false),
            ("d/../../x", false),
            ("/home/me/project/d", false),
            ("/home/me/project/../x", false),
            ("../project/d", false),
            ("../other/../x", false),
            ("/etc/../home/x", false),
            ("~/x", false),
        ];
        for (asked, expected) in cases {
            assert_eq!(may_leave(root, asked), expected, "{asked}");
        }
    }
}
