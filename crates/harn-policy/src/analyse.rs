//! The simple commands that a shell script runs, looked through wrappers and nested shells.

use crate::command::{Command, Traits, shown};
use crate::programs::{self, Runs};
use crate::shell::{self, Assignment, Heredoc, Redirect, RedirectKind, Unparsed, Word};

/// Wrappers within wrappers, and scripts within scripts, are followed this far.
const MAX_LAYERS: u32 = 12;
const MAX_ASSIGNMENTS: usize = 64;

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
struct Frame {
    assignments: Vec<Assignment>,
    redirects: Vec<Redirect>,
    wrappers: Vec<String>,
    layers: u32,
    piped: bool,
    background: bool,
    /// Text that an `echo` before it in the pipeline is known to send.
    fed: Option<String>,
    /// Further words follow that nobody knows.
    appended: bool,
}

impl Frame {
    fn inside(&self, wrapper: &str) -> Self {
        let mut inner = self.clone();
        inner.wrappers.push(wrapper.to_owned());
        inner.layers += 1;
        inner.background |= matches!(wrapper, "nohup" | "setsid");
        inner
    }
}

#[derive(Default)]
struct Analyst {
    analysis: Analysis,
    functions: Vec<String>,
    heredocs: Vec<Heredoc>,
    steered: bool,
}

impl Analyst {
    fn give_up(&mut self, why: &'static str) {
        self.analysis.unparsed.get_or_insert(Unparsed { at: 0, why });
    }

    fn script(&mut self, text: &str, frame: &Frame) {
        if frame.layers > MAX_LAYERS {
            return self.give_up("it is wrapped too deeply");
        }
        let script = shell::parse(text);
        if let Some(unparsed) = script.unparsed {
            self.analysis.unparsed.get_or_insert(unparsed);
        }
        let heredocs = std::mem::replace(&mut self.heredocs, script.heredocs);
        self.functions.extend(script.functions.iter().cloned());
        for simple in &script.commands {
            let program = simple.words.first().map(|word| word.text.as_str());
            if program.is_some_and(|name| name == "alias") {
                let named = simple.words[1..].iter().filter_map(|word| word.text.split_once('='));
                self.functions.extend(named.map(|(name, _)| name.to_owned()));
            }
            let calls_itself = simple.within.is_some_and(|at| program == Some(&script.functions[at]));
            self.analysis.fork_bomb |= calls_itself && (simple.piped || simple.background);
        }
        let mut fed = None;
        for simple in script.commands {
            if self.analysis.commands.len() > shell::MAX_COMMANDS {
                return self.give_up("it has too many commands");
            }
            let says = spoken(&simple.words);
            let inner = Frame {
                assignments: frame.assignments.iter().cloned().chain(simple.assignments).collect(),
                redirects: simple.redirects,
                wrappers: frame.wrappers.clone(),
                layers: frame.layers + 1,
                piped: frame.piped || simple.piped,
                background: frame.background || simple.background,
                fed: if simple.piped { fed.take() } else { None },
                appended: frame.appended,
            };
            fed = says;
            if inner.assignments.len() > MAX_ASSIGNMENTS {
                return self.give_up("it has too many assignments");
            }
            self.words(simple.words, inner);
        }
        self.heredocs = heredocs;
    }

