//! Commands that cannot be taken back, or that send work elsewhere.

use crate::command::Command;
use crate::lookalike::fold;
use crate::paths;
use crate::shell::RedirectKind;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Danger {
    /// Nobody wants an agent to do this, whoever asks.
    Ruin,
    /// Files of the workspace would be gone.
    Delete,
    /// Commits would leave this machine.
    Push,
    /// A package would be published.
    Publish,
}

pub fn of(command: &Command) -> Option<Danger> {
    if ruins(command) {
        return Some(Danger::Ruin);
    }
    let program = command.program.as_deref().map(fold)?;
    let identity = command.identity.as_deref().map(fold)?;
    if let Some(danger) = sends(&program, command) {
        return Some(danger);
    }
    match &*identity {
        "git clean" if command.has(&["-f", "--force"]) => return Some(Danger::Delete),
        "git reset" if command.has(&["--hard"]) => return Some(Danger::Delete),
        _ => {}
    }
    let deletes = match &*program {
        "rm" => is_recursive(command),
        "find" => command.has(&["-delete"]),
        "shred" => true,
        "rsync" => command.args().iter().any(|word| word.text.starts_with("--delete")),
        _ => false,
    };
    deletes.then_some(Danger::Delete)
}

/// Work that leaves this machine. The verb may stand behind options whose values nobody knows.
fn sends(program: &str, command: &Command) -> Option<Danger> {
    let has = |verbs: &[&str]| command.args().iter().any(|word| verbs.contains(&&*fold(&word.text)));
    let verb = command.subcommand.map(|at| fold(&command.words[at].text)).unwrap_or_default();
    let danger = match program {
        "git" => {
            // `git stash push` and a branch of that name stay here.
            let carries =
                matches!(&*verb, "subtree" | "lfs" | "submodule" | "annex" | "p4") || verb.is_empty();
            let sends = &*verb == "push" || &*verb == "send-email" || (carries && has(&["push"]));
            return sends.then_some(Danger::Push);
        }
        "npm" | "pnpm" | "yarn" | "bun" | "lerna" | "vsce" | "ovsx" => has(&["publish", "unpublish"]),
        "cargo" => has(&["publish", "yank"]),
        "uv" | "poetry" | "hatch" | "flit" | "pdm" => has(&["publish"]),
        "twine" => has(&["upload"]),
        "gem" => has(&["push"]),
        "mvn" | "gradle" | "gradlew" => has(&["deploy", "publish"]),
        "docker" | "podman" | "nerdctl" | "buildah" | "helm" => has(&["push", "--push"]),
        _ => false,
    };
    danger.then_some(Danger::Publish)
}

/// Settings of git that name programs, or where it looks for them, given for one call or for good.
pub fn steers_git(command: &Command) -> bool {
    if command.program.as_deref().map(fold).as_deref() != Some("git") {
        return false;
    }
    let verb = command.subcommand.map(|at| fold(&command.words[at].text)).unwrap_or_default();
    let before = command.subcommand.unwrap_or(command.words.len());
    let runs = |setting: &str| {
        let key = fold(setting.split('=').next().unwrap_or_default()).into_owned();
        let harmless = [
            "color.",
            "user.",
            "advice.",
            "log.",
            "core.quotepath",
            "core.autocrlf",
            "init.",
            "diff.algorithm",
        ];
        !harmless.iter().any(|known| key.starts_with(known))
    };
    let globals = command.words[..before].windows(2).any(|pair| match pair[0].text.as_str() {
        "-c" | "--config-env" => runs(&pair[1].text),
        _ => false,
    }) || command.words[..before].iter().any(|word| word.text.starts_with("--exec-path="));
    let asks = command.has(&[
        "--get",
        "--get-all",
        "--get-regexp",
        "--get-urlmatch",
        "-l",
        "--list",
        "--show-origin",
    ]);
    let rest: Vec<&str> = command.after_subcommand().iter().map(|word| word.text.as_str()).collect();
    let operands = rest.iter().filter(|word| !word.starts_with('-')).count();
    let reads = asks
        || matches!(rest.first(), Some(&"get" | &"list"))
        || (operands <= 1 && rest.iter().all(|word| !changes_config(word)));
    globals || (&*verb == "config" && !reads)
}

fn changes_config(word: &str) -> bool {
    ["-e", "--edit", "--unset", "--remove-section", "--rename-section", "--add", "--replace-all"]
        .iter()
        .any(|option| word.starts_with(option))
}

fn is_recursive(command: &Command) -> bool {
    // Long options may be shortened.
    let shortened = |text: &str| text.len() > 2 && "--recursive".starts_with(text);
    command.has(&["-r", "-R", "--recursive"]) || command.args().iter().any(|word| shortened(&word.text))
}

