//! Shells and interpreters that run what they read.

use crate::analyse::{Analyst, Frame};
use crate::command::Command;
use crate::programs;
use crate::shell::{self, Redirect, RedirectKind, Word};

/// The input under another name.
fn is_input(word: &Word) -> bool {
    matches!(word.text.as_str(), "-" | "/dev/stdin" | "/dev/fd/0" | "/proc/self/fd/0")
}

/// Something is fed that nobody can read beforehand.
fn fed_unseen(command: &Command, analyst: &Analyst) -> bool {
    command.redirects.iter().any(|redirect| match redirect.kind {
        RedirectKind::Read | RedirectKind::HereString => redirect.target.dynamic,
        RedirectKind::Heredoc => {
            redirect.heredoc.and_then(|at| analyst.heredocs.get(at)).is_none_or(|heredoc| heredoc.dynamic)
        }
        RedirectKind::Write => false,
    })
}

fn is_text(redirect: &Redirect) -> bool {
    matches!(redirect.kind, RedirectKind::Heredoc | RedirectKind::HereString)
}

impl Analyst {
    /// Whether a program that is no shell takes what it runs from its input, or from words that are not known.
    pub fn program_from_input(&self, name: &str, command: &mut Command, frame: &Frame) {
        if let Some(options) = programs::inline_options(name) {
            return self.interpreter(name, options, command, frame);
        }
        let unseen = frame.piped || fed_unseen(command, self);
        let args = command.args();
        let runs = match name {
            "source" | "." => args.first().is_some_and(|word| word.dynamic || (unseen && is_input(word))),
            "awk" | "gawk" | "mawk" | "nawk" | "sed" | "make" | "gmake" => unseen && script_is_input(args),
            "at" | "batch" => !command.has(&["-l", "-r", "-d", "-V"]),
            "crontab" => !command.has(&["-l"]),
            "docker" | "podman" | "nerdctl" | "kubectl" | "oc" | "lxc" | "adb" | "vagrant" | "wsl" => {
                let runs_program = |word: &Word| {
                    let name = word.text.rsplit('/').next().unwrap_or_default();
                    programs::is_shell(name) || programs::inline_options(name).is_some()
                };
                unseen
                    && (args.iter().any(runs_program) || args.last().is_some_and(|word| word.text == "shell"))
            }
            "nc" | "ncat" | "netcat" => command.has(&["-e", "-c", "--exec", "--sh-exec", "--lua-exec"]),
            "socat" => args.iter().any(|word| {
                let text = word.text.to_ascii_uppercase();
                text.starts_with("EXEC:") || text.starts_with("SYSTEM:") || text.starts_with("SHELL:")
            }),
            _ => false,
        };
        command.traits.runs_input |= runs;
    }

    fn interpreter(&self, name: &str, options: &[&str], command: &mut Command, frame: &Frame) {
        let fed = command.redirects.iter().any(is_text);
        command.fed_code = self.fed_texts(command);
        let code = code_words(options, command.args());
        let by_option =
            command.has(options) || (name == "deno" && command.identity.as_deref() == Some("deno eval"));
        let unseen_code = code.iter().any(|word| word.dynamic);
        let code_is_input = code.first().is_some_and(|word| word.text == "-");
        let script = script_word(name, command.args()).cloned();
        let unseen = frame.piped || fed_unseen(command, self);
        let informs = command.args().iter().any(|word| runs_nothing_read(&word.text));
        let reads_input = code_is_input || (!by_option && script.as_ref().is_none_or(is_input));
        let traits = &mut command.traits;
        traits.inline_code = by_option || fed;
        // The text of a heredoc is no part of the command's own, so no rule can have named it.
        traits.dynamic |= fed;
        traits.runs_input |= unseen && reads_input && !informs;
        traits.unknown_program |=
            unseen_code || (!by_option && script.is_some_and(|word| word.text.starts_with(shell::UNKNOWN)));
    }

    fn fed_texts(&self, command: &Command) -> Vec<Word> {
        let text = |redirect: &Redirect| match redirect.kind {
            RedirectKind::Heredoc => {
                redirect.heredoc.and_then(|at| self.heredocs.get(at)).map(|given| Word::literal(&given.text))
            }
            RedirectKind::HereString => Some(redirect.target.clone()),
            RedirectKind::Read | RedirectKind::Write => None,
        };
        command.redirects.iter().filter_map(text).collect()
    }

    pub fn shell(&mut self, name: &str, words: Vec<Word>, frame: Frame) {
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
            Some(script) if !is_input(&script) && !command.has(&["-s"]) => self.push(command),
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
            self.script(&code, &Frame { fed: None, piped: false, ..inner.without_redirects() });
        }
    }
}

/// A module is run, also behind letters that take no value, or only words are printed.
fn runs_nothing_read(text: &str) -> bool {
    let letters = text.strip_prefix('-').and_then(|rest| rest.strip_suffix('m'));
    letters.is_some_and(|letters| letters.bytes().all(|byte| b"bBdEiIOPqRsSuvx".contains(&byte)))
        || matches!(text, "--version" | "-V" | "-h" | "--help")
}

/// `-f -`, `-f-`, `--file=-`.
fn script_is_input(args: &[Word]) -> bool {
    args.iter().enumerate().any(|(at, word)| match word.text.as_str() {
        "-f" | "--file" | "--makefile" => args.get(at + 1).is_some_and(is_input),
        text => {
            let value = ["--file=", "--makefile=", "-f"].iter().find_map(|option| text.strip_prefix(option));
            value.is_some_and(|value| is_input(&Word::literal(value)))
        }
    })
}

/// The words that an interpreter takes as code.
fn code_words<'w>(options: &[&str], args: &'w [Word]) -> Vec<&'w Word> {
    args.iter()
        .enumerate()
        .filter_map(|(at, word)| {
            let whole = options.contains(&word.text.as_str());
            let attached = options.iter().any(|option| {
                word.text.starts_with(option)
                    && (!option.starts_with("--") || word.text[option.len()..].starts_with('='))
            });
            if whole { args.get(at + 1) } else { Some(word).filter(|_| attached) }
        })
        .collect()
}

/// The file that an interpreter runs.
fn script_word<'w>(name: &str, args: &'w [Word]) -> Option<&'w Word> {
    let valued = programs::valued_options(name);
    let mut at = 0;
    while let Some(word) = args.get(at) {
        let verb = matches!(name, "deno" | "bun") && at == 0 && matches!(word.text.as_str(), "run" | "eval");
        if word.text == "--" {
            return args.get(at + 1);
        }
        if !verb && (word.text == "-" || !word.text.starts_with('-')) {
            return Some(word);
        }
        at += if valued.contains(&word.text.as_str()) { 2 } else { 1 };
    }
    None
}
