//! The part of the language that is written in itself, by subject.

use std::collections::HashMap;
use std::sync::OnceLock;

/// All of it.
pub const SOURCE: &str = concat!(
    include_str!("prelude.harn"),
    include_str!("tasks.harn"),
    include_str!("streams.harn"),
    include_str!("supervisors.harn"),
    include_str!("services.harn"),
    include_str!("clock.harn"),
    include_str!("models.harn"),
    include_str!("model_requests.harn"),
    include_str!("model_mocks.harn"),
    include_str!("conversations.harn"),
    include_str!("catalog.harn"),
    include_str!("agents.harn"),
    include_str!("agent_turns.harn"),
    include_str!("agent_tools.harn"),
    include_str!("tool_search.harn"),
    include_str!("skills.harn"),
    include_str!("sessions.harn"),
    include_str!("http.harn"),
    include_str!("http_mocks.harn"),
    include_str!("http_sessions.harn"),
    include_str!("egress.harn"),
    include_str!("transports.harn"),
    include_str!("hosts.harn"),
    include_str!("shells.harn"),
    include_str!("commands.harn"),
    include_str!("risk.harn"),
    include_str!("people.harn"),
    include_str!("artifacts.harn"),
    include_str!("contexts.harn"),
    include_str!("records.harn"),
    include_str!("events.harn"),
    include_str!("stores.harn"),
);

/// What the machine calls by name, whatever a program says.
const ALWAYS: [&str; 4] = ["__apply", "__iter_items", "__iter_dict", "__iter_string"];

/// Words of the language whose work is done by functions `__WORD_x`.
const WORDS: [&str; 3] = ["parallel", "budget", "skills"];

/// What has methods that are written in Harn: a method `m` of a list is the function `list_m`.
const KINDS: [&str; 9] = ["list", "string", "dict", "set", "range", "iter", "generator", "stream", "struct"];

/// The functions of the prelude, each from its first line to its last.
struct Parts {
    functions: Vec<&'static str>,
    /// The functions that code with a word in it may call.
    by_word: HashMap<&'static str, Vec<usize>>,
}

/// The functions that programs of these texts may call, directly or not. Whatever stands in a text counts, also in
/// comments and strings: it does no harm to have too many, and most programs need few.
pub fn reached<'t>(texts: impl Iterator<Item = &'t str>) -> String {
    static PARTS: OnceLock<Parts> = OnceLock::new();
    let parts = PARTS.get_or_init(parts);
    let mut is_reached = vec![false; parts.functions.len()];
    let mut waiting: Vec<usize> = Vec::new();
    let mut look_up = |word: &str, waiting: &mut Vec<usize>| {
        for at in parts.by_word.get(word).into_iter().flatten() {
            if !std::mem::replace(&mut is_reached[*at], true) {
                waiting.push(*at);
            }
        }
    };
    ALWAYS.iter().copied().chain(texts.flat_map(words)).for_each(|word| look_up(word, &mut waiting));
    while let Some(at) = waiting.pop() {
        words(parts.functions[at]).for_each(|word| look_up(word, &mut waiting));
    }
    let all = parts.functions.iter().zip(is_reached).filter(|(_, is_reached)| *is_reached);
    all.flat_map(|(text, _)| [text, "\n"]).collect()
}

fn parts() -> Parts {
    let mut parts = Parts { functions: Vec::new(), by_word: HashMap::new() };
    let lines = SOURCE
        .split_inclusive('\n')
        .scan(0, |at, line| Some((std::mem::replace(at, *at + line.len()), line)));
    let starts: Vec<usize> = lines.filter(|(_, line)| is_start(line)).map(|(at, _)| at).collect();
    let ends = starts.iter().skip(1).copied().chain([SOURCE.len()]);
    for (at, (start, end)) in starts.iter().copied().zip(ends).enumerate() {
        // Up to its last bracket: what follows is said about the next one.
        let text = &SOURCE[start..end];
        let text = &text[..text.rfind('}').map_or(0, |last| last + 1)];
        parts.functions.push(text);
        let Some(name) = words(text).find(|word| !["gen", "fn"].contains(word)) else { continue };
        // A method is called without the type that it belongs to; `parallel` and `skills` are words of the language.
        let short = match name.strip_prefix("__") {
            Some(inner) => {
                inner.split_once('_').map(|(first, _)| first).filter(|first| WORDS.contains(first))
            }
            None => name.split_once('_').filter(|(kind, _)| KINDS.contains(kind)).map(|(_, rest)| rest),
        };
        for word in [Some(name), short].into_iter().flatten() {
            parts.by_word.entry(word).or_default().push(at);
        }
    }
    for builtin in crate::builtins::all() {
        let Some((first, last)) = builtin.name.split_once('.') else { continue };
        let Some(own) = parts.by_word.get(builtin.name.replace('.', "_").as_str()).cloned() else { continue };
        // The name before the dot is a value too, in which the others are found in ways that no text shows.
        for word in [first, last] {
            parts.by_word.entry(word).or_default().extend(&own);
        }
    }
    parts
}

/// Whether a function begins with this line.
fn is_start(line: &str) -> bool {
    line.starts_with("fn ") || line.starts_with("gen fn ")
}

/// Letters, digits and `_` in a row.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let is_within = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    text.split(move |letter| !is_within(letter)).filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_function_of_the_prelude_can_be_reached() {
        let parts = parts();
        assert!(parts.functions.iter().all(|text| text.lines().filter(|line| is_start(line)).count() == 1));
        let other = SOURCE.lines().filter(|line| !line.starts_with([' ', '}', '/']) && !line.is_empty());
        assert_eq!(other.filter(|line| !is_start(line)).collect::<Vec<_>>(), [""; 0]);
        for builtin in crate::builtins::all().filter(|builtin| builtin.name.contains('.')) {
            let name = builtin.name.replace('.', "_");
            if SOURCE.contains(&format!("\nfn {name}(")) {
                assert!(reached([builtin.name].into_iter()).contains(&format!("fn {name}(")), "{name}");
            }
        }
    }

    #[test]
    fn only_what_a_program_may_call_is_there() {
        let nothing = reached([""].into_iter());
        assert!(nothing.contains("fn __apply(") && !nothing.contains("fn list_map("), "{nothing}");
        let some = reached(["[1]\n  .sort_by(f)"].into_iter());
        assert!(some.contains("fn list_sort_by(") && some.contains("fn __callable("), "{some}");
        assert!(!some.contains("fn list_group_by("), "{some}");
        assert!(reached(["parallel each xs { x -> x }"].into_iter()).contains("fn __parallel_each("));
    }
}
