//! Commands among the arguments of programs that are no wrappers.

use crate::analyse::{Analyst, Frame, MAX_LAYERS};
use crate::command::{Command, Traits};
use crate::shell::{self, Word};

impl Analyst {
    pub fn inner_commands(&mut self, name: &str, command: &Command, frame: &Frame) {
        let args = command.args();
        match name {
            "find" => self.found_by_find(args, &frame.inside(name)),
            "fd" | "fdfind" => {
                let exec =
                    |word: &Word| matches!(word.text.as_str(), "-x" | "-X" | "--exec" | "--exec-batch");
                if let Some(at) = args.iter().position(exec) {
                    let frame = Frame { appended: true, ..frame.inside(name).without_redirects() };
                    self.words(args[at + 1..].to_vec(), frame);
                }
            }
            "alias" => {
                for (_, value) in args.iter().filter_map(|word| word.text.split_once('=')) {
                    let word = Word::literal(value);
                    self.code(Some(&word), &Frame { appended: true, ..frame.inside(name) });
                }
            }
            "trap" => {
                let code = args.iter().find(|word| word.text != "--");
                let code = code.filter(|word| !matches!(word.text.as_str(), "-" | "" | "-l" | "-p"));
                if code.is_some() {
                    self.code(code, &frame.inside(name));
                }
            }
            "git" => self.run_by_git(command, &frame.inside(name)),
            _ => {
                self.code_after_option(name, args, &frame.inside(name));
                self.run_by_verb(name, args, &frame.inside(name));
            }
        }
    }

    /// `uv run …`, `bundle exec …`: with options between, any of the words after may be the program.
    fn run_by_verb(&mut self, name: &str, args: &[Word], frame: &Frame) {
        let verb = match name {
            "uv" | "poetry" | "pipenv" | "pdm" | "hatch" | "rye" | "conda" | "mamba" => "run",
            "bundle" | "npm" | "pnpm" | "yarn" | "mise" | "asdf" | "direnv" | "rbenv" | "pyenv" => "exec",
            _ => return,
        };
        let Some(at) = args.iter().position(|word| word.text == verb).filter(|at| *at < 4) else { return };
        let rest = &args[at + 1..];
        match rest.iter().position(|word| !word.text.starts_with('-')) {
            Some(0) => self.words(rest.to_vec(), Frame { stood_for: true, ..frame.without_redirects() }),
            Some(_) => self.any_tail(rest, frame),
            None => {}
        }
    }

    /// Where the inner command begins is not certain: every word may be its program, and only denials count. What is
    /// found so is not looked at in this way again.
    pub fn any_tail(&mut self, words: &[Word], frame: &Frame) {
        const MAX_TAILS: usize = 16;
        const MAX_WORDS: usize = 512;
        if frame.guessed {
            return;
        }
        let starts = (0..words.len()).filter(|at| !words[*at].text.starts_with('-')).take(MAX_TAILS);
        for at in starts {
            let tail = words[at..].iter().take(MAX_WORDS).cloned().collect();
            let layers = frame.layers.max(MAX_LAYERS - 4) + 1;
            self.words(tail, Frame { guessed: true, layers, ..Frame::default() });
        }
    }

    fn found_by_find(&mut self, args: &[Word], frame: &Frame) {
        let mut rest = args;
        while let Some(at) =
            rest.iter().position(|word| matches!(word.text.as_str(), "-exec" | "-execdir" | "-ok" | "-okdir"))
        {
            rest = &rest[at + 1..];
            let end = rest.iter().position(|word| matches!(word.text.as_str(), ";" | "+"));
            let inner = rest[..end.unwrap_or(rest.len())].to_vec();
            rest = &rest[end.unwrap_or(rest.len())..];
            self.words(filled_in(inner, "{}"), Frame { appended: true, ..frame.without_redirects() });
        }
    }

    fn run_by_git(&mut self, command: &Command, frame: &Frame) {
        let rest = command.after_subcommand();
        let first = rest.first().map(|word| word.text.as_str());
        match (command.identity.as_deref(), first) {
            (Some("git submodule"), _) => {
                if let Some(at) = rest.iter().position(|word| word.text == "foreach") {
                    let inner = rest[at + 1..].iter().filter(|word| !word.text.starts_with("--"));
                    let text = inner.map(|word| word.text.as_str()).collect::<Vec<_>>().join(" ");
                    self.code(Some(&Word::literal(&text)), frame);
                }
            }
            (Some("git bisect"), Some("run")) => {
                self.words(rest[1..].to_vec(), Frame { appended: true, ..frame.without_redirects() });
            }
            (Some("git rebase"), _) => self.code_after_option("git rebase", rest, frame),
            (Some("git filter-branch"), _) => self.code_after_option("git filter-branch", rest, frame),
            _ => {}
        }
    }

    /// `script -c code`, `nix-shell --run code`.
    fn code_after_option(&mut self, name: &str, args: &[Word], frame: &Frame) {
        let options: &[&str] = match name {
            "su" | "runuser" | "script" => &["-c", "--command"],
            "nix-shell" => &["--run", "--command"],
            "npx" | "npm" => &["-c", "--call"],
            "git rebase" => &["-x", "--exec"],
            "git filter-branch" => &["--tree-filter", "--index-filter", "--msg-filter", "--env-filter"],
            "cargo" => &["-s", "--shell"],
            _ => return,
        };
        for (at, word) in args.iter().enumerate() {
            let text = word.text.as_str();
            let attached = options.iter().find_map(|option| text.strip_prefix(option)?.strip_prefix('='));
            // `script -qc code`: the letter that takes code is the last of several.
            let clustered = text.starts_with('-')
                && !text.starts_with("--")
                && text.len() > 2
                && text.chars().skip(1).all(|c| c.is_ascii_alphabetic())
                && options.iter().any(|option| option.len() == 2 && text.ends_with(&option[1..]));
            if let Some(code) = attached {
                self.code(Some(&Word { text: code.to_owned(), ..word.clone() }), frame);
            } else if options.contains(&text) || clustered {
                self.code(args.get(at + 1), frame);
            }
        }
    }

    /// A word that is run as a script; what it is when it is not known is for the outer command to say.
    pub fn code(&mut self, word: Option<&Word>, frame: &Frame) {
        match word {
            Some(word) if !word.dynamic => self.script(&word.text, &frame.without_redirects()),
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
    pub fn known_part(&mut self, word: Option<&Word>, frame: &Frame) {
        let known = word.filter(|word| word.text.chars().any(|c| c != shell::UNKNOWN));
        if let Some(word) = known {
            self.script(&word.text, &Frame { appended: true, ..frame.without_redirects() });
        }
    }
}

/// Words in which something else will stand when they run.
pub fn filled_in(mut words: Vec<Word>, place: &str) -> Vec<Word> {
    for word in words.iter_mut().filter(|word| word.text.contains(place)) {
        word.dynamic = true;
    }
    words
}
