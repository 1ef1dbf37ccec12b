//! Reasoning that a model writes into its answer: a `<think>` block at the very beginning, as local servers pass it on.

const OPENS: &str = "<think>";
const CLOSES: &str = "</think>";
/// An answer that begins with more space than this has no block after it.
const SPACE: usize = 256;

/// Tells thinking from answer while both arrive in pieces, which may end within a tag.
#[derive(Debug, Default)]
pub(super) struct ThinkTags {
    state: State,
    /// What may be a tag, or the space around one.
    held: String,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    /// Nothing but space and a part of the tag has come.
    #[default]
    Undecided,
    /// Within the block; `said` once something other than space was in it.
    Thinking {
        said: bool,
    },
    /// After the block, before the first word of the answer.
    Gap,
    Answer,
}

/// One piece, told apart.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Told {
    pub thinking: String,
    pub answer: String,
}

impl ThinkTags {
    /// For servers that tell reasoning elsewhere: every piece is the answer.
    pub fn none() -> Self {
        Self { state: State::Answer, held: String::new() }
    }

    /// The server told reasoning in a field of its own, so a tag in its answer is a part of that.
    pub fn stop_looking(&mut self) {
        if self.state == State::Undecided {
            self.state = State::Answer;
        }
    }

    pub fn read(&mut self, piece: &str) -> Told {
        let mut told = Told { answer: String::new(), thinking: String::new() };
        if self.state == State::Answer {
            told.answer = std::mem::take(&mut self.held) + piece;
            return told;
        }
        self.held.push_str(piece);
        while self.step(&mut told) {}
        told
    }

    /// Nothing more comes: a block that was never closed is thinking, a tag that was never whole is answer.
    pub fn finish(&mut self) -> Told {
        let held = std::mem::take(&mut self.held);
        match std::mem::replace(&mut self.state, State::Answer) {
            State::Thinking { said } => {
                let rest = if said { held.as_str() } else { held.trim_start() };
                Told { thinking: rest.to_owned(), ..Told::default() }
            }
            State::Gap => Told::default(),
            State::Undecided | State::Answer => Told { answer: held, ..Told::default() },
        }
    }

    /// Takes one decision; false once more has to come.
    fn step(&mut self, told: &mut Told) -> bool {
        match self.state {
            State::Undecided => {
                let begun = self.held.trim_start();
                if let Some(rest) = begun.strip_prefix(OPENS) {
                    self.held = rest.to_owned();
                    self.state = State::Thinking { said: false };
                    true
                } else if OPENS.starts_with(begun) && self.held.len() <= SPACE {
                    false
                } else {
                    self.state = State::Answer;
                    true
                }
            }
            State::Thinking { said } => {
                if !said {
                    self.held = self.held.trim_start().to_owned();
                }
                let end = self.held.find(CLOSES);
                let until = end.unwrap_or_else(|| self.held.len() - tail(&self.held));
                told.thinking.push_str(&self.held[..until]);
                self.held.drain(..until + end.map_or(0, |_| CLOSES.len()));
                self.state =
                    if end.is_some() { State::Gap } else { State::Thinking { said: said || until > 0 } };
                end.is_some()
            }
            State::Gap => {
                self.held = self.held.trim_start().to_owned();
                if self.held.is_empty() {
                    return false;
                }
                self.state = State::Answer;
                true
            }
            State::Answer => {
                told.answer.push_str(&std::mem::take(&mut self.held));
                false
            }
        }
    }
}

/// How many bytes at the end may be the beginning of the closing tag.
fn tail(text: &str) -> usize {
    (1..CLOSES.len()).rev().find(|length| text.ends_with(&CLOSES[..*length])).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(pieces: &[&str]) -> (String, String) {
        let mut tags = ThinkTags::default();
        let told: Vec<Told> = pieces.iter().map(|piece| tags.read(piece)).collect();
        let all = || told.iter();
        let end = tags.finish();
        let thinking: String = all().map(|told| told.thinking.as_str()).collect();
        let answer: String = all().map(|told| told.answer.as_str()).collect();
        (thinking + &end.thinking, answer + &end.answer)
    }

    #[test]
    fn a_block_at_the_beginning_is_thinking_wherever_the_pieces_end() {
        let cases = [
            ("Hello.", "", "Hello."),
            ("", "", ""),
            (" \n", "", " \n"),
            ("<think>hm</think>Yes.", "hm", "Yes."),
            ("\n <think>\nhm\n</think>\n\nYes.", "hm\n", "Yes."),
            ("<think>\n\n</think>\n\nYes.", "", "Yes."),
            ("<think>a < b </thin </think> c", "a < b </thin ", "c"),
            ("<think>grübeln €</think>Grüße", "grübeln €", "Grüße"),
            ("<think>never closed </th", "never closed </th", ""),
            ("<think>", "", ""),
            ("<think> \n", "", ""),
            ("<think>hm</think>", "hm", ""),
            ("<think>hm</think> \n", "hm", ""),
            ("<thi", "", "<thi"),
            ("<thinking>out loud", "", "<thinking>out loud"),
            ("The tag <think>x</think> is text.", "", "The tag <think>x</think> is text."),
            ("<think>a</think>b <think>c</think>", "a", "b <think>c</think>"),
            ("  indented", "", "  indented"),
        ];
        for (text, thinking, answer) in cases {
            let expected = (thinking.to_owned(), answer.to_owned());
            assert_eq!(read(&[text]), expected, "{text:?} at once");
            let letters: Vec<String> = text.chars().map(String::from).collect();
            let letters: Vec<&str> = letters.iter().map(String::as_str).collect();
            assert_eq!(read(&letters), expected, "{text:?} letter by letter");
            for (at, _) in text.char_indices() {
                assert_eq!(read(&[&text[..at], &text[at..]]), expected, "{text:?} cut at {at}");
            }
        }
    }

    #[test]
    fn space_without_end_is_not_held_without_end() {
        let mut tags = ThinkTags::default();
        let told: Vec<Told> = (0..300).map(|_| tags.read(" ")).collect();
        let answered: usize = told.iter().map(|told| told.answer.len()).sum();
        assert_eq!((answered, tags.held.len()), (300, 0));
    }

    #[test]
    fn nothing_is_looked_for_where_reasoning_has_its_own_field() {
        let text = "<think>x</think>";
        let mut never = ThinkTags::none();
        assert_eq!(never.read(text), Told { answer: text.into(), ..Told::default() });
        let mut stopped = ThinkTags::default();
        assert_eq!(stopped.read(" <th"), Told::default());
        stopped.stop_looking();
        assert_eq!(stopped.read("ink>"), Told { answer: " <think>".into(), ..Told::default() });
        assert_eq!(stopped.finish(), Told::default());
    }
}
