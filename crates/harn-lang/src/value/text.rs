//! Text of a program, with a note whether a character is a byte in it.

/// An immutable string that grows in place while nobody else has it.
#[derive(Clone, Debug, Default)]
pub struct Text {
    text: String,
    /// Then the n-th character is the n-th byte.
    is_ascii: bool,
}

impl Text {
    pub fn new(text: impl Into<String>) -> Self {
        let text = text.into();
        let is_ascii = text.is_ascii();
        Self { text, is_ascii }
    }

    pub fn as_str(&self) -> &str {
        &self.text
    }

    pub fn is_ascii(&self) -> bool {
        self.is_ascii
    }

    /// How many characters (Unicode scalars) it has.
    pub fn chars(&self) -> usize {
        if self.is_ascii { self.text.len() } else { self.text.chars().count() }
    }

    pub fn push(&mut self, more: &str) {
        self.is_ascii &= more.is_ascii();
        self.text.push_str(more);
    }

    /// From one character to another, which is not part of it. Both must be within the text.
    pub fn slice(&self, start: usize, end: usize) -> &str {
        if self.is_ascii {
            return self.text.get(start..end).unwrap_or_default();
        }
        let mut places = self.text.char_indices().map(|(at, _)| at).chain([self.text.len()]);
        let Some(from) = places.nth(start) else { return "" };
        match end.checked_sub(start) {
            None | Some(0) => "",
            Some(count) => {
                let to = places.nth(count - 1).unwrap_or(self.text.len());
                self.text.get(from..to).unwrap_or_default()
            }
        }
    }
}

impl PartialEq for Text {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for Text {}

impl std::hash::Hash for Text {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.text.hash(state);
    }
}

impl PartialOrd for Text {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Text {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.text.cmp(&other.text)
    }
}

#[cfg(test)]
mod tests {
    use super::Text;

    #[test]
    fn characters_are_counted_and_cut_the_same_way_whatever_they_are() {
        for (text, count, cut) in
            [("hello", 5, "el"), ("h\u{e9}llo", 5, "\u{e9}l"), ("\u{1f600}\u{e9}z", 3, "\u{e9}z")]
        {
            let text = Text::new(text);
            assert_eq!((text.chars(), text.slice(1, 3)), (count, cut));
            assert_eq!((text.slice(2, 2), text.slice(0, count)), ("", text.as_str()));
        }
    }

    #[test]
    fn what_is_appended_decides_too() {
        let mut text = Text::new("ab");
        text.push("\u{e9}");
        assert_eq!((text.chars(), text.is_ascii()), (3, false));
    }
}
