//! The simple commands that a shell script runs, looked through wrappers and nested shells.

use crate::command::{Command, Traits, shown};
use crate::guess;
use crate::lookalike::fold;
use crate::programs;
use crate::shell::{self, Assignment, Heredoc, Redirect, Simple, Unparsed, Word};

/// Wrappers within wrappers, and scripts within scripts, are followed this far.
pub const MAX_LAYERS: u32 = 12;
const MAX_ASSIGNMENTS: usize = 64;
/// Longer folders are not followed through `cd`.
const MAX_FOLDER: usize = 1024;

/// All that a script runs.
#[derive(Clone, Debug, Default)]
pub struct Analysis {
    pub commands: Vec<Command>,
    pub unparsed: Option<Unparsed>,
    /// A function that starts itself again and again.
    pub fork_bomb: bool,
}

pub fn analyse(script: &str) -> Analysis {
    let mut analyst = Analyst::default();
    analyst.script(script, &Frame::default());
    analyst.analysis
}

/// What surrounds a command.
#[derive(Clone, Debug, Default)]
pub struct Frame {
    pub assignments: Vec<Assignment>,
    pub redirects: Vec<Redirect>,
    pub wrappers: Vec<String>,
    pub layers: u32,
    pub piped: bool,
    pub background: bool,
    /// Text that an `echo` before it in the pipeline is known to send.
    pub fed: Option<String>,
    /// Further words follow that nobody knows.
    pub appended: bool,
    pub substituted: bool,
    /// The command around it is the one that rules allow.
    pub stood_for: bool,
    /// Found by cutting up text that was not understood.
    pub guessed: bool,
}

impl Frame {
    pub fn inside(&self, wrapper: &str) -> Self {
        let mut inner = self.clone();
        inner.wrappers.push(wrapper.to_owned());
        inner.layers += 1;
        inner.background |= matches!(wrapper, "nohup" | "setsid");
        inner
    }

    /// The same around a script of its own.
    pub fn without_redirects(&self) -> Self {
        Self { redirects: Vec::new(), ..self.clone() }
    }
}

#[derive(Default)]
pub struct Analyst {
    pub analysis: Analysis,
    functions: Vec<String>,
    aliases: Vec<(String, String)>,
    pub heredocs: Vec<Heredoc>,
    steered: bool,
    /// Where a `cd` has led, as far as it is known.
    folder: Option<String>,
}

impl Analyst {
    fn give_up(&mut self, why: &'static str) {
        self.analysis.unparsed.get_or_insert(Unparsed { at: 0, why });
    }

    pub fn script(&mut self, text: &str, frame: &Frame) {
        if frame.layers > MAX_LAYERS {
            return self.give_up("it is wrapped too deeply");
        }
        let script = shell::parse(text);
        let understood = script.unparsed.is_none();
        if let Some(unparsed) = script.unparsed {
            self.analysis.unparsed.get_or_insert(unparsed);
        }
        let heredocs = std::mem::replace(&mut self.heredocs, script.heredocs);
        self.functions.extend(script.functions.iter().cloned());
        for simple in &script.commands {
            self.note_aliases(simple);
            let program = simple.words.first().map(|word| word.text.as_str());
            let calls_itself = simple.within.is_some_and(|at| program == Some(&script.functions[at]));
            self.analysis.fork_bomb |= calls_itself && (simple.piped || simple.background);
        }
        let mut fed = None;
        for simple in script.commands {
            if self.analysis.commands.len() > shell::MAX_COMMANDS {
                return self.give_up("it has too many commands");
            }
            let says = spoken(&simple.words).or_else(|| self.repeated(&simple));
            let inner = Frame {
                assignments: frame.assignments.iter().cloned().chain(simple.assignments).collect(),
                redirects: simple.redirects,
                wrappers: frame.wrappers.clone(),
                layers: frame.layers + 1,
                piped: frame.piped || simple.piped,
                background: frame.background || simple.background,
                fed: if simple.piped { fed.take() } else { None },
                appended: frame.appended,
                substituted: frame.substituted || simple.substituted,
                stood_for: frame.stood_for,
                guessed: frame.guessed,
            };
            fed = says;
            if inner.assignments.len() > MAX_ASSIGNMENTS {
                return self.give_up("it has too many assignments");
            }
            self.words(simple.words, inner);
        }
        self.heredocs = heredocs;
        if !understood && !frame.guessed {
            self.guesses(text, frame);
        }
    }

