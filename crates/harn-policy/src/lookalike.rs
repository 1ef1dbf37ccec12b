//! Characters that look like others: one folded form for comparing widely, and whether a name pretends.

use std::borrow::Cow;

use unicode_normalization::UnicodeNormalization;
use unicode_security::{MixedScript, skeleton};

/// Lower case and compatibility forms: how deny and ask rules compare.
pub fn fold(text: &str) -> Cow<'_, str> {
    if !text.is_ascii() {
        return Cow::Owned(text.nfkc().flat_map(char::to_lowercase).filter(|c| !is_invisible(*c)).collect());
    }
    if text.bytes().any(|byte| byte.is_ascii_uppercase()) {
        Cow::Owned(text.to_ascii_lowercase())
    } else {
        Cow::Borrowed(text)
    }
}

/// The form in which characters that look the same are the same. None for text that cannot pretend.
pub fn disguised(text: &str) -> Option<String> {
    (!text.is_ascii()).then(|| shape(&fold(text)))
}

/// What a text looks like. Of two texts that look alike, both have the same shape.
pub fn shape(text: &str) -> String {
    skeleton(text).flat_map(char::to_lowercase).collect()
}

/// A part of the name looks like plain letters and is not, mixes alphabets, or has characters that nobody sees.
pub fn pretends(name: &str) -> bool {
    if name.is_ascii() {
        return false;
    }
    name.chars().any(|c| is_invisible(c) || c == '\u{a0}')
        || name.split(|c: char| !c.is_alphanumeric()).filter(|part| !part.is_ascii()).any(|part| {
            let alike = skeleton(part).all(|c| c.is_ascii());
            let mixed = part.chars().any(|c| c.is_ascii_alphabetic()) && !part.is_single_script();
            alike || mixed || part.nfkc().all(|c| c.is_ascii())
        })
}

fn is_invisible(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}'
        | '\u{feff}' | '\u{e0000}'..='\u{e007f}' | '\u{34f}' | '\u{180e}' | '\u{115f}' | '\u{1160}' | '\u{3164}')
}