    fn words(&mut self, words: Vec<Word>, mut frame: Frame) {
        if frame.layers > MAX_LAYERS || self.analysis.commands.len() > shell::MAX_COMMANDS {
            return self.give_up("it is wrapped too deeply, or runs too many commands");
        }
        let Some(first) = words.first() else { return self.without_program(frame) };
        let name = first.text.rsplit('/').next().unwrap_or_default().to_owned();
        if !first.is_literal() || name.is_empty() {
            let mut command = self.command(words, &frame);
            command.traits.unknown_program = true;
            return self.push(command);
        }
        if self.functions.contains(&name) {
            let mut command = self.command(words, &frame);
            command.program = Some(name);
            command.traits.calls_function = true;
            return self.push(command);
        }
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
        let mut command = self.identified(&name, words, &frame);
        self.inner_commands(&name, &command, &mut frame);
        let inline = programs::inline_options(&name);
        if let Some(options) = inline {
            let given = |redirect: &Redirect| {
                matches!(redirect.kind, RedirectKind::Heredoc | RedirectKind::HereString)
            };
            let fed = command.redirects.iter().any(given);
            command.traits.inline_code =
                command.has(options) || fed || (name == "deno" && command.subcommand.is_some());
            // The text of a heredoc is no part of the command's own, so no rule can have named it.
            command.traits.dynamic |= fed;
            let script = command.operands().next().cloned();
            let reads_input =
                script.as_ref().is_none_or(|word| word.text == "-") && !command.traits.inline_code;
            command.traits.runs_input =
                frame.piped && reads_input && !command.has(&["-m", "--version", "-V", "-h"]);
            command.traits.unknown_program |= script
                .is_some_and(|word| word.text.starts_with(shell::UNKNOWN))
                && !command.traits.inline_code;
        }
        if matches!(name.as_str(), "source" | ".") {
            command.traits.runs_input |= command.args().first().is_some_and(|word| word.dynamic);
        }
        self.push(command);
    }

    /// Commands among the arguments of a program that is no wrapper.
    fn inner_commands(&mut self, name: &str, command: &Command, frame: &mut Frame) {
        let args = command.args();
        match name {
            "find" => {
                let mut rest = args;
                while let Some(at) = rest
                    .iter()
                    .position(|word| matches!(word.text.as_str(), "-exec" | "-execdir" | "-ok" | "-okdir"))
                {
                    rest = &rest[at + 1..];
                    let end = rest.iter().position(|word| matches!(word.text.as_str(), ";" | "+"));
                    let inner = rest[..end.unwrap_or(rest.len())].to_vec();
                    rest = &rest[end.unwrap_or(rest.len())..];
                    self.words(inner, Frame { appended: true, redirects: Vec::new(), ..frame.inside(name) });
                }
            }
            "fd" | "fdfind" => {
                let exec =
                    |word: &Word| matches!(word.text.as_str(), "-x" | "-X" | "--exec" | "--exec-batch");
                if let Some(at) = args.iter().position(exec) {
                    let frame = Frame { appended: true, redirects: Vec::new(), ..frame.inside(name) };
                    self.words(args[at + 1..].to_vec(), frame);
                }
            }
            "su" | "runuser" | "script" => {
                if let Some(at) =
                    args.iter().position(|word| matches!(word.text.as_str(), "-c" | "--command"))
                {
                    self.code(args.get(at + 1), &frame.inside(name));
                }
            }
            "trap" => {
                let code = args.first().filter(|word| !matches!(word.text.as_str(), "-" | "" | "-l" | "-p"));
                if code.is_some() {
                    self.code(code, &frame.inside(name));
                }
            }
            _ => {}
        }
    }

    /// A word that is run as a script; what it is when it is not known is for the outer command to say.
    fn code(&mut self, word: Option<&Word>, frame: &Frame) {
        match word {
            Some(word) if !word.dynamic => {
                self.script(&word.text, &Frame { redirects: Vec::new(), ..frame.clone() })
            }
            _ => {
                let mut command = self.command(Vec::new(), frame);
                command.text = shell::UNKNOWN.to_string();
                command.traits = Traits { unknown_program: true, dynamic: true, ..command.traits };
                self.push(command);
                self.known_part(word, frame);
            }
        }
    }

    /// Code of which only a part is known: what is known may be enough to deny it.
    fn known_part(&mut self, word: Option<&Word>, frame: &Frame) {
        let known = word.filter(|word| word.text.chars().any(|c| c != shell::UNKNOWN));
        if let Some(word) = known {
            self.script(&word.text, &Frame { redirects: Vec::new(), appended: true, ..frame.clone() });
        }
    }

