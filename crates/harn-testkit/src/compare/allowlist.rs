//! A list of explained differences that can only shrink.

use super::Difference;

/// The differences that no entry of `allowed` explains, and the entries that explain nothing.
///
/// An entry is a pattern over locations (`*` is any text, `?` one character, all else literal)
/// and the reason why the difference is meant.
pub fn unexplained(differences: &[Difference], allowed: &[(&str, &str)]) -> Vec<String> {
    let explained = |location: &str| allowed.iter().any(|(pattern, _)| matches(pattern, location));
    let unknown = differences.iter().filter(|difference| !explained(&difference.location));
    let unknown = unknown.map(|difference| format!("unexplained: {difference}"));

    let used = |pattern: &str| differences.iter().any(|difference| matches(pattern, &difference.location));
    let idle = allowed.iter().filter(|(pattern, _)| !used(pattern));
    let idle = idle.map(|(pattern, reason)| format!("explains nothing, remove it: {pattern} ({reason})"));

    let silent = allowed.iter().filter(|(_, reason)| reason.trim().is_empty());
    let silent = silent.map(|(pattern, _)| format!("has no reason: {pattern}"));

    unknown.chain(idle).chain(silent).collect()
}

fn matches(pattern: &str, text: &str) -> bool {
    let mut rest = pattern.chars();
    match rest.next() {
        None => text.is_empty(),
        Some('*') => {
            let tails = text.char_indices().map(|(at, _)| &text[at..]).chain([""]);
            tails.into_iter().any(|tail| matches(rest.as_str(), tail))
        }
        Some(wanted) => {
            let mut given = text.chars();
            given.next().is_some_and(|first| wanted == '?' || wanted == first)
                && matches(rest.as_str(), given.as_str())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn patterns_match_whole_locations() {
        for (pattern, text, expected) in [
            ("Task.status", "Task.status", true),
            ("Task.status", "Task.status2", false),
            ("Task.*", "Task.status", true),
            ("* header Idempotency-Key", "POST /v1/tasks header Idempotency-Key", true),
            ("GET * 4??", "GET /v1/tasks 404", true),
            ("GET * 4??", "GET /v1/tasks 200", false),
            ("TaskList.data[]", "TaskList.data[]", true),
            ("*", "", true),
        ] {
            assert_eq!(matches(pattern, text), expected, "{pattern} on {text}");
        }
    }
}
