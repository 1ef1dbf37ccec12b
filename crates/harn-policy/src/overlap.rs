//! Whether two patterns over paths could mean the same path.

/// Longer pairs are taken to overlap.
const MAX_STEPS: usize = 1 << 16;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Token {
    Exactly(char),
    /// Any one character but `/`.
    One,
    /// Any characters but `/`.
    Part,
    /// Any characters.
    Path,
}

impl Token {
    fn repeats(self) -> bool {
        matches!(self, Self::Part | Self::Path)
    }

    /// Whether both can mean the same single character.
    fn meets(self, other: Self) -> bool {
        match (self, other) {
            (Self::Exactly(a), Self::Exactly(b)) => a == b,
            (Self::Path, _) | (_, Self::Path) => true,
            (Self::Exactly(c), _) | (_, Self::Exactly(c)) => c != '/',
            _ => true,
        }
    }
}

/// Never says no when some path matches both; may say yes for classes and alternatives that do not meet.
pub fn overlap(one: &str, other: &str) -> bool {
    if differ_at_the_start(one, other) {
        return false;
    }
    let (a, b) = (tokens(one), tokens(other));
    if a.len().saturating_mul(b.len()) > MAX_STEPS {
        return true;
    }
    // One row per place in `a`: the places in `b` that can be reached together with it.
    let mut row = vec![false; b.len() + 1];
    row[0] = true;
    for at in 0..=a.len() {
        let mine = a.get(at).copied();
        let mut below = vec![false; b.len() + 1];
        for place in 0..=b.len() {
            if !row[place] {
                continue;
            }
            let theirs = b.get(place).copied();
            if mine.is_some_and(Token::repeats) {
                below[place] = true;
            }
            if theirs.is_some_and(Token::repeats) {
                row[place + 1] = true;
            }
            if let (Some(mine), Some(theirs)) = (mine, theirs)
                && mine.meets(theirs)
            {
                match (mine.repeats(), theirs.repeats()) {
                    (true, false) => row[place + 1] = true,
                    (false, true) => below[place] = true,
                    _ => below[place + 1] = true,
                }
            }
        }
        if at == a.len() {
            return row[b.len()];
        }
        row = below;
    }
    false
}

/// Most pairs differ in a plain character before anything else.
fn differ_at_the_start(one: &str, other: &str) -> bool {
    let plain = |c: char| !"*?[{\\".contains(c);
    let mut pairs = one.chars().zip(other.chars()).take_while(|(a, b)| plain(*a) && plain(*b));
    pairs.any(|(a, b)| a != b)
}

fn tokens(pattern: &str) -> Vec<Token> {
    let mut found = Vec::new();
    let mut chars = pattern.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '*' if chars.next_if_eq(&'*').is_some() => {
                // `**/x` also means `x`.
                chars.next_if_eq(&'/');
                found.push(Token::Path);
            }
            '*' => found.push(Token::Part),
            '?' => found.push(Token::One),
            '[' if chars.clone().any(|c| c == ']') => {
                chars.by_ref().find(|c| *c == ']');
                found.push(Token::One);
            }
            '{' if chars.clone().any(|c| c == '}') => {
                chars.by_ref().find(|c| *c == '}');
                found.push(Token::Path);
            }
            '\\' => found.extend(chars.next().map(Token::Exactly)),
            c => found.push(Token::Exactly(c)),
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn patterns_that_can_mean_the_same_overlap() {
        let table = [
            ("va*/a", "vault/**", true),
            ("v?ult/a", "vault/**", true),
            ("src/**", "vault/**", false),
            ("**", "vault/**", true),
            ("src/**", "**/*.key", true),
            ("*.rs", "vault/**", false),
            ("*", "**/vault", true),
            ("[uv]ault/a", "vault/**", true),
            ("docs/a*", "docs/b*", false),
            ("a", "a", true),
            ("", "a", false),
        ];
        for (one, other, expected) in table {
            assert_eq!((overlap(one, other), overlap(other, one)), (expected, expected), "{one} {other}");
        }
    }

    proptest! {
        /// A path that both patterns match is never overlooked.
        #[test]
        fn a_common_path_is_an_overlap(
            one in "(a|b|/|\\*|\\*\\*/|\\?|\\{a,b\\}|[ab]){1,5}",
            other in "(a|b|/|\\*|\\*\\*/|\\?|\\{a,b\\}|[ab]){1,5}",
            path in "[ab/]{0,5}",
        ) {
            let glob = |text: &str| globset::GlobBuilder::new(text).literal_separator(true).build();
            if let (Ok(first), Ok(second)) = (glob(&one), glob(&other)) {
                let both = first.compile_matcher().is_match(&path) && second.compile_matcher().is_match(&path);
                prop_assert!(!both || overlap(&one, &other));
            }
        }
    }
}
