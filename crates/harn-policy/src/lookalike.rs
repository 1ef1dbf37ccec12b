//! Characters that look like others: one folded form for comparing widely, and whether a name pretends.

use std::borrow::Cow;

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;
use unicode_security::{MixedScript, skeleton};

use crate::shell::UNKNOWN;

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
    name.chars().any(|c| is_invisible(c) || (c.is_whitespace() && !c.is_ascii()) || is_sign_in_disguise(c))
        || has_marked_letter(name)
        || name.split(|c: char| !c.is_alphanumeric()).filter(|part| !part.is_ascii()).any(|part| {
            let alike = skeleton(part).all(|c| c.is_ascii());
            let mixed = part.chars().any(|c| c.is_ascii_alphabetic()) && !part.is_single_script();
            alike || mixed || part.nfkc().all(|c| c.is_ascii())
        })
}

/// A character that looks like a sign that means something to a shell or in a path.
fn is_sign_in_disguise(c: char) -> bool {
    let sign = |c: char| "./\\;|&<>$`*?~=:()".contains(c);
    // Asked for every character of every name, so the usual letters of the world go first.
    if c.is_ascii() || c == UNKNOWN || c.is_alphabetic() && !('\u{ff00}'..='\u{ffef}').contains(&c) {
        return false;
    }
    let mut text = [0; 4];
    let text = &*c.encode_utf8(&mut text);
    let mut compatible = text.nfkc();
    compatible.all(|c| c.is_ascii()) || skeleton(text).all(sign)
}

/// A plain letter with a mark that belongs to no letter of any alphabet, or with a sign that only changes its look.
fn has_marked_letter(name: &str) -> bool {
    let mut before = None;
    name.nfc().any(|c| {
        let marked = before.is_some_and(|before: char| before.is_ascii_alphanumeric())
            && (is_combining_mark(c) || ('\u{fe00}'..='\u{fe0f}').contains(&c));
        before = Some(c);
        marked
    })
}

fn is_invisible(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}'
        | '\u{feff}' | '\u{e0000}'..='\u{e007f}' | '\u{34f}' | '\u{180e}' | '\u{115f}' | '\u{1160}' | '\u{3164}')
}
