//! Commands that cannot be taken back, or that send work elsewhere.

use crate::command::Command;
use crate::lookalike::fold;
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
    match &*identity {
        "git push" => return Some(Danger::Push),
        "npm publish" | "pnpm publish" | "yarn publish" | "cargo publish" | "twine upload" | "gem push"
        | "uv publish" | "poetry publish" | "docker push" | "podman push" | "mvn deploy" | "cargo yank"
        | "npm unpublish" => {
            return Some(Danger::Publish);
        }
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

fn is_recursive(command: &Command) -> bool {
    command.has(&["-r", "-R", "--recursive"])
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
        "rm" => command.has(&["--no-preserve-root"]) || (is_recursive(command) && operands.any(is_precious)),
        "find" => {
            let deletes = command.has(&["-delete"])
                || words.iter().any(|word| word.text == "rm" || word.text.ends_with("/rm"));
            let starts = words.iter().take_while(|word| !word.text.starts_with(['-', '(', '!']));
            deletes && starts.into_iter().any(|word| is_precious(&word.text))
        }
        "chmod" | "chown" | "chgrp" => is_recursive(command) && operands.any(is_precious),
        "mv" => operands.next().is_some_and(is_precious),
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

/// Block devices, and memory.
fn is_device(path: &str) -> bool {
    const KINDS: &[&str] = &[
        "sd", "hd", "vd", "xvd", "nvme", "mmcblk", "disk", "rdisk", "mem", "kmem", "port", "loop", "dm-",
        "md", "mapper",
    ];
    let path = fold(path);
    path.strip_prefix("/dev/").is_some_and(|device| KINDS.iter().any(|kind| device.starts_with(kind)))
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
    above || home
}
