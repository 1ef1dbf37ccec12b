//! Which words of a command may be paths.

use std::borrow::Cow;

use harn_core::decision::Access;

use crate::command::Command;
use crate::lookalike::fold;
use crate::programs;
use crate::shell::{RedirectKind, Word};
use crate::texts::{self, Role};
use crate::{network, paths};

/// Signs between the parts of a word that may each be a path.
const JOINTS: &[char] = &[':', ',', '=', '@', ';', '<'];

/// The paths that one command names, in order.
pub fn of_command(command: &Command) -> Vec<(String, Access)> {
    let mut found = Vec::new();
    for redirect in &command.redirects {
        let access = match redirect.kind {
            RedirectKind::Read => Access::Read,
            RedirectKind::Write => Access::Write,
            RedirectKind::Heredoc | RedirectKind::HereString => continue,
        };
        found.push((redirect.target.text.clone(), access));
    }
    let mut mention = |text: &str| {
        if !text.is_empty() {
            found.push((text.to_owned(), Access::Mention));
        }
    };
    for assignment in &command.assignments {
        let value = assignment.value.text.as_str();
        // Of a list such as `PATH` only a secret is worth a word.
        let list = value.contains(':');
        let parts = value.split(':').filter(|part| !list && looks_like_path(part) || is_special(part));
        parts.for_each(&mut mention);
    }
    let name = command.program.as_deref().map(fold).unwrap_or_default();
    let named = |text: &str| !command.plain_program() || (command.traits.guessed && is_special(text));
    if let Some(program) = command.words.first().filter(|word| named(&word.text)) {
        mention(&program.text);
    }
    if matches!(&*name, "cd" | "pushd") && command.args().is_empty() {
        mention("~");
    }
    let mut files = 0;
    for (word, role) in texts::roles(command) {
        match role {
            Role::Text => {}
            Role::Code => {
                let interpreted = programs::inline_options(&name).is_some();
                let counts = |text: &&str| {
                    telling(text) || (interpreted && text.contains('/') && !text.starts_with('/'))
                };
                texts::named_in_code(&word.text).filter(counts).for_each(&mut mention);
            }
            Role::File | Role::Word => {
                files += usize::from(role == Role::File && !word.text.starts_with('-'));
                paths_in(&name, command, &word.text, role, &mut mention);
                if let Some(pattern) = sequence_as_pattern(word) {
                    mention(&pattern);
                }
            }
        }
    }
    if files == 0 && texts::searches(command) {
        mention(".");
    }
    if let Some(folder) = &command.folder {
        let also = moved(folder, &found);
        found.extend(also);
    }
    found.sort();
    found.dedup();
    found
}

/// The same paths as seen from where a `cd` has led.
fn moved(folder: &str, found: &[(String, Access)]) -> Vec<(String, Access)> {
    let relative = found.iter().filter(|(text, _)| !text.starts_with(['/', '~', '$']));
    relative.map(|(text, access)| (format!("{folder}/{text}"), *access)).collect()
}

/// `.{e..e}nv` as a pattern: what the sequence stands for is not spelt out.
fn sequence_as_pattern(word: &Word) -> Option<String> {
    let (before, rest) = word.text.split_once('{').filter(|_| word.dynamic)?;
    let (inside, after) = rest.split_once('}')?;
    inside.contains("..").then(|| format!("{before}*{after}"))
}

fn looks_like_path(text: &str) -> bool {
    text.contains('/') || text.starts_with(['.', '~']) || text.starts_with("$HOME")
}

/// Secrets, rules and the harness itself are recognised by their name alone.
pub fn is_special(text: &str) -> bool {
    let folded = fold(text);
    paths::is_sensitive(&folded) || paths::is_policy_file(&folded) || paths::in_harn_folder(&folded)
}

/// What counts in code: special names, and what surely leads out.
fn telling(text: &str) -> bool {
    const ROOTS: &[&str] =
        &["etc", "home", "root", "var", "proc", "sys", "dev", "boot", "srv", "mnt", "users"];
    const DATA: &[&str] = &[".json", ".yaml", ".yml", ".toml", ".txt", ".ini", ".xml", ".enc", ".db"];
    let root = text.strip_prefix('/').map(|rest| fold(rest.split('/').next().unwrap_or_default()));
    // A module of that name is no file.
    let module = text.starts_with("secrets.") && !DATA.iter().any(|ending| text.ends_with(ending));
    (is_special(text) && !module)
        || text.starts_with("../")
        || text.starts_with("~/")
        || root.is_some_and(|root| ROOTS.contains(&&*root))
}

