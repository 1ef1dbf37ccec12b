//! One glob that is cheap to make and cheap to refuse: its literal ends are compared before anything else.

use std::sync::OnceLock;

use globset::{Glob, GlobBuilder, GlobMatcher};

/// Whether `*` crosses `/`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Separator {
    Literal,
    Ordinary,
}

/// A glob. Its matcher is only made when a text has the same beginning and end.
#[derive(Debug)]
pub struct Pattern {
    prefix: Box<str>,
    suffix: Box<str>,
    exact: bool,
    glob: Glob,
    matcher: OnceLock<GlobMatcher>,
}

impl Pattern {
    pub fn new(text: &str, separator: Separator) -> Result<Self, globset::Error> {
        let glob = GlobBuilder::new(text)
            .literal_separator(separator == Separator::Literal)
            .backslash_escape(true)
            .build()?;
        let special = |c: char| "*?[]{}\\".contains(c);
        let exact = !text.contains(special);
        let prefix = &text[..text.find(special).unwrap_or(text.len())];
        let suffix = text.rfind(|c| special(c) || c == ',').map_or("", |at| &text[at + 1..]);
        // `**/name` also means `name` alone.
        let suffix = if text.contains("**/") { suffix.trim_start_matches('/') } else { suffix };
        Ok(Self { prefix: prefix.into(), suffix: suffix.into(), exact, glob, matcher: OnceLock::new() })
    }

    pub fn text(&self) -> &str {
        self.glob.glob()
    }

    pub fn matches(&self, text: &str) -> bool {
        if self.exact {
            return *self.prefix == *text;
        }
        text.starts_with(&*self.prefix)
            && text.ends_with(&*self.suffix)
            && self.matcher.get_or_init(|| self.glob.compile_matcher()).is_match(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// The ends are only a short cut: the answer is the glob's.
        #[test]
        fn the_short_cut_never_changes_the_answer(
            pattern in "(a|b|/|\\*|\\*\\*/|/\\*\\*|\\?|\\{a,b\\}|[ab]|,|\\\\\\*|\\.){1,6}",
            text in "[ab/.,*]{0,6}",
            literal in any::<bool>(),
        ) {
            let separator = if literal { Separator::Literal } else { Separator::Ordinary };
            if let Ok(pattern) = Pattern::new(&pattern, separator) {
                let truth = pattern.glob.compile_matcher().is_match(&text);
                prop_assert_eq!(pattern.matches(&text), truth);
            }
        }
    }
}
