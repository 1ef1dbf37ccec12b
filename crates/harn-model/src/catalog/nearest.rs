//! Which names are close to one that was mistyped.

use std::collections::BTreeSet;

/// Longer words are not compared: a mistake in them is better shown than guessed at.
const LONGEST: usize = 64;

const SHOWN: usize = 3;

/// At most three names, the closest first.
pub(super) fn nearest<'a>(wanted: &str, names: impl Iterator<Item = &'a str>) -> Vec<String> {
    let wanted: Vec<char> = wanted.to_ascii_lowercase().chars().collect();
    if wanted.len() > LONGEST {
        return Vec::new();
    }
    let limit = (wanted.len() / 4).clamp(1, 4);
    let close: BTreeSet<(usize, &str)> = names
        .filter_map(|name| {
            let letters: Vec<char> = name.to_ascii_lowercase().chars().collect();
            if letters.len().abs_diff(wanted.len()) > limit {
                return None;
            }
            let distance = edits(&wanted, &letters);
            (distance <= limit).then_some((distance, name))
        })
        .collect();
    close.into_iter().take(SHOWN).map(|(_, name)| name.to_owned()).collect()
}

/// How many letters must be put in, left out or changed.
fn edits(a: &[char], b: &[char]) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut diagonal = i;
        let mut left = i + 1;
        for (cell, y) in row.iter_mut().skip(1).zip(b) {
            let changed = diagonal + usize::from(x != y);
            diagonal = *cell;
            left = changed.min(*cell + 1).min(left + 1);
            *cell = left;
        }
        if let Some(first) = row.first_mut() {
            *first = i + 1;
        }
    }
    row.last().copied().unwrap_or(0)
}