/// The parts of a word that may be paths.
fn paths_in(name: &str, command: &Command, word: &str, role: Role, mention: &mut impl FnMut(&str)) {
    if let Some(at) = word.find("file://") {
        let rest = &word[at + 7..];
        return mention(&percent_decoded(&rest[rest.find('/').unwrap_or(0)..]));
    }
    let word = network::url_start(word).map_or(word, |at| &word[..at]);
    let value = match word.strip_prefix('-') {
        Some("" | "-") => return,
        Some(option) => match option.split_once('=') {
            Some((_, value)) => value,
            None if option.starts_with('-') => return,
            None => {
                // Letters before a path: `-xC/etc`, `-sT.env`.
                if let Some(at) = option.find(['/', '.', '~']).filter(|at| *at > 1) {
                    mention(&option[at..]);
                }
                // `-I/usr/include`, `-C../other`
                match option.char_indices().nth(1) {
                    Some((at, _)) => &option[at..],
                    None => return,
                }
            }
        },
        None => match word.split_once('=') {
            Some((key, value)) if key.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-') => {
                value
            }
            _ => word,
        },
    };
    let whole = value.len() == word.len();
    let value = value.strip_prefix('@').unwrap_or(value);
    let counts = |text: &str| looks_like_path(text) || is_special(text) || !text.is_ascii();
    if is_remote(name, command, value) {
        return;
    }
    match name {
        "git" => in_git(value, role, whole, mention),
        "docker" | "podman" | "nerdctl" => in_container(value, mention),
        _ => {
            if (role == Role::File && whole) || counts(value) {
                mention(value);
            }
            if value.contains(JOINTS) {
                value.split(JOINTS).filter(|part| counts(part)).for_each(mention);
            }
        }
    }
}

/// `host:path` of programs that copy from and to other machines.
fn is_remote(name: &str, command: &Command, value: &str) -> bool {
    let copies = match name {
        "scp" | "rsync" | "sftp" | "rclone" => true,
        "git" => {
            let verb = command.subcommand.map_or("", |at| command.words[at].text.as_str());
            matches!(verb, "clone" | "fetch" | "pull" | "push" | "remote" | "ls-remote" | "submodule")
        }
        _ => false,
    };
    copies && value.split_once(':').is_some_and(|(host, _)| host.len() > 1 && !host.contains('/'))
}

/// A path, a file of a revision (`HEAD:src/main.rs`, `:0:x`), or a path with magic (`:(top)x`).
fn in_git(value: &str, role: Role, whole: bool, mention: &mut impl FnMut(&str)) {
    let plain = match value.strip_prefix(":(").and_then(|rest| rest.split_once(')')) {
        Some((_, path)) => path,
        None => value.trim_start_matches([':', '!', '^']),
    };
    let counts = |text: &str| looks_like_path(text) || is_special(text) || !text.is_ascii();
    if (role == Role::File && whole) || counts(plain) {
        mention(plain);
    }
    if let Some((_, path)) = plain.rsplit_once(':') {
        mention(path);
    }
    if plain.contains(JOINTS) {
        plain.split(JOINTS).filter(|part| counts(part)).for_each(mention);
    }
}

/// What a container is given of this machine: `host:container`, `source=…`.
fn in_container(value: &str, mention: &mut impl FnMut(&str)) {
    for part in value.split(',') {
        let path = match part.split_once('=') {
            Some(("target" | "dst" | "destination" | "type", _)) => continue,
            Some((_, path)) => path,
            None => part.split(':').next().unwrap_or_default(),
        };
        if looks_like_path(path) || is_special(path) || !path.is_ascii() {
            mention(path);
        }
    }
}

fn percent_decoded(text: &str) -> Cow<'_, str> {
    if !text.contains('%') {
        return text.into();
    }
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let digits = text.get(at + 1..at + 3).filter(|_| bytes[at] == b'%');
        match digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => {
                out.push(byte);
                at += 3;
            }
            None => {
                out.push(bytes[at]);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned().into()
}
