//! The name that somebody probably meant.

/// The nearest of these names, at most two changes away.
pub fn nearest<'a>(wanted: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let distances = names.filter_map(|name| Some((distance(wanted, name)?, name)));
    distances.min_by_key(|(distance, name)| (*distance, *name)).map(|(_, name)| name)
}

/// Insertions, deletions and replacements between two names; none if there are more than two, or as many as letters.
fn distance(a: &str, b: &str) -> Option<usize> {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    if a.len().abs_diff(b.len()) > 2 || a.len() > 100 || a == b {
        return None;
    }
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut corner = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let replaced = corner + usize::from(x != y);
            corner = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(corner + 1);
        }
    }
    let found = row[b.len()];
    (found <= 2 && found < a.len().max(b.len())).then_some(found)
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn only_near_names_are_suggested() {
        let names = ["println", "print", "response", "x"];
        let cases = [
            ("printn", Some("print")),
            ("prntln", Some("println")),
            ("respnse", Some("response")),
            ("y", None),
            ("completely", None),
        ];
        for (wanted, expected) in cases {
            assert_eq!(nearest(wanted, names.into_iter()), expected, "{wanted}");
        }
    }
}
