//! One simple command in its normal form, and what is special about it.

use crate::shell::{self, Assignment, Redirect, RedirectKind, Word};

/// One simple command, as rules see it.
#[derive(Clone, Debug, Default)]
pub struct Command {
    pub assignments: Vec<Assignment>,
    /// The program and its arguments.
    pub words: Vec<Word>,
    pub redirects: Vec<Redirect>,
    /// The program's bare name; none when it is not known, or there is none.
    pub program: Option<String>,
    /// The bare name and the subcommand.
    pub identity: Option<String>,
    /// The place of the subcommand among the words.
    pub subcommand: Option<usize>,
    /// As a shell would read it back.
    pub text: String,
    /// Names of the wrappers around it.
    pub wrappers: Vec<String>,
    /// Where a `cd` before it has led, if anywhere: its relative paths may begin there.
    pub folder: Option<String>,
    /// Code that an interpreter is fed by a heredoc or a here-string.
    pub fed_code: Vec<Word>,
    pub traits: Traits,
}

/// What is special about a command.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traits {
    /// Some word is only known when it runs.
    pub dynamic: bool,
    /// Even which program, subcommand or code runs is only known then.
    pub unknown_program: bool,
    /// Runs what it reads.
    pub runs_input: bool,
    /// Runs code that stands among its words.
    pub inline_code: bool,
    /// Asks for the rights of another user.
    pub privileged: bool,
    /// Calls a function of the script itself.
    pub calls_function: bool,
    /// Environment variables that change what programs do were set before.
    pub steered: bool,
    pub piped: bool,
    pub background: bool,
    /// What it prints becomes part of another command's words.
    pub substituted: bool,
    /// The command that runs it is the one that rules allow: `uv run …`.
    pub stood_for: bool,
    /// Cut out of text that was not understood; only what is asked about or denied counts of it.
    pub guessed: bool,
}

impl Command {
    pub fn args(&self) -> &[Word] {
        self.words.get(1..).unwrap_or_default()
    }

    /// The program was given by a bare name, or as one of the system's own.
    pub fn plain_program(&self) -> bool {
        self.words.first().is_some_and(|word| match word.text.rsplit_once('/') {
            None => true,
            Some((folder, _)) => matches!(folder, "/bin" | "/usr/bin" | "/usr/local/bin"),
        })
    }

    /// Whether an option is there: a whole word, `--word=value`, or a letter in a cluster of short ones.
    pub fn has(&self, options: &[&str]) -> bool {
        self.args().iter().take_while(|word| word.text != "--").any(|word| {
            options.iter().any(|option| {
                let long = option.starts_with("--");
                let cluster = !word.text.starts_with("--") && word.text.starts_with('-');
                word.text == *option
                    || (long && word.text.starts_with(option) && word.text[option.len()..].starts_with('='))
                    || (!long && option.len() == 2 && cluster && word.text[1..].contains(&option[1..]))
            })
        })
    }

    /// Arguments that are no options.
    pub fn operands(&self) -> impl Iterator<Item = &Word> {
        let mut only_operands = false;
        self.args().iter().filter(move |word| {
            let before = only_operands;
            only_operands |= word.text == "--";
            before || (!word.text.starts_with('-') || word.text == "-")
        })
    }

    /// Words after the subcommand.
    pub fn after_subcommand(&self) -> &[Word] {
        self.subcommand.and_then(|at| self.words.get(at + 1..)).unwrap_or_default()
    }
}

/// The command as a shell would read it back.
pub fn shown(command: &Command, appended: bool) -> String {
    let mut text = String::new();
    for assignment in &command.assignments {
        text.push_str(&assignment.name);
        text.push('=');
        assignment.value.show(&mut text);
        text.push(' ');
    }
    for (at, word) in command.words.iter().enumerate() {
        if at == 0 && command.plain_program() && word.is_literal() {
            let name = word.text.rsplit('/').next().unwrap_or_default();
            Word::literal(name).show(&mut text);
        } else {
            word.show(&mut text);
        }
        text.push(' ');
    }
    if appended {
        text.push(shell::UNKNOWN);
        text.push(' ');
    }
    // Where output goes is judged as a path; only a redirect without a command has to show itself.
    let bare = command.words.is_empty();
    for redirect in command.redirects.iter().filter(|_| bare) {
        let operator = match redirect.kind {
            RedirectKind::Read => "< ",
            RedirectKind::Write => "> ",
            RedirectKind::HereString => "<<< ",
            RedirectKind::Heredoc => continue,
        };
        text.push_str(operator);
        redirect.target.show(&mut text);
        text.push(' ');
    }
    text.truncate(text.trim_end().len());
    text
}
