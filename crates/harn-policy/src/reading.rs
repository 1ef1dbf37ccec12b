//! Commands that only read: the documented list behind `builtin.reading_command`.

use crate::command::Command;
use crate::readers::{FIND, GIT, GIT_LETTERS, GIT_LONG, READERS};
use crate::shell::{RedirectKind, Word};
use crate::{paths, programs};

/// Whether a command, by itself and whatever its paths are, only reads. Every word has to be known.
pub fn only_reads(command: &Command) -> bool {
    let quiet = command.redirects.iter().all(|redirect| match redirect.kind {
        RedirectKind::Write => !redirect.target.dynamic && paths::swallows(&redirect.target.text),
        RedirectKind::Read => !redirect.target.dynamic,
        RedirectKind::Heredoc | RedirectKind::HereString => true,
    });
    let traits = command.traits;
    let known = !traits.dynamic && !traits.steered && !traits.calls_function && !traits.unknown_program;
    let Some(program) = command.program.as_deref() else { return false };
    quiet
        && known
        && command.assignments.is_empty()
        && command.plain_program()
        && !traits.background
        && reader(program, command)
}

fn reader(program: &str, command: &Command) -> bool {
    match program {
        "git" => git_reads(command),
        "find" => {
            let known = |text: &str| FIND.split(' ').any(|option| option == text);
            command.args().iter().all(|word| !word.text.starts_with('-') || known(&word.text))
        }
        "command" => command.has(&["-v", "-V"]),
        "sed" => prints_lines(command),
        "jq" => follows_names(command),
        "[" | "[[" | "test" => tests_plainly(command),
        // `cd -` leads to where nobody has looked.
        "cd" if command.args().iter().any(|word| word.text == "-") => false,
        // Only its first word can be an option.
        "printf" => command.args().first().is_none_or(|word| !word.text.starts_with('-')),
        // Its second operand is a file that it writes.
        "uniq" if command.operands().count() > 1 => false,
        // Setting the clock is also possible without an option.
        "date" if !date_tells(command.args()) => false,
        _ => READERS.iter().any(|reader| {
            reader.name == program
                && (reader.flags == "*"
                    || only_known(command.args(), reader.flags, reader.valued, reader.long))
        }),
    }
}

/// Every option is one of these, in full or in a cluster of letters.
fn only_known(args: &[Word], flags: &str, valued: &str, long: &str) -> bool {
    let mut value_due = false;
    args.iter().take_while(|word| word.text != "--").all(|word| {
        if std::mem::take(&mut value_due) {
            return true;
        }
        let Some(option) = word.text.strip_prefix('-').filter(|option| !option.is_empty()) else {
            return true;
        };
        if let Some(name) = option.strip_prefix('-') {
            let name = name.split('=').next().unwrap_or_default();
            return long.split_ascii_whitespace().any(|known| known == name);
        }
        for (at, letter) in option.char_indices() {
            if valued.contains(letter) {
                value_due = at + letter.len_utf8() == option.len();
                return true;
            }
            if !flags.contains(letter) {
                return false;
            }
        }
        true
    })
}

fn date_tells(args: &[Word]) -> bool {
    let mut value_due = false;
    args.iter().all(|word| {
        let value = std::mem::replace(&mut value_due, matches!(word.text.as_str(), "-d" | "--date"));
        value || word.text.starts_with(['+', '-'])
    })
}

/// `sed -n '2,5p'`: prints lines by number or pattern and does nothing else.
fn prints_lines(command: &Command) -> bool {
    let mut words = command.args().iter().map(|word| word.text.as_str());
    let silent = matches!(words.next(), Some("-n" | "-nE" | "-En"));
    let script = words.next().and_then(|script| script.strip_suffix('p')).unwrap_or("?");
    let address = |text: &str| {
        let pattern = text.strip_prefix('/').and_then(|rest| rest.strip_suffix('/'));
        text == "$"
            || (!text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()))
            || pattern.is_some_and(|inner| !inner.contains(['/', '\\', ';', '\n', '{', '}']))
    };
    silent && words.all(|word| !word.starts_with('-')) && script.splitn(2, ',').all(address)
}

