//! Words after quote removal: what is known of them, how they are shown, and brace expansion.

/// What stands for a part that is only known when the command runs.
pub const UNKNOWN: char = '…';

/// More expansions of one word than this are not followed; the word then counts as unknown.
const MAX_BRACES: usize = 64;

/// Names of programs and their last words that need no quotes.
const BRACKETS: &[&str] = &["[", "]", "[[", "]]"];

/// One word of a command, quotes taken away.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Word {
    /// `…` stands for what is not known; `$HOME` and `~` stay as they are.
    pub text: String,
    /// Some of it is only known when it runs.
    pub dynamic: bool,
    /// Some of it is an unquoted pattern over file names.
    pub glob: bool,
    /// Some of it was quoted.
    pub quoted: bool,
}

impl Word {
    pub fn literal(text: &str) -> Self {
        Self { text: text.to_owned(), ..Self::default() }
    }

    /// All of it is known, and none of it is a pattern.
    pub fn is_literal(&self) -> bool {
        !self.dynamic && !self.glob
    }

    /// Appends the word as a shell would read it back, quoted only where it has to be.
    pub fn show(&self, out: &mut String) {
        let plain = |c: char| c.is_alphanumeric() || "-_./=:,+@%^~…".contains(c);
        if self.glob {
            for c in self.text.chars() {
                if c.is_whitespace() || "'\"\\;|&<>()$`#".contains(c) {
                    out.push('\\');
                }
                out.push(c);
            }
        } else if self.dynamic
            || BRACKETS.contains(&self.text.as_str())
            || (!self.text.is_empty() && self.text.chars().all(plain))
        {
            out.push_str(&self.text);
        } else {
            out.push('\'');
            out.push_str(&self.text.replace('\'', r"'\''"));
            out.push('\'');
        }
    }
}

/// A word being read, with the places of its unquoted braces and commas.
#[derive(Debug, Default)]
pub struct Draft {
    pub word: Word,
    marks: Vec<(usize, u8)>,
}

impl Draft {
    pub fn push(&mut self, c: char) {
        self.word.text.push(c);
    }

    pub fn push_unquoted(&mut self, c: char) {
        match c {
            '*' | '?' | '[' => self.word.glob = true,
            '{' | '}' | ',' => self.marks.push((self.word.text.len(), c as u8)),
            _ => {}
        }
        self.word.text.push(c);
    }

    pub fn unknown(&mut self) {
        self.word.dynamic = true;
        if !self.word.text.ends_with(UNKNOWN) {
            self.word.text.push(UNKNOWN);
        }
    }

    /// The words that it becomes: `a{b,c}` becomes two.
    pub fn finish(mut self) -> Vec<Word> {
        if self.word.glob && !self.word.text.contains(['*', '?', ']']) {
            // A bracket that is not closed is no pattern: the program `[`.
            self.word.glob = false;
        }
        if !self.marks.iter().any(|(_, mark)| *mark == b'{') {
            return vec![self.word];
        }
        let mut done = Vec::new();
        let mut open = vec![(self.word.text.clone(), std::mem::take(&mut self.marks))];
        while let Some((text, marks)) = open.pop() {
            if marks.len() > 2 * MAX_BRACES || done.len() + open.len() > MAX_BRACES {
                self.word.dynamic = true;
                return vec![self.word];
            }
            match alternatives(&text, &marks) {
                Braces::None => done.push(Word { text, ..self.word.clone() }),
                Braces::Sequence => done.push(Word { text, dynamic: true, ..self.word.clone() }),
                Braces::Several(several) => open.extend(several.into_iter().rev()),
            }
        }
        done
    }
}

type Marked = (String, Vec<(usize, u8)>);

enum Braces {
    None,
    /// `{1..9}`: not spelt out.
    Sequence,
    Several(Vec<Marked>),
}

fn alternatives(text: &str, marks: &[(usize, u8)]) -> Braces {
    for (index, (start, mark)) in marks.iter().enumerate() {
        if *mark != b'{' || text[..*start].ends_with('$') {
            continue;
        }
        let mut depth = 0_u32;
        let mut cuts = vec![*start];
        for (place, inner) in &marks[index..] {
            match inner {
                b'{' => depth += 1,
                b'}' => depth -= 1,
                _ if depth == 1 => cuts.push(*place),
                _ => {}
            }
            if depth == 0 {
                cuts.push(*place);
                break;
            }
        }
        if depth == 0 && cuts.len() > 2 {
            return Braces::Several(spell_out(text, marks, &cuts));
        }
        if depth == 0 && cuts.len() == 2 && text[cuts[0]..cuts[1]].contains("..") {
            return Braces::Sequence;
        }
    }
    Braces::None
}

fn spell_out(text: &str, marks: &[(usize, u8)], cuts: &[usize]) -> Vec<Marked> {
    let (start, end) = (cuts[0], cuts[cuts.len() - 1]);
    let between = |from: usize, to: usize| marks.iter().filter(move |(at, _)| *at >= from && *at < to);
    cuts.windows(2)
        .map(|pair| {
            let (from, to) = (pair[0] + 1, pair[1]);
            let spelt = [&text[..start], &text[from..to], &text[end + 1..]].concat();
            let mut moved: Vec<(usize, u8)> = between(0, start).copied().collect();
            moved.extend(between(from, to).map(|(at, mark)| (at - from + start, *mark)));
            moved.extend(
                between(end + 1, usize::MAX).map(|(at, mark)| (at - (end + 1) + start + (to - from), *mark)),
            );
            (spelt, moved)
        })
        .collect()
}
