//! What the name of a path says about it: where it leads without looking at the disk, and what usually lives there.

use harn_core::decision::{Access, PathFact};

use crate::overlap::overlap;
use crate::shell::UNKNOWN;

/// Where a path leads by its text alone, for when nobody has looked at the disk.
pub fn locate(asked: &str, access: Access) -> PathFact {
    let outside = |host: Option<String>| PathFact {
        asked: asked.to_owned(),
        access,
        workspace_path: None,
        host_path: host,
        through_link: false,
    };
    if leads_anywhere(asked) {
        return outside(None);
    }
    if asked.starts_with('/') {
        return outside(Some(format!("/{}", clean(asked).0)));
    }
    match clean(asked) {
        (_, climbs) if climbs > 0 => outside(None),
        (path, _) => {
            let path = if path.is_empty() { ".".to_owned() } else { path };
            PathFact { workspace_path: Some(path), ..outside(None) }
        }
    }
}

/// The path without `.` and `..`, and how far it climbs above where it begins.
pub fn clean(path: &str) -> (String, usize) {
    let mut kept: Vec<&str> = Vec::new();
    let mut climbs = 0;
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." if kept.pop().is_none() => climbs += 1,
            ".." => {}
            _ => kept.push(part),
        }
    }
    (kept.join("/"), climbs)
}

/// A shell makes another path of it: a home, or what is above a folder that nobody knows.
pub fn leads_anywhere(asked: &str) -> bool {
    let mut unknown = false;
    from_home(asked)
        || (asked.contains(UNKNOWN)
            && asked.split('/').any(|part| {
                unknown |= part.contains(UNKNOWN);
                unknown && part == ".."
            }))
}

pub fn from_home(asked: &str) -> bool {
    asked.starts_with('~') || asked.starts_with("$HOME")
}

/// The texts under which a path is known: where it leads, and how it was asked for.
pub fn names(fact: &PathFact) -> impl Iterator<Item = String> + '_ {
    let asked = if from_home(&fact.asked) {
        Some(fact.asked.clone())
    } else {
        let (path, climbs) = clean(&fact.asked);
        let lead = if fact.asked.starts_with('/') { "/".to_owned() } else { "../".repeat(climbs.min(64)) };
        Some(format!("{lead}{path}"))
    };
    let leads = fact.workspace_path.clone().or_else(|| fact.host_path.clone());
    let other = asked.filter(|asked| leads.as_ref() != Some(asked));
    leads.into_iter().chain(other)
}

/// Nobody is hurt when a command names these, although they are outside of the workspace.
pub fn harmless_outside(path: &str) -> bool {
    const BELOW: &[&str] = &["/tmp/", "/usr/", "/bin/", "/sbin/", "/lib/", "/lib64/", "/dev/fd/", "/nix/"];
    const EXACT: &[&str] = &[
        "/dev/null",
        "/dev/stdin",
        "/dev/stdout",
        "/dev/stderr",
        "/dev/zero",
        "/dev/random",
        "/dev/urandom",
        "/dev/tty",
        "/etc/hosts",
        "/etc/os-release",
        "/etc/resolv.conf",
        "/etc/hostname",
        "/etc/timezone",
        "/etc/localtime",
        "/proc/cpuinfo",
        "/proc/meminfo",
        "/proc/version",
        "/proc/loadavg",
        "/tmp",
        "/usr",
        "/bin",
    ];
    EXACT.contains(&path) || (BELOW.iter().any(|folder| path.starts_with(folder)) && !path.contains("/../"))
}

/// Files that only swallow or repeat: writing there changes nothing.
pub fn swallows(path: &str) -> bool {
    matches!(path, "/dev/null" | "/dev/stdout" | "/dev/stderr" | "/dev/tty") || path.starts_with("/dev/fd/")
}

fn parts(path: &str) -> impl DoubleEndedIterator<Item = &str> {
    path.split('/').filter(|part| !part.is_empty())
}

