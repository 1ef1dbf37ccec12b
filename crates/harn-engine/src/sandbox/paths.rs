//! Which files a command may read and write, besides its workspace.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

/// The system: programs, libraries, their settings and what the kernel tells.
const SYSTEM: [&str; 20] = [
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/opt",
    "/nix",
    "/gnu",
    "/snap",
    "/home/linuxbrew/.linuxbrew",
    "/proc",
    "/sys",
    "/var/lib/dpkg",
    "/var/cache/fontconfig",
    "/run/current-system",
    "/run/opengl-driver",
    "/run/systemd/resolve",
    "/run/resolvconf",
];

/// What in `/etc` holds secrets that only root may read. A harness of root would hand them on.
const SECRETS_IN_ETC: [&str; 14] = [
    "NetworkManager",
    "docker",
    "gshadow",
    "gshadow-",
    "krb5.keytab",
    "kubernetes",
    "letsencrypt",
    "opasswd",
    "shadow",
    "shadow-",
    "ssh",
    "sudoers",
    "sudoers.d",
    "wireguard",
];

/// Tools and their caches in the home folder, without those of their files that hold credentials.
const IN_HOME: [&str; 62] = [
    ".asdf",
    ".bun",
    ".cabal/bin",
    ".cabal/packages",
    ".cabal/store",
    ".cache/bazel",
    ".cache/bazelisk",
    ".cache/ccache",
    ".cache/deno",
    ".cache/fontconfig",
    ".cache/go-build",
    ".cache/huggingface/hub",
    ".cache/ms-playwright",
    ".cache/node",
    ".cache/pip",
    ".cache/pnpm",
    ".cache/pre-commit",
    ".cache/puppeteer",
    ".cache/pypoetry",
    ".cache/sccache",
    ".cache/uv",
    ".cache/yarn",
    ".cache/zig",
    ".cargo/bin",
    ".cargo/config",
    ".cargo/config.toml",
    ".cargo/env",
    ".cargo/git",
    ".cargo/registry",
    ".config/git/attributes",
    ".config/git/config",
    ".config/git/ignore",
    ".deno",
    ".dotnet",
    ".fnm",
    ".gem/ruby",
    ".ghcup",
    ".gitconfig",
    ".gitignore",
    ".gradle/caches",
    ".gradle/jdks",
    ".gradle/wrapper",
    ".julia",
    ".local/bin",
    ".local/lib",
    ".local/share/fnm",
    ".local/share/mise",
    ".local/share/pipx",
    ".local/share/pnpm",
    ".local/share/uv",
    ".local/share/virtualenvs",
    ".m2/repository",
    ".nix-profile",
    ".npm",
    ".nuget/packages",
    ".nvm",
    ".pyenv",
    ".rbenv",
    ".rustup",
    ".sdkman",
    ".volta",
    "go",
];

/// Devices that every program may use. Others, such as disks, stay closed.
const DEVICES: [&str; 9] = [
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/tty",
    "/dev/random",
    "/dev/urandom",
    "/dev/ptmx",
    "/dev/pts",
    "/dev/shm",
];

/// Variables that name the folders of tools which are not where they usually are.
pub(crate) const TOOL_FOLDERS: [&str; 12] = [
    "CARGO_HOME",
    "CONDA_PREFIX",
    "GOMODCACHE",
    "GOPATH",
    "GOROOT",
    "JAVA_HOME",
    "NVM_DIR",
    "PYENV_ROOT",
    "RBENV_ROOT",
    "RUSTUP_HOME",
    "VIRTUAL_ENV",
    "VOLTA_HOME",
];

/// The credentials of cargo are a file in its home, wherever that is.
const IN_CARGO_HOME: [&str; 5] = ["bin", "config.toml", "env", "git", "registry"];

/// What a command may do where. What is not there is passed over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Lists {
    /// Read and execute.
    pub(crate) read: Vec<PathBuf>,
    /// Look through, but not read files.
    pub(crate) list: Vec<PathBuf>,
    pub(crate) devices: Vec<PathBuf>,
    /// Everything but devices.
    pub(crate) write: Vec<PathBuf>,
}

impl Lists {
    /// `write` is the workspace, the private folder, and what was allowed besides; so is `read`.
    pub(crate) fn new(read: &[PathBuf], write: &[PathBuf]) -> Self {
        let home = env::var_os("HOME").map(PathBuf::from).filter(|home| home.is_absolute());
        let mut lists = Self {
            read: SYSTEM.iter().map(PathBuf::from).chain(etc()).chain(read.iter().cloned()).collect(),
            list: ["/dev", "/etc"].map(PathBuf::from).to_vec(),
            devices: DEVICES.map(PathBuf::from).to_vec(),
            write: write.to_vec(),
        };
        if let Some(home) = &home {
            lists.read.extend(IN_HOME.iter().map(|name| home.join(name)));
        }
        let found = programs().chain(tool_folders());
        lists.read.extend(found.filter(|folder| !holds_home(folder, home.as_deref())));
        lists
    }
}

fn etc() -> impl Iterator<Item = PathBuf> {
    let entries = fs::read_dir("/etc").into_iter().flatten().flatten();
    let secret = |name: &str| SECRETS_IN_ETC.contains(&name);
    entries.filter(move |entry| !entry.file_name().to_str().is_some_and(secret)).map(|entry| entry.path())
}

/// Where programs are found. A folder of them may well be in the home folder.
fn programs() -> impl Iterator<Item = PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path).filter(|folder| folder.is_absolute()).collect::<Vec<_>>().into_iter()
}

fn tool_folders() -> impl Iterator<Item = PathBuf> {
    let named = TOOL_FOLDERS.iter().filter_map(|name| Some((*name, PathBuf::from(env::var_os(name)?))));
    named.filter(|(_, folder)| folder.is_absolute()).flat_map(|(name, folder)| match name {
        "CARGO_HOME" => IN_CARGO_HOME.iter().map(|part| folder.join(part)).collect(),
        _ => vec![folder],
    })
}

/// A variable must not open the whole home folder, nor all there is.
fn holds_home(folder: &Path, home: Option<&Path>) -> bool {
    home.map_or(folder == Path::new("/"), |home| home.starts_with(folder))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_folder_that_holds_the_home_is_opened_by_a_variable() {
        let home = Some(Path::new("/home/ann"));
        let cases = [
            ("/home/ann/bin", home, false),
            ("/home/ann", home, true),
            ("/home", home, true),
            ("/", home, true),
            ("/", None, true),
            ("/usr/bin", None, false),
        ];
        for (folder, home, holds) in cases {
            assert_eq!(holds_home(Path::new(folder), home), holds, "{folder}");
        }
    }
}
