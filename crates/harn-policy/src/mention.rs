//! Which words of a command may be paths.

use harn_core::decision::Access;

use crate::command::Command;
use crate::lookalike::fold;
use crate::programs;
use crate::shell::{RedirectKind, Word};
use crate::{network, paths};

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
        if assignment.value.text.starts_with(['/', '.', '~']) && !assignment.value.text.contains(':') {
            mention(&assignment.value.text);
        }
    }
    if let Some(program) = command.words.first().filter(|_| !command.plain_program()) {
        mention(&program.text);
    }
    let name = command.program.as_deref().unwrap_or_default();
    if matches!(name, "cd" | "pushd") && command.args().is_empty() {
        mention("~");
    }
    for word in path_words(name, command) {
        if let Some(path) = path_in(name, &word.text) {
            mention(path);
        }
    }
    found.sort();
    found.dedup();
    found
}

/// Arguments without those that are texts, patterns, scripts or inner commands.
fn path_words<'c>(name: &str, command: &'c Command) -> Vec<&'c Word> {
    let args = command.args();
    if matches!(
        name,
        "echo" | "printf" | "eval" | "ssh" | "watch" | ":" | "alias" | "trap" | "test" | "[" | "[["
    ) && !args.iter().any(|word| word.glob || word.text.contains("/."))
    {
        return if matches!(name, "test" | "[" | "[[" | ":") { args.iter().collect() } else { Vec::new() };
    }
    let mut pattern_due = programs::takes_pattern(name) && !command.has(&["-e", "-f", "--regexp", "--file"]);
    let mut text_due = false;
    let inline = programs::inline_options(name).unwrap_or_default();
    args.iter()
        .filter(|word| {
            if std::mem::take(&mut text_due) {
                return false;
            }
            let text = word.text.as_str();
            text_due = inline.contains(&text)
                || (name == "git"
                    && matches!(text, "-m" | "--message" | "-am" | "--grep" | "--format" | "--author"))
                || (name == "curl" && matches!(text, "-H" | "--header" | "-A" | "--user-agent" | "-w"));
            if pattern_due && !text.starts_with('-') {
                pattern_due = false;
                return false;
            }
            !text.starts_with("--message=")
        })
        .collect()
}

/// The part of a word that may be a path.
fn path_in<'w>(program: &str, word: &'w str) -> Option<&'w str> {
    if let Some(file) = word.strip_prefix("file://") {
        return Some(file);
    }
    if network::host_of_url(word).is_some() {
        return None;
    }
    let value = match word.strip_prefix('-') {
        Some("" | "-") => return None,
        Some(option) => match option.split_once('=') {
            Some((_, value)) => value,
            None if option.starts_with('-') => return None,
            // `-I/usr/include`, `-C../other`
            None => option.get(1..)?,
        },
        None => match word.split_once('=') {
            Some((key, value)) if key.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-') => {
                value
            }
            _ => word,
        },
    };
    let value = value.strip_prefix('@').unwrap_or(value);
    // A file of a revision: `HEAD:src/main.rs`.
    let value = match value.split_once(':') {
        Some((revision, path)) if program == "git" && !revision.contains('@') => path,
        _ => value,
    };
    let free = programs::takes_files(program) && value.len() == word.len();
    let looks = value.contains('/') || value.starts_with(['.', '~']) || value.starts_with("$HOME");
    let special = |value: &str| {
        let folded = fold(value);
        paths::is_sensitive(&folded) || paths::is_policy_file(&folded) || !value.is_ascii()
    };
    // A path on another machine.
    let remote = value.split_once(':').is_some_and(|(host, _)| host.len() > 1 && !host.contains('/'));
    (!remote && (free || looks || special(value))).then_some(value)
}