    /// What a `cat` of a heredoc sends.
    fn repeated(&self, simple: &Simple) -> Option<String> {
        let alone = simple.words.len() == 1 && simple.words[0].text == "cat";
        let heredoc = simple.redirects.iter().find_map(|redirect| redirect.heredoc).filter(|_| alone)?;
        self.heredocs.get(heredoc).filter(|heredoc| !heredoc.dynamic).map(|heredoc| heredoc.text.clone())
    }

    /// What was not understood is cut up at every sign, so that no denial is missed.
    fn guesses(&mut self, text: &str, frame: &Frame) {
        for words in guess::commands(text) {
            if self.analysis.commands.len() > 2 * shell::MAX_COMMANDS {
                return;
            }
            let layers = frame.layers.min(MAX_LAYERS - 4) + 1;
            self.words(words, Frame { guessed: true, layers, ..Frame::default() });
        }
    }

    fn note_aliases(&mut self, simple: &Simple) {
        if simple.words.first().is_none_or(|word| word.text != "alias") {
            return;
        }
        for (name, value) in simple.words[1..].iter().filter_map(|word| word.text.split_once('=')) {
            self.functions.push(name.to_owned());
            self.aliases.push((name.to_owned(), value.to_owned()));
        }
    }

    pub fn words(&mut self, words: Vec<Word>, frame: Frame) {
        if frame.layers > MAX_LAYERS || self.analysis.commands.len() > 2 * shell::MAX_COMMANDS {
            return self.give_up("it is wrapped too deeply, or runs too many commands");
        }
        let Some(first) = words.first() else { return self.without_program(frame) };
        let written = first.text.rsplit('/').next().unwrap_or_default().to_owned();
        if !first.is_literal() || written.is_empty() {
            let mut command = self.command(words, &frame);
            command.traits.unknown_program = true;
            return self.push(command);
        }
        if self.functions.contains(&written) {
            return self.call(&written, words, &frame);
        }
        // Some file systems take capitals for the same, so `SUDO` is no other program than `sudo`.
        let name = fold(&written).into_owned();
        if matches!(name.as_str(), "export" | "declare" | "readonly" | "local" | "typeset") {
            self.steered |= words[1..].iter().any(|word| {
                word.dynamic
                    || programs::steers_programs(word.text.split(['=', '+']).next().unwrap_or_default())
            });
        }
        if let Some(wrapper) = programs::wrapper(&name) {
            return self.wrapped(&name, &wrapper, words, frame);
        }
        if programs::is_shell(&name) {
            return self.shell(&name, words, frame);
        }
        let mut command = self.identified(&written, words, &frame);
        self.inner_commands(&name, &command, &frame);
        self.program_from_input(&name, &mut command, &frame);
        if matches!(name.as_str(), "cd" | "pushd") {
            self.change_folder(command.args());
        }
        self.push(command);
    }

    /// A function or alias of the script. What an alias stands for is known; the words after it belong to it.
    fn call(&mut self, name: &str, words: Vec<Word>, frame: &Frame) {
        let mut command = self.command(words, frame);
        command.program = Some(name.to_owned());
        command.traits.calls_function = true;
        let known = self.aliases.iter().find(|(alias, _)| alias == name);
        let meant = known.filter(|_| !frame.wrappers.iter().any(|outer| outer == name)).map(|(_, value)| {
            let mut text = value.clone();
            for word in command.args() {
                text.push(' ');
                word.show(&mut text);
            }
            text
        });
        self.push(command);
        if let Some(text) = meant {
            self.script(&text, &Frame { appended: true, ..frame.inside(name).without_redirects() });
        }
    }

