//! The name that somebody probably meant.

/// The nearest of these names, at most two changes away.
pub fn nearest<'a>(wanted: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let distances = names.filter_map(|name| Some((distance(wanted, name)?, name)));
    distances.min_by_key(|(distance, name)| (*distance, *name)).map(|(_, name)| name)
}

/// Insertions, deletions, replacements and swaps of neighbours between two names; none if there are more than two, or
/// more than half as many as letters.
fn distance(a: &str, b: &str) -> Option<usize> {
    if a.chars().count().abs_diff(b.chars().count()) > 2 || a.chars().count() > 100 || a == b {
        return None;
    }
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut before: Vec<usize> = Vec::new();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for i in 0..a.len() {
        let mut next = vec![i + 1];
        for j in 0..b.len() {
            let replaced = row[j] + usize::from(a[i] != b[j]);
            let mut best = replaced.min(next[j] + 1).min(row[j + 1] + 1);
            if i > 0 && j > 0 && a[i] == b[j - 1] && a[i - 1] == b[j] {
                best = best.min(before[j - 1] + 1);
            }
            next.push(best);
        }
        // From here on it can only become more.
        if i > 0 && next.iter().min() > Some(&2) && row.iter().min() > Some(&2) {
            return None;
        }
        before = std::mem::replace(&mut row, next);
    }
    let found = row[b.len()];
    (found <= 2 && found * 2 <= a.len().max(b.len())).then_some(found)
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn only_near_names_are_suggested() {
        let names = ["println", "print", "response", "x", "log", "len", "exp"];
        let cases = [
            ("printn", Some("print")),
            ("prntln", Some("println")),
            ("respnse", Some("response")),
            ("lgo", Some("log")),
            ("y", None),
            ("p", None),
            ("completely", None),
        ];
        for (wanted, expected) in cases {
            assert_eq!(nearest(wanted, names.into_iter()), expected, "{wanted}");
        }
    }
}