fn file_name(path: &str) -> &str {
    parts(path).next_back().unwrap_or_default()
}

/// The folder of the harness itself.
pub fn in_harn_folder(path: &str) -> bool {
    parts(path).any(|part| part == ".harn" || (is_pattern(part) && glob_part(part, ".harn")))
}

pub fn is_policy_file(path: &str) -> bool {
    let name = file_name(path);
    name == "harn.toml" || (is_pattern(name) && glob_part(name, "harn.toml"))
}

/// What git runs or obeys: hooks, its configuration.
pub fn steers_git(path: &str) -> bool {
    let path = format!("/{path}");
    path.contains("/.git/hooks")
        || path.contains("/.git/config")
        || path.contains("/.husky/")
        || path.ends_with("/.gitconfig")
        || path.contains("/.git/info/attributes")
}

/// What a build service runs.
pub fn is_ci_file(path: &str) -> bool {
    let path = format!("/{path}");
    ["/.github/workflows", "/.github/actions", "/.circleci/", "/.buildkite/"]
        .iter()
        .any(|part| path.contains(part))
        || matches!(
            file_name(&path),
            ".gitlab-ci.yml" | ".travis.yml" | "jenkinsfile" | "azure-pipelines.yml"
        )
}

/// What a shell runs when it starts.
pub fn is_shell_startup(path: &str) -> bool {
    const NAMES: &[&str] = &[
        ".bashrc",
        ".bash_profile",
        ".bash_login",
        ".bash_aliases",
        ".bash_logout",
        ".profile",
        ".zshrc",
        ".zshenv",
        ".zprofile",
        ".zlogin",
        ".kshrc",
        ".cshrc",
        ".tcshrc",
        ".inputrc",
        ".envrc",
        "config.fish",
    ];
    NAMES.contains(&file_name(path)) || path.starts_with("/etc/profile") || path.starts_with("/etc/cron")
}

/// Whether secrets usually live there. The path is in lower case.
pub fn is_sensitive(path: &str) -> bool {
    const FOLDERS: &[&str] = &[".ssh", ".aws", ".gnupg", ".azure", ".password-store"];
    const NAMES: &[&str] = &[
        ".netrc",
        "_netrc",
        ".npmrc",
        ".pypirc",
        ".pgpass",
        ".git-credentials",
        "credentials.json",
        ".htpasswd",
        ".bash_history",
        ".zsh_history",
        ".sh_history",
        ".python_history",
        ".psql_history",
        ".mysql_history",
        ".node_repl_history",
        ".history",
        ".vault-token",
        ".my.cnf",
        ".boto",
        ".s3cfg",
        ".env",
        "id_rsa",
        "id_ed25519",
        "id_ecdsa",
        "id_dsa",
        "secrets.json",
        "secrets.yaml",
    ];
    const TAILS: &[&str] = &[
        ".docker/config.json",
        ".kube/config",
        ".cargo/credentials.toml",
        ".cargo/credentials",
        ".config/gh/hosts.yml",
        ".config/gcloud/credentials.db",
        ".config/gcloud/application_default_credentials.json",
        ".local/share/keyrings",
    ];
    let name = file_name(path);
    let means = |part: &str, list: &[&str]| match is_pattern(part) {
        true => list.iter().any(|known| glob_part(part, known)),
        false => list.contains(&part),
    };
    parts(path).any(|part| means(part, FOLDERS))
        || means(name, NAMES)
        || TAILS.iter().any(|tail| {
            path == *tail || (path.ends_with(tail) && path[..path.len() - tail.len()].ends_with('/'))
        })
        || sensitive_form(name)
        || sensitive_system(path)
}

