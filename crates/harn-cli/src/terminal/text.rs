//! Text that a terminal may show: made harmless, measured in columns, cut and wrapped.

use std::borrow::Cow;

const TAB: &str = "    ";

/// One line of text in which nothing can steer a terminal, hide, or turn the reading direction around: such characters
/// are shown by a picture or by their number. A line break counts among them; split at line breaks first.
pub fn harmless(text: &str) -> Cow<'_, str> {
    if text.chars().all(|character| replacement(character).is_none()) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        match replacement(character) {
            None => shown.push(character),
            Some(instead) => shown.push_str(&instead),
        }
    }
    Cow::Owned(shown)
}

fn replacement(character: char) -> Option<Cow<'static, str>> {
    let code = u32::from(character);
    match code {
        0x09 => Some(Cow::Borrowed(TAB)),
        // The pictures of the control characters stand in the same order as these.
        0x00..=0x1f => char::from_u32(0x2400 + code).map(|picture| Cow::Owned(picture.to_string())),
        0x7f => Some(Cow::Borrowed("\u{2421}")),
        0x80..=0x9f | 0xad => Some(Cow::Owned(format!("<U+{code:04X}>"))),
        // Direction marks and overrides, separators, invisible characters, tags.
        0x061c | 0x180e | 0x200b | 0x200e..=0x200f | 0x2028..=0x202e | 0x2060..=0x206f | 0xfeff => {
            Some(Cow::Owned(format!("<U+{code:04X}>")))
        }
        0xfff9..=0xfffb | 0xe0000..=0xe007f => Some(Cow::Owned(format!("<U+{code:04X}>"))),
        _ => None,
    }
}

/// The lines of a text as people count them: a line break at the end begins no further one.
pub fn lines(text: &str) -> impl Iterator<Item = &str> {
    text.lines()
}

/// How many columns a character takes: a simple rule that is right for all but rare scripts and joined emoji.
pub fn width_of(character: char) -> usize {
    match u32::from(character) {
        0x0300..=0x036f | 0x0483..=0x0489 | 0x0591..=0x05bd | 0x0610..=0x061a | 0x064b..=0x065f => 0,
        0x0e31 | 0x0e34..=0x0e3a | 0x0e47..=0x0e4e | 0x1ab0..=0x1aff | 0x1dc0..=0x1dff => 0,
        0x200c..=0x200d | 0x20d0..=0x20ff | 0xfe00..=0xfe0f | 0xfe20..=0xfe2f | 0xe0100..=0xe01ef => 0,
        0x1100..=0x115f | 0x2e80..=0x303e | 0x3041..=0x33ff | 0x3400..=0x4dbf | 0x4e00..=0x9fff => 2,
        0xa000..=0xa4cf | 0xa960..=0xa97f | 0xac00..=0xd7a3 | 0xf900..=0xfaff | 0xfe30..=0xfe6f => 2,
        0xff00..=0xff60 | 0xffe0..=0xffe6 | 0x1f300..=0x1f64f | 0x1f680..=0x1f6ff => 2,
        0x1f900..=0x1f9ff | 0x1fa70..=0x1faff | 0x20000..=0x3fffd => 2,
        0x231a..=0x231b | 0x23e9..=0x23ec | 0x2705 | 0x274c | 0x2728 | 0x2b50 | 0x2b55 => 2,
        _ => 1,
    }
}

pub fn width(text: &str) -> usize {
    text.chars().map(width_of).sum()
}

/// At most so many columns; what is cut off is shown by an ellipsis.
pub fn clip(text: &str, columns: usize) -> Cow<'_, str> {
    if width(text) <= columns {
        return Cow::Borrowed(text);
    }
    let mut used = 0;
    let room = columns.saturating_sub(1);
    let fits = |character: &char| {
        used += width_of(*character);
        used <= room
    };
    let mut cut: String = text.chars().take_while(fits).collect();
    if columns > 0 {
        cut.push('…');
    }
    Cow::Owned(cut)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_character_at_all_can_steer_a_terminal() {
        for character in (0..=u32::from(char::MAX)).filter_map(char::from_u32) {
            let text = character.to_string();
            let shown = harmless(&text);
            assert!(!shown.chars().any(char::is_control), "{:04x} became {shown:?}", u32::from(character));
            assert_eq!(harmless(&shown), shown, "{:04x} is not harmless at once", u32::from(character));
        }
    }

    #[test]
    fn what_could_do_harm_stays_visible() {
        let cases = [
            ("plain ünïcode 漢字 👍", "plain ünïcode 漢字 👍"),
            ("a\tb", "a    b"),
            ("\u{1b}]0;owned\u{7}", "␛]0;owned␇"),
            ("\u{1b}[2J\u{1b}[H", "␛[2J␛[H"),
            ("safe\rEVIL", "safe␍EVIL"),
            ("a\nb", "a␊b"),
            ("\u{9b}31m", "<U+009B>31m"),
            ("\u{7f}", "␡"),
            ("user\u{202e}gpj.exe", "user<U+202E>gpj.exe"),
            ("in\u{200b}visible", "in<U+200B>visible"),
            ("\u{e0041}", "<U+E0041>"),
        ];
        for (given, shown) in cases {
            assert_eq!(harmless(given), shown);
        }
    }

    #[test]
    fn columns_are_counted_and_cut_by_what_a_terminal_shows() {
        let cases = [("abc", 3), ("漢字", 4), ("e\u{301}", 1), ("👍", 2), ("…", 1), ("", 0)];
        for (text, columns) in cases {
            assert_eq!(width(text), columns, "{text}");
        }
        let cuts = [
            ("abcdef", 6, "abcdef"),
            ("abcdef", 4, "abc…"),
            ("漢字漢字", 5, "漢字…"),
            ("漢字漢字", 4, "漢…"),
            ("ab", 0, ""),
        ];
        for (text, columns, cut) in cuts {
            assert_eq!(clip(text, columns), cut, "{text} in {columns}");
        }
    }
}
