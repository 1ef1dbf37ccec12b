//! What each argument of a command is for: a file, something that may be one, code, or mere text.

use crate::command::Command;
use crate::lookalike::fold;
use crate::programs;
use crate::shell::Word;

/// More words of one piece of code are not looked at.
const MAX_NAMES: usize = 20_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// A file, whatever it looks like.
    File,
    /// Perhaps a path.
    Word,
    /// A program in some language.
    Code,
    /// Nothing that is opened or run: a message, a pattern.
    Text,
}

/// The arguments of a command with their roles, and the code that it is fed.
pub fn roles(command: &Command) -> Vec<(&Word, Role)> {
    let mut found = argument_roles(command);
    found.extend(command.fed_code.iter().map(|code| (code, Role::Code)));
    found
}

fn argument_roles(command: &Command) -> Vec<(&Word, Role)> {
    let name = command.program.as_deref().map(fold).unwrap_or_default();
    let args = command.args();
    let seen = command.traits.guessed || command.traits.substituted;
    let all = |role: Role| args.iter().map(|word| (word, role)).collect();
    match &*name {
        // What is said inside of `$(…)` may be opened there.
        "echo" | "printf" => {
            args.iter().map(|word| (word, if word.glob || seen { Role::Word } else { Role::Text })).collect()
        }
        "eval" | "watch" | "alias" | "trap" if !command.traits.guessed => all(Role::Text),
        "ssh" => ssh(args),
        "find" | "fd" | "fdfind" => {
            let mut starts = &*name == "find";
            args.iter()
                .map(|word| {
                    starts &= !word.text.starts_with(['-', '(', '!']) || is_find_global(&word.text);
                    (word, if starts { Role::File } else { Role::Word })
                })
                .collect()
        }
        name if programs::takes_pattern(name) => after_pattern(name, command),
        "git" => git(command),
        name => {
            let code = programs::inline_options(name).unwrap_or_default();
            let texts: &[&str] = match name {
                "curl" => &["-H", "--header", "-A", "--user-agent", "-w", "--write-out"],
                "gh" | "glab" => &["-t", "--title", "-b", "--body", "-m", "--message", "-d", "--description"],
                _ => &[],
            };
            let free = programs::takes_files(name);
            valued(args, code, texts, if free { Role::File } else { Role::Word })
        }
    }
}

fn is_find_global(text: &str) -> bool {
    matches!(text, "-L" | "-H" | "-P" | "-E" | "-s" | "-x")
}

/// Values of options that are code or text; a text that begins with `@` names a file.
fn valued<'w>(args: &'w [Word], code: &[&str], texts: &[&str], others: Role) -> Vec<(&'w Word, Role)> {
    let mut due = None;
    args.iter()
        .map(|word| {
            let text = word.text.as_str();
            let role = due.take().filter(|role| *role == Role::Code || !text.starts_with('@'));
            let attached = |options: &[&str]| {
                options.iter().any(|option| {
                    let rest = text.strip_prefix(option);
                    rest.is_some_and(|rest| !rest.is_empty() && (option.len() == 2 || rest.starts_with('=')))
                })
            };
            if role.is_none() && code.contains(&text) {
                due = Some(Role::Code);
            } else if role.is_none() && texts.contains(&text) {
                due = Some(Role::Text);
            }
            let role = role.or_else(|| attached(code).then_some(Role::Code));
            (word, role.unwrap_or(others))
        })
        .collect()
}

/// Options go to the machine here; what follows the host runs elsewhere and is looked at by itself.
fn ssh(args: &[Word]) -> Vec<(&Word, Role)> {
    let options = programs::wrapper("ssh").map_or(&[][..], |wrapper| wrapper.valued);
    let (mut host_seen, mut value) = (false, false);
    args.iter()
        .map(|word| {
            let text = word.text.as_str();
            let before_host = value || text.starts_with('-');
            value = !value && options.contains(&text);
            host_seen |= !before_host;
            (word, if host_seen { Role::Text } else { Role::Word })
        })
        .collect()
}