fn ruins(command: &Command) -> bool {
    let to_device = command
        .redirects
        .iter()
        .any(|redirect| redirect.kind == RedirectKind::Write && is_device(&redirect.target.text));
    if to_device {
        return true;
    }
    let Some(program) = command.program.as_deref().map(fold) else { return false };
    let mut operands = command.operands().map(|word| word.text.as_str());
    let words = command.args();
    match &*program {
        "rm" => {
            command.has(&["--no-preserve-root"])
                || (is_recursive(command) && operands.any(|path| precious(command, path)))
        }
        "find" => {
            let deletes = command.has(&["-delete"])
                || words.iter().any(|word| word.text == "rm" || word.text.ends_with("/rm"));
            let starts = words.iter().take_while(|word| !word.text.starts_with(['-', '(', '!']));
            deletes && starts.into_iter().any(|word| precious(command, &word.text))
        }
        "chmod" | "chown" | "chgrp" => is_recursive(command) && operands.any(|path| precious(command, path)),
        "mv" => operands.next().is_some_and(|path| precious(command, path)),
        "dd" => words.iter().any(|word| word.text.strip_prefix("of=").is_some_and(is_device)),
        "tee" | "cp" | "shred" | "truncate" => operands.any(is_device),
        "wipefs" | "fdisk" | "sfdisk" | "cfdisk" | "sgdisk" | "parted" | "mkswap" | "blkdiscard"
        | "shutdown" | "reboot" | "halt" | "poweroff" | "killall5" => !command.has(&["--help", "--version"]),
        "init" | "telinit" => operands.next().is_some_and(|level| matches!(level, "0" | "6")),
        "systemctl" => {
            words.iter().any(|word| matches!(word.text.as_str(), "poweroff" | "reboot" | "halt" | "kexec"))
        }
        "kill" => words.len() >= 2 && words.last().is_some_and(|word| word.text == "-1"),
        other => other == "mkfs" || other.starts_with("mkfs.") || other == "mke2fs" || other == "newfs",
    }
}

/// As it stands, or below where a `cd` has led.
fn precious(command: &Command, path: &str) -> bool {
    let moved = command.folder.as_ref().filter(|_| !path.starts_with(['/', '~', '$']));
    is_precious(path) || moved.is_some_and(|folder| is_precious(&format!("{folder}/{path}")))
}

/// Block devices, and memory.
fn is_device(path: &str) -> bool {
    const KINDS: &[&str] = &[
        "sd", "hd", "vd", "xvd", "nvme", "mmcblk", "disk", "rdisk", "mem", "kmem", "port", "loop", "dm-",
        "md", "mapper",
    ];
    let path = if path.starts_with('/') { format!("/{}", paths::clean(path).0) } else { path.to_owned() };
    fold(&path).strip_prefix("/dev/").is_some_and(|device| KINDS.iter().any(|kind| device.starts_with(kind)))
}

/// The root, somebody's home, the folder above, or a folder of the system; also all that is in one of them.
fn is_precious(path: &str) -> bool {
    const SYSTEM: &[&str] = &[
        "/bin",
        "/boot",
        "/dev",
        "/etc",
        "/home",
        "/lib",
        "/lib32",
        "/lib64",
        "/media",
        "/mnt",
        "/opt",
        "/proc",
        "/root",
        "/run",
        "/sbin",
        "/srv",
        "/sys",
        "/usr",
        "/usr/bin",
        "/usr/lib",
        "/usr/local",
        "/usr/sbin",
        "/usr/share",
        "/var",
        "/var/lib",
        "/var/log",
        "/users",
        "/system",
        "/library",
        "/applications",
        "/private",
        "/volumes",
        "/nix",
    ];
    let folded = fold(path);
    let mut parts: Vec<&str> = Vec::new();
    for part in folded.split('/') {
        match part {
            "" | "." | "*" | "**" | ".*" | "{*,.*}" => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    if folded.starts_with('/') {
        let whole = format!("/{}", parts.join("/"));
        let home = (whole.starts_with("/home/") || whole.starts_with("/users/")) && parts.len() == 2;
        return whole == "/"
            || home
            || SYSTEM.contains(&whole.as_str())
            || parts.iter().all(|part| *part == "..");
    }
    let above = !parts.is_empty() && parts.iter().all(|part| *part == "..");
    let home = parts.len() == 1 && (parts[0] == "$home" || parts[0].starts_with('~'));
    // A home and then up: `~/..`.
    let from_home = folded.starts_with('~') || folded.starts_with("$home");
    let up_from_home = from_home && parts.iter().all(|part| *part == "..");
    above || home || up_from_home
}