fn sensitive_form(name: &str) -> bool {
    const KEYS: &[&str] = &[".pem", ".key", ".p12", ".pfx", ".keystore", ".jks", ".ppk", ".kdbx"];
    let dotenv = name
        .strip_prefix(".env.")
        .is_some_and(|kind| !matches!(kind, "example" | "sample" | "template" | "dist" | "example.local"));
    let key_pair = ["id_rsa", "id_ed25519", "id_ecdsa", "id_dsa"].iter().any(|key| name.starts_with(key))
        && !name.ends_with(".md");
    let secrets = name.strip_prefix("secrets.").is_some_and(|kind| {
        // `secrets.rs` is a program about secrets, not a file of them.
        !matches!(kind, "rs" | "py" | "go" | "ts" | "js" | "c" | "h" | "cpp" | "java" | "md" | "rb" | "html")
    });
    dotenv || key_pair || secrets || KEYS.iter().any(|end| name.ends_with(end) && name.len() > end.len())
}

fn sensitive_system(path: &str) -> bool {
    let process = path.strip_prefix("/proc/").and_then(|rest| rest.split_once('/'));
    matches!(path, "/etc/shadow" | "/etc/gshadow" | "/etc/sudoers" | "/etc/shadow-" | "/etc/master.passwd")
        || path.starts_with("/etc/sudoers.d")
        || path.starts_with("/etc/ssl/private")
        || path.starts_with("/run/secrets")
        || path.starts_with("/var/run/secrets")
        || process.is_some_and(|(_, file)| matches!(file, "environ" | "mem" | "maps"))
}

/// Whether a pattern over file names, or a name of which a part is unknown, may also mean a secret: `.*`, `*.k?y`.
pub fn may_hold_secret(path: &str) -> bool {
    const KNOWN: &[&str] = &[
        ".env",
        ".env.local",
        ".env.production",
        ".netrc",
        ".npmrc",
        ".ssh",
        ".aws",
        ".gnupg",
        ".harn",
        "id_rsa",
        "id_ed25519",
        "a.pem",
        "a.key",
        "a.p12",
        "a.pfx",
        "credentials.json",
        "secrets.json",
        "secrets.yaml",
    ];
    let open = |c: char| "*?[".contains(c) || c == UNKNOWN;
    if !path.contains(open) {
        return false;
    }
    parts(path).filter(|part| part.contains(open) && part.len() <= 256).any(|part| {
        let pattern = part.replace(UNKNOWN, "*");
        let some = pattern.chars().any(|c| !"*?[]!".contains(c));
        let dotted = pattern.starts_with('.') || part.starts_with(UNKNOWN);
        some && KNOWN.iter().any(|known| {
            (dotted || !known.starts_with('.')) && names_stem(&pattern, known, 1) && overlap(&pattern, known)
        })
    })
}

/// A pattern that has nothing but the ending in common with a usual name, as `*.json`, does not mean it.
fn names_stem(pattern: &str, name: &str, letters: usize) -> bool {
    let usual = [".json", ".yaml", ".toml"].iter().any(|ending| name.ends_with(ending));
    let stem = pattern.rsplit_once('.').map_or(pattern, |(stem, _)| stem);
    !usual || stem.chars().filter(|c| c.is_alphanumeric()).count() >= letters
}

fn is_pattern(part: &str) -> bool {
    part.bytes().any(|byte| matches!(byte, b'*' | b'?' | b'['))
}

/// Whether a pattern over file names that has some letters of its own could mean this name.
fn glob_part(pattern: &str, name: &str) -> bool {
    if pattern.len() > 256 {
        return false;
    }
    let letters = pattern.chars().filter(|c| c.is_alphanumeric()).count();
    if letters < 2 && !(letters == 1 && pattern.starts_with('.')) || !names_stem(pattern, name, 2) {
        return false;
    }
    if name.starts_with('.') && !pattern.starts_with('.') {
        return false;
    }
    globset::GlobBuilder::new(pattern).build().is_ok_and(|glob| glob.compile_matcher().is_match(name))
}