fn after_pattern<'c>(name: &str, command: &'c Command) -> Vec<(&'c Word, Role)> {
    const GIVEN: &[&str] =
        &["-e", "-f", "--regexp", "--file", "--expression", "--files", "--type-list", "--from-file"];
    let scripted = matches!(name, "sed" | "awk" | "gawk" | "mawk" | "nawk");
    let pattern = if scripted { Role::Code } else { Role::Text };
    let numbers: &[&str] = match name {
        "sed" => &["-l"],
        "awk" | "gawk" | "mawk" | "nawk" => &["-F", "-v"],
        "jq" => &["--indent"],
        "tr" => &[],
        "rg" | "ag" | "ack" => &[
            "-A", "-B", "-C", "-m", "-g", "-t", "-T", "-j", "-M", "-r", "-E", "-d", "--glob", "--type",
            "--iglob",
        ],
        _ => &["-A", "-B", "-C", "-m", "-d", "-D"],
    };
    let mut due = !command.has(GIVEN);
    let mut next = None;
    command
        .args()
        .iter()
        .map(|word| {
            let text = word.text.as_str();
            if let Some(role) = next.take() {
                return (word, role);
            }
            match text {
                "-e" | "--regexp" | "--expression" => next = Some(pattern),
                "-f" | "--file" | "--from-file" => next = Some(Role::File),
                _ if numbers.contains(&text) => next = Some(Role::Word),
                _ => {}
            }
            let option = text.starts_with('-') && text.len() > 1;
            let code = ["--expression=", "-e"]
                .iter()
                .any(|given| text.starts_with(given) && text.len() > given.len());
            let role = match (option, due) {
                (true, _) if scripted && code => Role::Code,
                (true, _) => Role::Word,
                (false, true) => {
                    due = false;
                    pattern
                }
                (false, false) => Role::File,
            };
            (word, role)
        })
        .collect()
}

fn git(command: &Command) -> Vec<(&Word, Role)> {
    let verb = command.subcommand.map_or("", |at| command.words[at].text.as_str());
    let texts: &[&str] = match verb {
        "commit" | "tag" | "merge" | "notes" | "stash" => {
            &["-m", "--message", "-am", "--author", "--trailer"]
        }
        "log" | "shortlog" | "rev-list" => &["--grep", "--author", "--committer", "--since", "--until"],
        "for-each-ref" => &["--format"],
        _ => &[],
    };
    let takes_files = matches!(
        verb,
        "add"
            | "rm"
            | "mv"
            | "restore"
            | "checkout"
            | "diff"
            | "log"
            | "show"
            | "blame"
            | "ls-files"
            | "ls-tree"
            | "archive"
            | "clean"
            | "reset"
            | "cat-file"
            | "stash"
            | "grep"
    );
    let start = command.subcommand.unwrap_or(command.words.len());
    let mut pattern_due = verb == "grep" && !command.has(&["-e", "-f"]);
    let mut found = valued(command.args(), &[], texts, Role::Word);
    for (at, (word, role)) in found.iter_mut().enumerate() {
        // Among the arguments the place of a word is one less than among all words.
        let behind_folder_option = at > 0 && at < start && command.words[at].text == "-C";
        let text = word.text.as_str();
        let operand = at >= start && *role == Role::Word && !text.starts_with('-');
        let said = text.starts_with("--message=") || text.starts_with("--grep=");
        if said || (operand && std::mem::take(&mut pattern_due)) {
            *role = Role::Text;
        } else if behind_folder_option || (operand && takes_files) {
            *role = Role::File;
        }
    }
    found
}

/// The texts between quotes in code, and the words of a script for `sed`: what may be opened there.
pub fn named_in_code(code: &str) -> impl Iterator<Item = &str> {
    let in_path = |c: char| c.is_alphanumeric() || "._/~$-".contains(c);
    let words = code.split(['\'', '"', '`', '<', '(', ')', ',']).flat_map(str::split_whitespace);
    words.filter(move |text| text.chars().all(in_path)).take(MAX_NAMES)
}

/// Whether a command looks at everything below the folders that it names, or below where it stands.
pub fn searches(command: &Command) -> bool {
    let Some(name) = command.program.as_deref().map(fold) else { return false };
    match &*name {
        "grep" | "egrep" | "fgrep" | "zgrep" => {
            command.has(&["-r", "-R", "--recursive", "--dereference-recursive", "-d", "--directories"])
        }
        "rg" | "ag" | "ack" | "find" | "fd" | "fdfind" | "tree" | "du" | "rsync" | "tar" => true,
        "ls" | "chmod" | "chown" | "chgrp" => command.has(&["-R", "--recursive"]),
        "cp" | "scp" | "rm" | "diff" | "zip" => {
            command.has(&["-r", "-R", "-a", "--recursive", "--archive"])
                || &*name == "cp" && command.has(&["-d"])
        }
        "git" => command.identity.as_deref() == Some("git grep"),
        _ => false,
    }
}
