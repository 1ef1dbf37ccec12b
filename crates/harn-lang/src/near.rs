//! The name that somebody probably meant.

/// Longer names are not looked for.
const LONGEST: usize = 100;
/// How many changes may be between what was written and what was meant.
const CHANGES: usize = 2;

/// The nearest of these names, at most two changes away.
pub fn nearest<'a>(wanted: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let letters: Vec<char> = wanted.chars().take(LONGEST + 1).collect();
    if letters.len() > LONGEST {
        return None;
    }
    let set = set_of(wanted);
    // Most names can be told to be too far away at a glance.
    let similar = names.filter(|name| {
        letters.len() <= name.len() + CHANGES
            && name.chars().count() <= letters.len() + CHANGES
            && (set_of(name) ^ set).count_ones() as usize <= 2 * CHANGES
            && *name != wanted
    });
    let distances = similar.filter_map(|name| Some((distance(&letters, name)?, name)));
    distances.min_by_key(|(distance, name)| (*distance, *name)).map(|(_, name)| name)
}

/// Which letters a name has, some of them taken for the same. A change makes a difference of two at most.
fn set_of(name: &str) -> u64 {
    name.chars().fold(0, |set, letter| set | 1 << (u32::from(letter) % 64))
}

/// Insertions, deletions, replacements and swaps of neighbours between two names of about the same length; none if
/// there are more than two, or more than a third as many as letters: a short name soon becomes another one.
fn distance(a: &[char], name: &str) -> Option<usize> {
    const ROOM: usize = LONGEST + CHANGES + 1;
    let mut letters = [' '; ROOM];
    let mut length = 0;
    for letter in name.chars() {
        *letters.get_mut(length)? = letter;
        length += 1;
    }
    let b = &letters[..length];
    let (mut before, mut row, mut next) = ([0; ROOM], [0; ROOM], [0; ROOM]);
    row.iter_mut().enumerate().for_each(|(at, place)| *place = at);
    let mut least = 0;
    for i in 0..a.len() {
        next[0] = i + 1;
        for j in 0..b.len() {
            let replaced = row[j] + usize::from(a[i] != b[j]);
            let mut best = replaced.min(next[j] + 1).min(row[j + 1] + 1);
            if i > 0 && j > 0 && a[i] == b[j - 1] && a[i - 1] == b[j] {
                best = best.min(before[j - 1] + 1);
            }
            next[j + 1] = best;
        }
        // From here on it can only become more.
        let last = std::mem::replace(&mut least, next[..=b.len()].iter().copied().min().unwrap_or(0));
        if least > CHANGES && last > CHANGES {
            return None;
        }
        (before, row, next) = (row, next, before);
    }
    let found = row[b.len()];
    (found <= CHANGES && found * 3 <= a.len().max(b.len())).then_some(found)
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn only_near_names_are_suggested() {
        let names = ["println", "print", "response", "x", "log", "len", "exp", "jq", "iter"];
        let cases = [
            ("printn", Some("print")),
            ("prntln", Some("println")),
            ("respnse", Some("response")),
            ("lgo", Some("log")),
            ("lne", Some("len")),
            ("qq", None),
            ("later", None),
            ("y", None),
            ("p", None),
            ("completely", None),
        ];
        for (wanted, expected) in cases {
            assert_eq!(nearest(wanted, names.into_iter()), expected, "{wanted}");
        }
    }
}
