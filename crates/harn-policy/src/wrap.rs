//! Programs that run another program: where the inner command begins, and what is known of it.

use crate::analyse::{Analyst, Frame};
use crate::inner::filled_in;
use crate::programs::{Runs, Wrapper};
use crate::shell::{Assignment, RedirectKind, Word};

impl Analyst {
    pub fn wrapped(&mut self, name: &str, wrapper: &Wrapper, words: Vec<Word>, frame: Frame) {
        let written = words[0].text.rsplit('/').next().unwrap_or_default().to_owned();
        let mut inner_frame = frame.inside(name);
        if name == "env" && words[1..].iter().any(splits) {
            return self.split_by_env(words, &frame);
        }
        let looks_up =
            name == "command" && matches!(words.get(1).map(|word| word.text.as_str()), Some("-v" | "-V"));
        let (inner, certain) = inner_words(wrapper, &words[1..], &mut inner_frame.assignments);
        let inner = inner.to_vec();
        if looks_up || inner.is_empty() {
            // `exec > file`, a bare `env`, `sudo -l`.
            let mut command = self.identified(&written, words, &frame);
            command.traits.unknown_program |= !certain;
            command.traits.runs_input |= name == "parallel" && frame.piped;
            return self.push(command);
        }
        if wrapper.runs == Runs::Through && certain && written == name {
            return self.words(inner, inner_frame);
        }
        let replaced = replacement(name, &words);
        let mut outer = self.identified(&written, words, &frame);
        let known = inner.iter().all(|word| !word.dynamic);
        let open_list = name == "parallel" && inner[0].text.starts_with(":::");
        outer.traits.unknown_program |=
            !certain || open_list || (wrapper.runs == Runs::Joined && !known && name != "ssh");
        let rest = outer.args().to_vec();
        self.push(outer);
        if !certain {
            self.any_tail(&rest, &frame);
        }
        inner_frame.redirects = Vec::new();
        match wrapper.runs {
            Runs::Joined => {
                inner_frame.appended |= !known;
                self.script(&joined(&inner), &inner_frame);
            }
            Runs::Appended => {
                inner_frame.appended = true;
                let mut inner = filled_in(inner, &replaced);
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
            match text {
                Some(text) => text.to_owned(),
                None if splits(word) => String::new(),
                None => word.text.clone(),
            }
        };
        let text = words[1..].iter().map(bare).collect::<Vec<_>>().join(" ");
        let mut command = self.identified("env", words, frame);
        command.traits.unknown_program = true;
        self.push(command);
        self.script(&text, &Frame { appended: true, ..frame.inside("env").without_redirects() });
    }
}

fn splits(word: &Word) -> bool {
    let text = word.text.as_str();
    let shortened = text.len() > 3 && "--split-string".starts_with(text);
    let clustered = text.starts_with('-') && !text.starts_with("--") && text[1..].contains('S');
    text.starts_with("--split-string") || shortened || clustered
}

/// What `xargs -I` puts its input in place of.
fn replacement(name: &str, words: &[Word]) -> String {
    let given = words.iter().enumerate().find_map(|(at, word)| match word.text.as_str() {
        "-I" => words.get(at + 1).map(|word| word.text.clone()),
        text => text.strip_prefix("-I").or(text.strip_prefix("--replace=")).map(str::to_owned),
    });
    given.filter(|text| name == "xargs" && !text.is_empty()).unwrap_or_else(|| "{}".to_owned())
}

/// How one option of a wrapper is taken.
enum Taken {
    Alone,
    WithNext,
    Unknown,
}

fn option(wrapper: &Wrapper, text: &str) -> Taken {
    let valued = |option: &str| wrapper.valued.contains(&option);
    if valued(text) {
        return Taken::WithNext;
    }
    if text.starts_with("--") {
        let (name, value) = text.split_once('=').map_or((text, None), |(name, value)| (name, Some(value)));
        let known = wrapper.flags.split(' ').any(|flag| flag == name) || (value.is_some() && valued(name));
        return if known { Taken::Alone } else { Taken::Unknown };
    }
    let letters = wrapper.flags.split(' ').next().unwrap_or_default();
    for (at, letter) in text.char_indices().skip(1) {
        if letters.contains(letter) {
            continue;
        }
        let last = at + letter.len_utf8() == text.len();
        return match (valued(&format!("-{letter}")), last) {
            (true, true) => Taken::WithNext,
            (true, false) => Taken::Alone,
            (false, _) => Taken::Unknown,
        };
    }
    Taken::Alone
}

/// The inner command of a wrapper, and whether it is certain where it begins.
fn inner_words<'w>(
    wrapper: &Wrapper,
    args: &'w [Word],
    assignments: &mut Vec<Assignment>,
) -> (&'w [Word], bool) {
    let mut at = 0;
    let mut operands = wrapper.operands;
    let mut options = true;
    let mut certain = true;
    while let Some(word) = args.get(at) {
        if word.dynamic && (operands == 0 || !options) {
            return (&args[at..], certain && (at == 0 || wrapper.runs != Runs::Through));
        }
        let assigned = word.text.split_once('=').filter(|_| wrapper.assigns);
        if options && word.text == "--" {
            options = false;
        } else if options && word.text.starts_with('-') && word.text.len() > 1 {
            match option(wrapper, &word.text) {
                Taken::Alone => {}
                Taken::WithNext => at += 1,
                Taken::Unknown => certain = false,
            }
        } else if let Some((name, value)) = assigned {
            let value = Word { text: value.to_owned(), ..word.clone() };
            assignments.push(Assignment { name: name.to_owned(), value });
        } else if operands > 0 {
            operands -= 1;
        } else {
            return (&args[at..], certain);
        }
        at += 1;
    }
    (&[], certain)
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
