//! Cuts a text into pieces, as a provider's stream would.

/// At most `count` pieces of about equal length, none of them empty. Together they are the text.
pub(crate) fn pieces(text: &str, count: usize) -> Vec<String> {
    let letters: Vec<char> = text.chars().collect();
    let length = letters.len().div_ceil(count.max(1)).max(1);
    letters.chunks(length).map(|piece| piece.iter().collect()).collect()
}

#[cfg(test)]
mod tests {
    use super::pieces;

    #[test]
    fn pieces_are_even_whole_letters_and_never_empty() {
        let cases: [(&str, usize, &[&str]); 6] = [
            ("", 3, &[]),
            ("abcdef", 3, &["ab", "cd", "ef"]),
            ("abcdefg", 3, &["abc", "def", "g"]),
            ("ab", 5, &["a", "b"]),
            ("äöü€", 2, &["äö", "ü€"]),
            ("abc", 0, &["abc"]),
        ];
        for (text, count, expected) in cases {
            assert_eq!(pieces(text, count), expected, "{text:?} in {count}");
        }
    }
}
