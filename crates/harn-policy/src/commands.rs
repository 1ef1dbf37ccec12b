//! The simple commands of a line, for rules that a script makes for itself.

use crate::analyse::analyse;
use crate::command::Command;

/// What a line runs, as far as it can be told before it runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Commands {
    pub found: Vec<Found>,
    /// Why there may be others.
    pub unclear: Option<&'static str>,
}

/// One simple command. A part that is only known when it runs is `…`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// The program and its arguments, or the redirects of a command that has no program.
    pub words: Vec<String>,
    /// What runs it and does nothing else: `env`, `time`, `sh -c`.
    pub wrappers: Vec<String>,
    /// It may be one, or is what another command is allowed to run: it counts only for what is denied.
    pub only_denied: bool,
}

/// Everything that a line may run.
pub fn commands(line: &str) -> Commands {
    let analysis = analyse(line);
    let is_unknown = |command: &Command| command.traits.unknown_program || command.traits.runs_input;
    let unknown = analysis.commands.iter().any(is_unknown);
    let unclear = match analysis.unparsed {
        Some(unparsed) => Some(unparsed.why),
        None => unknown.then_some("which program it runs is only known then"),
    };
    // What a function does is among the others, and a value that is kept runs nothing.
    let is_something = |command: &Command| !command.words.is_empty() || !command.redirects.is_empty();
    let runs = |command: &&Command| !command.traits.calls_function && is_something(command);
    Commands { found: analysis.commands.iter().filter(runs).map(found).collect(), unclear }
}

fn found(command: &Command) -> Found {
    let words = command.words.iter().map(|word| word.text.clone()).collect();
    Found {
        words: if command.words.is_empty() { vec![command.text.clone()] } else { words },
        wrappers: command.wrappers.clone(),
        only_denied: command.traits.guessed || command.traits.stood_for,
    }
}