    fn change_folder(&mut self, args: &[Word]) {
        let operand = args.iter().find(|word| !word.text.starts_with('-'));
        self.folder = operand.filter(|word| word.is_literal()).and_then(|word| {
            let joined = match &self.folder {
                Some(before) if !word.text.starts_with(['/', '~']) => format!("{before}/{}", word.text),
                _ => word.text.clone(),
            };
            Some(joined).filter(|folder| folder.len() <= MAX_FOLDER)
        });
    }

    fn without_program(&mut self, frame: Frame) {
        self.steered |=
            frame.assignments.iter().any(|assignment| programs::steers_programs(&assignment.name));
        // A value that may be a path, or that bash may run as part of a subscript, has to be seen.
        let telling = |given: &Assignment| {
            let text = given.value.text.as_str();
            text.contains(['/', '.', '~', '`']) || text.contains("$(") || crate::mention::is_special(text)
        };
        if !frame.redirects.is_empty() || frame.assignments.iter().any(telling) {
            let command = self.command(Vec::new(), &frame);
            self.push(command);
        }
    }

    /// A command whose program is known by the name that was written.
    pub fn identified(&self, written: &str, words: Vec<Word>, frame: &Frame) -> Command {
        let mut command = self.command(words, frame);
        let name = fold(written);
        command.traits.privileged = programs::takes_rights(&name);
        command.program = Some(written.to_owned());
        command.identity = Some(written.to_owned());
        if let Some(valued) = programs::subcommand_options(&name) {
            let mut at = 1;
            while let Some(word) = command.words.get(at) {
                let option = word.text.starts_with('-') || (word.text.starts_with('+') && name == "cargo");
                if !option || word.dynamic {
                    break;
                }
                at += if valued.contains(&word.text.as_str()) { 2 } else { 1 };
            }
            if let Some(word) = command.words.get(at) {
                if word.is_literal() {
                    command.identity = Some(format!("{written} {}", word.text));
                    command.subcommand = Some(at);
                } else {
                    command.traits.unknown_program = true;
                }
            }
        }
        command
    }

    pub fn command(&self, words: Vec<Word>, frame: &Frame) -> Command {
        let mut command = Command {
            assignments: frame.assignments.clone(),
            words,
            redirects: frame.redirects.clone(),
            wrappers: frame.wrappers.clone(),
            folder: self.folder.clone(),
            ..Command::default()
        };
        let assigned = frame.assignments.iter();
        command.traits = Traits {
            dynamic: frame.appended
                || command.words.iter().any(|word| word.dynamic)
                || command.assignments.iter().any(|assignment| assignment.value.dynamic)
                || command.redirects.iter().any(|redirect| redirect.target.dynamic),
            steered: self.steered || assigned.into_iter().any(|given| programs::steers_programs(&given.name)),
            piped: frame.piped,
            background: frame.background,
            substituted: frame.substituted,
            stood_for: frame.stood_for,
            guessed: frame.guessed,
            ..Traits::default()
        };
        command.text = shown(&command, frame.appended);
        command
    }

    pub fn push(&mut self, command: Command) {
        self.analysis.commands.push(command);
    }
}

/// What `echo` and `printf` send, when it is known.
fn spoken(words: &[Word]) -> Option<String> {
    let (program, args) = words.split_first()?;
    let speaks = matches!(program.text.as_str(), "echo" | "printf") && args.iter().all(|word| !word.dynamic);
    let said = args
        .iter()
        .filter(|word| !matches!(word.text.as_str(), "-n" | "-e" | "-ne" | "-en" | "%s" | "%s\\n"));
    speaks.then(|| said.map(|word| word.text.replace("\\n", "\n")).collect::<Vec<_>>().join(" "))
}