/// `jq .a.b[0] file`: a filter that only follows names.
fn follows_names(command: &Command) -> bool {
    let mut words = command.args().iter().map(|word| word.text.as_str()).peekable();
    while words.next_if(|word| matches!(*word, "-r" | "-c" | "-S" | "-e" | "-M" | "-C" | "-j")).is_some() {}
    let plain = |filter: &str| {
        filter.starts_with('.')
            && filter
                .split(['.', '[', ']'])
                .all(|name| name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_'))
    };
    words.next().is_some_and(plain) && words.all(|word| !word.starts_with('-'))
}

/// No operand is one that bash would take for a subscript with a command in it.
fn tests_plainly(command: &Command) -> bool {
    let args = command.args();
    let number = |word: &Word| word.text.trim_start_matches('-').bytes().all(|byte| byte.is_ascii_digit());
    let name = |word: &Word| word.text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    args.iter().enumerate().all(|(at, word)| match word.text.as_str() {
        "-eq" | "-ne" | "-lt" | "-le" | "-gt" | "-ge" => {
            at > 0 && number(&args[at - 1]) && args.get(at + 1).is_some_and(number)
        }
        "-v" | "-R" => args.get(at + 1).is_some_and(name),
        text => !text.contains('[') || !text.contains(['$', '`']),
    })
}

/// What follows the letter may be its value or further letters.
fn is_git_option(text: &str) -> bool {
    match (text.strip_prefix("--"), text.strip_prefix('-')) {
        (Some(long), _) => {
            let name = long.split('=').next().unwrap_or_default();
            GIT_LONG.split_ascii_whitespace().any(|known| known == name)
        }
        (None, Some(letters)) => letters.chars().next().is_none_or(|letter| GIT_LETTERS.contains(letter)),
        (None, None) => true,
    }
}

fn git_reads(command: &Command) -> bool {
    let Some(at) = command.subcommand else { return false };
    // Other global options may name programs to run: `-c core.pager=…`, `--exec-path=…`.
    let mut globals = command.words[1..at].iter().map(|word| word.text.as_str());
    while let Some(option) = globals.next() {
        match option {
            "--no-pager" | "-P" => {}
            "-C" if globals.next().is_some() => {}
            _ => return false,
        }
    }
    let verb = command.words[at].text.as_str();
    let rest = command.after_subcommand();
    let mut texts = rest.iter().map(|word| word.text.as_str());
    match verb {
        "branch" => texts.all(|word| {
            matches!(
                word,
                "-a" | "-r"
                    | "-v"
                    | "-vv"
                    | "-l"
                    | "--list"
                    | "--all"
                    | "--remotes"
                    | "--show-current"
                    | "--no-color"
            )
        }),
        "remote" => texts.all(|word| matches!(word, "-v" | "--verbose")),
        _ => {
            GIT.contains(&verb)
                && rest.iter().take_while(|word| word.text != "--").all(|word| is_git_option(&word.text))
        }
    }
}

/// How a command treats the paths that it names, as far as that is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Touch {
    Reads,
    Changes,
    Unknown,
}

pub fn touch(command: &Command) -> Touch {
    let name = command.program.as_deref().unwrap_or_default();
    let records = matches!(command.identity.as_deref(), Some("git add" | "git commit" | "git grep"));
    // What is known of its words is enough here: an unknown one does not turn `cat` into a writer.
    let reads = reader(name, command)
        && command.redirects.iter().all(|redirect| redirect.kind != RedirectKind::Write);
    if reads || records {
        Touch::Reads
    } else if programs::changes_files(name, command.args()) {
        Touch::Changes
    } else {
        Touch::Unknown
    }
}
