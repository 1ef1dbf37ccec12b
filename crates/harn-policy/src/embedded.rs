//! Dangerous commands that stand inside of the words of another: `awk 'BEGIN { system("rm -rf /") }'`.

use crate::analyse::{Analyst, Frame};
use crate::command::Command;
use crate::danger::{self, Danger};
use crate::guess;
use crate::lookalike::fold;
use crate::shell::Word;
use crate::texts::{self, Role};

/// Tails of one list of words that are looked at.
const MAX_TAILS: usize = 64;

/// Whether some argument holds a command that would be asked about or denied by itself.
pub fn hides_danger(command: &Command) -> bool {
    let spaced = |word: &Word| word.text.contains(char::is_whitespace);
    let mut words = command.args().iter().chain(&command.fed_code);
    let holds_code = words.any(spaced) || command.assignments.iter().any(|given| spaced(&given.value));
    if !holds_code || command.traits.guessed || command.traits.calls_function {
        return false;
    }
    let analyst = Analyst::default();
    let code = |word: &Word| {
        spaced(word) && guess::code(&word.text).iter().any(|words| dangerous_tail(&analyst, words, |_| true))
    };
    let runs = |role: &Role| *role != Role::Text;
    let roles = texts::roles(command);
    let assigned = command.assignments.iter().any(|given| code(&given.value));
    assigned || roles.iter().any(|(word, role)| runs(role) && code(word))
}

/// Whether the last words of a command are one that ruins the machine, behind a program that may run them.
pub fn runs_ruin(command: &Command) -> bool {
    let mut args = command.args().iter();
    may_run_words(command)
        && args.any(|word| could_be_program(&word.text))
        && dangerous_tail(&Analyst::default(), command.args(), |danger| danger == Danger::Ruin)
}

/// A program that nobody knows may run the words after it.
fn may_run_words(command: &Command) -> bool {
    const QUIET: &[&str] = &[
        "man", "which", "type", "apropos", "whatis", "tldr", "echo", "printf", "git", "ssh", "grep", "rg",
        "docker", "podman", "nerdctl", "kubectl",
    ];
    let name = command.program.as_deref().map(fold).unwrap_or_default();
    !QUIET.contains(&&*name)
}

fn dangerous_tail(analyst: &Analyst, words: &[Word], counts: impl Fn(Danger) -> bool) -> bool {
    let tails = (0..words.len()).filter(|at| could_be_program(&words[*at].text)).take(MAX_TAILS);
    tails.into_iter().any(|at| {
        let name = words[at].text.rsplit('/').next().unwrap_or_default();
        let command = analyst.identified(name, words[at..].to_vec(), &Frame::default());
        // A word alone is too little: `shutdown` may as well be a test's name.
        command.words.len() > 1 && danger::of(&command).is_some_and(&counts)
    })
}

fn could_be_program(word: &str) -> bool {
    const NAMES: &[&str] = &[
        "rm", "find", "chmod", "chown", "chgrp", "mv", "dd", "tee", "shred", "wipefs", "git", "npm", "pnpm",
        "yarn", "cargo", "twine", "gem", "docker", "podman", "uv", "poetry", "mkfs", "rsync", "kill",
    ];
    let name = fold(word.rsplit('/').next().unwrap_or_default());
    NAMES.contains(&&*name) || name.starts_with("mkfs.")
}
