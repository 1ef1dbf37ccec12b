//! Commands that only read: the documented list behind `builtin.reading_command`.

use crate::command::Command;
use crate::shell::RedirectKind;
use crate::{paths, programs};

/// Programs that only read, and the options with which they do more.
const READERS: &[(&str, &[&str])] = &[
    ("[", &[]),
    ("[[", &[]),
    (":", &[]),
    ("basename", &[]),
    ("cat", &[]),
    ("cd", &[]),
    ("cmp", &[]),
    ("cut", &[]),
    ("date", &["-s", "--set"]),
    ("df", &[]),
    ("diff", &[]),
    ("dirname", &[]),
    ("du", &[]),
    ("echo", &[]),
    ("egrep", &[]),
    ("false", &[]),
    ("fgrep", &[]),
    ("file", &["-C", "--compile"]),
    ("find", &["-exec", "-execdir", "-ok", "-okdir", "-delete", "-fprint", "-fprint0", "-fprintf", "-fls"]),
    ("grep", &[]),
    ("head", &[]),
    ("id", &[]),
    ("ls", &[]),
    ("md5sum", &[]),
    ("nl", &[]),
    ("printf", &[]),
    ("pwd", &[]),
    ("readlink", &[]),
    ("realpath", &[]),
    ("rg", &["--pre", "--hostname-bin"]),
    ("sha1sum", &[]),
    ("sha256sum", &[]),
    ("sha512sum", &[]),
    ("sort", &["-o", "--output", "--compress-program", "-T"]),
    ("stat", &[]),
    ("tail", &["-f", "-F", "--follow", "--retry"]),
    ("test", &[]),
    ("tr", &[]),
    ("tree", &["-o"]),
    ("true", &[]),
    ("type", &[]),
    ("uname", &[]),
    ("uniq", &[]),
    ("wc", &[]),
    ("which", &[]),
    ("whoami", &[]),
];

/// Subcommands of git that only read.
const GIT_READERS: &[&str] = &[
    "blame",
    "branch",
    "describe",
    "diff",
    "log",
    "ls-files",
    "ls-tree",
    "remote",
    "rev-list",
    "rev-parse",
    "shortlog",
    "show",
    "status",
];

/// Options of git that write files or run programs.
const GIT_DOES_MORE: &[&str] =
    &["--output", "--ext-diff", "--textconv", "-O", "--open-files-in-pager", "--exec"];

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
        "command" => command.has(&["-v", "-V"]),
        // Its second operand is a file that it writes.
        "uniq" => command.operands().count() <= 1,
        // Setting the clock is also possible without an option.
        "date" => !command.has(&["-s", "--set"]) && command.operands().all(|word| word.text.starts_with('+')),
        "printf" => !command.has(&["-v"]),
        _ => READERS.iter().any(|(name, more)| *name == program && !uses(command, more)),
    }
}

/// As `Command::has`, but long options may also be shortened, and `-f` counts for `find` as it stands.
fn uses(command: &Command, options: &[&str]) -> bool {
    options.iter().any(|option| {
        let single_dash_word = option.len() > 2 && !option.starts_with("--");
        if single_dash_word {
            return command.args().iter().any(|word| word.text == *option);
        }
        let shortened = |text: &str| text.len() > 3 && text.starts_with("--") && option.starts_with(text);
        command.has(&[option])
            || command.args().iter().any(|word| shortened(word.text.split('=').next().unwrap_or_default()))
    })
}

fn git_reads(command: &Command) -> bool {
    // Global options may name programs to run: `-c core.pager=…`, `--exec-path=…`.
    if command.subcommand != Some(1) {
        return false;
    }
    let verb = command.words[1].text.as_str();
    if !GIT_READERS.contains(&verb) || uses(command, GIT_DOES_MORE) {
        return false;
    }
    let mut rest = command.after_subcommand().iter().map(|word| word.text.as_str());
    match verb {
        "branch" => rest.all(|word| {
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
        "remote" => rest.all(|word| matches!(word, "-v" | "--verbose")),
        _ => true,
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