    fn without_program(&mut self, frame: Frame) {
        self.steered |=
            frame.assignments.iter().any(|assignment| programs::steers_programs(&assignment.name));
        if !frame.redirects.is_empty() {
            let command = self.command(Vec::new(), &frame);
            self.push(command);
        }
    }

    fn wrapped(&mut self, name: &str, wrapper: &programs::Wrapper, words: Vec<Word>, frame: Frame) {
        let mut inner_frame = frame.inside(name);
        let splits = |word: &Word| word.text.starts_with("-S") || word.text.starts_with("--split-string");
        if name == "env" && words.iter().any(splits) {
            return self.split_by_env(words, &frame);
        }
        let looks_up =
            name == "command" && matches!(words.get(1).map(|word| word.text.as_str()), Some("-v" | "-V"));
        let (inner, certain) = inner_words(wrapper, &words[1..], &mut inner_frame.assignments);
        if looks_up || inner.is_empty() || !certain {
            // `exec > file`, a bare `env`, `sudo -l`.
            let mut command = self.identified(name, words, &frame);
            command.traits.unknown_program |= !certain;
            return self.push(command);
        }
        let mut inner = inner.to_vec();
        if wrapper.runs == Runs::Through {
            return self.words(inner, inner_frame);
        }
        let mut outer = self.identified(name, words, &frame);
        let known = inner.iter().all(|word| !word.dynamic);
        outer.traits.unknown_program |= wrapper.runs == Runs::Joined && !known && name != "ssh";
        self.push(outer);
        inner_frame.redirects = Vec::new();
        match wrapper.runs {
            Runs::Joined => {
                inner_frame.appended |= !known;
                self.script(&joined(&inner), &inner_frame);
            }
            Runs::Appended => {
                inner_frame.appended = true;
                inner.extend(appended_words(&frame));
                self.words(inner, inner_frame);
            }
            Runs::Both | Runs::Through => self.words(inner, inner_frame),
        }
    }

    /// `env -S` cuts a text into words in its own way: it is asked about, and read as a shell would for denials.
    fn split_by_env(&mut self, words: Vec<Word>, frame: &Frame) {
        let bare = |word: &Word| {
            let text = word.text.strip_prefix("--split-string=").or(word.text.strip_prefix("-S"));
            text.unwrap_or(&word.text).to_owned()
        };
        let text = words[1..].iter().map(bare).collect::<Vec<_>>().join(" ");
        let mut command = self.identified("env", words, frame);
        command.traits.unknown_program = true;
        self.push(command);
        self.script(&text, &Frame { redirects: Vec::new(), appended: true, ..frame.inside("env") });
    }

    fn shell(&mut self, name: &str, words: Vec<Word>, frame: Frame) {
        let mut at = 1;
        let mut takes_code = false;
        while let Some(word) =
            words.get(at).filter(|word| word.text.starts_with(['-', '+']) && word.text.len() > 1)
        {
            at += 1;
            let cluster = !word.text.starts_with("--");
            takes_code |= word.text == "--command" || (cluster && word.text[1..].contains('c'));
            let valued = matches!(word.text.as_str(), "--rcfile" | "--init-file")
                || (cluster && word.text.ends_with(['o', 'O']));
            at += usize::from(valued);
        }
        let inner = frame.inside(name);
        let argument = words.get(at).cloned();
        let mut command = self.identified(name, words, &frame);
        match argument {
            Some(code) if takes_code && !code.dynamic => {
                // What it runs is all that it does; it stands for itself only with redirects.
                if !frame.redirects.is_empty() {
                    let redirects = self.command(Vec::new(), &frame);
                    self.push(redirects);
                }
                self.code(Some(&code), &inner);
            }
            Some(script) if takes_code || script.text.starts_with(shell::UNKNOWN) => {
                command.traits.unknown_program = true;
                command.traits.runs_input = true;
                self.push(command);
                if takes_code {
                    self.known_part(Some(&script), &inner);
                }
            }
            Some(script) if script.text != "-" && !command.has(&["-s"]) => self.push(command),
            _ if command.has(&["--version", "--help"]) => self.push(command),
            _ => self.shell_reading(command, &frame, &inner),
        }
    }

