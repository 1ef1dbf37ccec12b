//! Commands that may stand in text that was not understood: cut at every sign that could end one.

use crate::shell::Word;

/// More words than this are not looked at in one piece, nor more pieces than this in one text.
const MAX_WORDS: usize = 256;
const MAX_PIECES: usize = 1000;

/// Words that may stand before a command without being one.
const BEFORE: &[&str] = &[
    "if", "then", "elif", "else", "while", "until", "do", "case", "in", "time", "coproc", "function", "!",
    "{", "((",
];

/// The pieces of a script, once with its quotes taken away and once cut at its quotes.
pub fn commands(text: &str) -> Vec<Vec<Word>> {
    let cut = |c: char| ";&|\n(){}`".contains(c);
    let bare: String = text.chars().filter(|c| !"'\"\\".contains(*c)).collect();
    let mut found: Vec<Vec<Word>> = bare.split(cut).filter_map(piece).take(MAX_PIECES).collect();
    let quoted = text.split(|c: char| cut(c) || c == '\'' || c == '"');
    found.extend(quoted.filter_map(piece).take(MAX_PIECES));
    found.dedup();
    found
}

/// The pieces of a word that may hold code of any language.
pub fn code(text: &str) -> Vec<Vec<Word>> {
    let cut = |c: char| ";&|\n(){}`'\"!=:,[]".contains(c);
    text.split(cut).filter_map(piece).take(MAX_PIECES).collect()
}

fn piece(text: &str) -> Option<Vec<Word>> {
    let words =
        text.split(|c: char| c.is_whitespace() || c == '<' || c == '>').filter(|word| !word.is_empty());
    let words: Vec<Word> =
        words.skip_while(|word| BEFORE.contains(word)).take(MAX_WORDS).map(Word::literal).collect();
    (!words.is_empty()).then_some(words)
}