    /// A shell that runs its input: a heredoc, a here-string, a pipe.
    fn shell_reading(&mut self, mut command: Command, frame: &Frame, inner: &Frame) {
        let given = frame.redirects.iter().find_map(|redirect| match redirect.kind {
            RedirectKind::Heredoc => {
                let heredoc = self.heredocs.get(redirect.heredoc?)?;
                Some((!heredoc.dynamic).then(|| heredoc.text.clone()))
            }
            RedirectKind::HereString => {
                Some((!redirect.target.dynamic).then(|| redirect.target.text.clone()))
            }
            RedirectKind::Read | RedirectKind::Write => None,
        });
        command.traits.runs_input = !matches!(given, Some(Some(_)));
        command.traits.unknown_program |= matches!(given, Some(None));
        command.traits.inline_code = given.is_some();
        self.push(command);
        if let Some(code) = given.flatten().or_else(|| frame.fed.clone()) {
            self.script(&code, &Frame { redirects: Vec::new(), fed: None, piped: false, ..inner.clone() });
        }
    }

    fn identified(&self, name: &str, words: Vec<Word>, frame: &Frame) -> Command {
        let mut command = self.command(words, frame);
        command.traits.privileged = matches!(name, "sudo" | "doas" | "pkexec" | "su" | "runuser");
        command.program = Some(name.to_owned());
        command.identity = Some(name.to_owned());
        if let Some(valued) = programs::subcommand_options(name) {
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
                    command.identity = Some(format!("{name} {}", word.text));
                    command.subcommand = Some(at);
                } else {
                    command.traits.unknown_program = true;
                }
            }
        }
        command
    }

    fn command(&self, words: Vec<Word>, frame: &Frame) -> Command {
        let mut command = Command {
            assignments: frame.assignments.clone(),
            words,
            redirects: frame.redirects.clone(),
            wrappers: frame.wrappers.clone(),
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
            ..Traits::default()
        };
        command.text = shown(&command, frame.appended);
        command
    }

    fn push(&mut self, command: Command) {
        self.analysis.commands.push(command);
    }
}

/// The inner command of a wrapper, and whether it is certain where it begins.
fn inner_words<'w>(
    wrapper: &programs::Wrapper,
    args: &'w [Word],
    assignments: &mut Vec<Assignment>,
) -> (&'w [Word], bool) {
    let mut at = 0;
    let mut operands = wrapper.operands;
    let mut options = true;
    while let Some(word) = args.get(at) {
        if word.dynamic && (operands == 0 || !options) {
            return (&args[at..], at == 0 || wrapper.runs != Runs::Through);
        }
        let assigned = word.text.split_once('=').filter(|_| wrapper.assigns);
        if options && word.text == "--" {
            options = false;
        } else if options && word.text.starts_with('-') && word.text.len() > 1 {
            at += usize::from(wrapper.valued.contains(&word.text.as_str()));
        } else if let Some((name, value)) = assigned {
            let value = Word { text: value.to_owned(), ..word.clone() };
            assignments.push(Assignment { name: name.to_owned(), value });
        } else if operands > 0 {
            operands -= 1;
        } else {
            return (&args[at..], true);
        }
        at += 1;
    }
    (&[], true)
}

/// Words that are known to be appended to an inner command: what is fed to `xargs`.
fn appended_words(frame: &Frame) -> Vec<Word> {
    let given = frame.redirects.iter().find(|redirect| redirect.kind == RedirectKind::HereString);
    let text = given.map(|redirect| redirect.target.text.as_str()).or(frame.fed.as_deref());
    text.unwrap_or_default().split_whitespace().map(Word::literal).collect()
}

fn joined(words: &[Word]) -> String {
    words.iter().map(|word| word.text.as_str()).collect::<Vec<_>>().join(" ")
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
