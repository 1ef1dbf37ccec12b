//! Which of many texts fits a question, and which name fits a pattern: for agents that look for tools and skills.

use super::args::{self, key};
use super::{Cx, Group, pure};
use crate::fault::Fault;
use crate::value::{Dict, Value};

type Answer = Result<Value, Fault>;

pub static RANKING: Group = Group {
    title: "",
    builtins: &[
        pure("__bm25", "query, docs", "list", "How well each text fits a query.", bm25),
        pure("__fits_pattern", "pattern, text, is_path?", "bool", "Whether a text fits a pattern.", glob),
        pure("__near", "name, names", "string|nil", "The name that was probably meant.", near),
        pure("__word_hits", "query, text", "int", "How many words of a query a text has in it.", word_hits),
        pure("__without_functions", "dict", "dict", "A dict without the functions in it.", plain),
    ],
};

/// Letters and digits in a row, in lower case.
fn words(text: &str) -> Vec<String> {
    let parts = text.split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty());
    parts.map(str::to_lowercase).collect()
}

/// How fast more of the same word counts less.
const SATURATION: f64 = 1.2;
/// How much a long text has to have more of them.
const LENGTH: f64 = 0.75;

/// Words that say nothing about what a text is about.
const FILLERS: &[&str] = &[
    "a", "about", "after", "all", "am", "an", "and", "any", "are", "as", "at", "be", "been", "before", "but",
    "by", "can", "could", "did", "do", "does", "for", "from", "get", "had", "has", "have", "how", "i", "if",
    "in", "into", "is", "it", "its", "just", "let", "make", "may", "me", "my", "need", "needs", "no", "not",
    "of", "on", "one", "or", "our", "out", "over", "please", "should", "so", "some", "such", "than", "that",
    "the", "their", "them", "then", "there", "these", "they", "this", "those", "to", "up", "use", "used",
    "user", "want", "wants", "was", "we", "were", "what", "when", "where", "which", "who", "why", "will",
    "with", "would", "you", "your",
];

fn bm25(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    let mut query = words(&args::text(cx, args, 0)?);
    query.retain(|word| !FILLERS.contains(&word.as_str()));
    query.sort_unstable();
    query.dedup();
    let mut texts = Vec::new();
    for text in args::list(args, 1) {
        let text = args::print(cx, text)?;
        cx.charge(text.len().saturating_mul(2))?;
        cx.work(text.len());
        texts.push(words(&text));
    }
    cx.work(query.len().saturating_mul(texts.iter().map(Vec::len).sum()));
    let count = texts.len() as f64;
    let mean = (texts.iter().map(Vec::len).sum::<usize>() as f64 / count.max(1.0)).max(1.0);
    let mut scores = vec![0.0; texts.len()];
    for word in &query {
        let found: Vec<usize> =
            texts.iter().map(|text| text.iter().filter(|known| *known == word).count()).collect();
        let having = found.iter().filter(|times| **times > 0).count() as f64;
        let rarity = (1.0 + (count - having + 0.5) / (having + 0.5)).ln();
        for (at, times) in found.into_iter().enumerate() {
            let times = times as f64;
            let length = 1.0 - LENGTH + LENGTH * texts[at].len() as f64 / mean;
            scores[at] += rarity * times * (SATURATION + 1.0) / (times + SATURATION * length);
        }
    }
    Ok(Value::list(scores.into_iter().map(Value::Float).collect()))
}

/// One part of a pattern.
enum Part {
    Letter(char),
    /// `?`
    One,
    /// `*`
    Some,
    /// `**`
    Any,
    /// `**/`: folders, or none.
    Folders,
}

fn parts(pattern: &str) -> Vec<Part> {
    let mut rest = pattern;
    let mut parts = Vec::new();
    while let Some(letter) = rest.chars().next() {
        let (part, length) = match letter {
            '*' if rest.starts_with("**/") => (Part::Folders, 3),
            '*' if rest.starts_with("**") => (Part::Any, 2),
            '*' => (Part::Some, 1),
            '?' => (Part::One, 1),
            other => (Part::Letter(other), other.len_utf8()),
        };
        parts.push(part);
        rest = &rest[length..];
    }
    parts
}

/// In a path `*` and `?` stop at a `/`, and a pattern without one is about the name of the file.
fn glob(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    let (pattern, text) = (args::text(cx, args, 0)?, args::text(cx, args, 1)?);
    let is_path = args::at(args, 2).is_truthy();
    let text = match text.rsplit_once('/') {
        Some((_, name)) if is_path && !pattern.contains('/') => name,
        _ => &text,
    };
    let text: Vec<char> = text.chars().collect();
    let parts = parts(&pattern);
    cx.charge(text.len().saturating_mul(6))?;
    cx.work(parts.len().saturating_mul(text.len() + 1));
    // After which letters of the text the parts so far may end.
    let mut ends = vec![false; text.len() + 1];
    ends[0] = true;
    for part in &parts {
        let mut next = vec![false; text.len() + 1];
        let mut was_reached = false;
        for at in 0..=text.len() {
            let before = at.checked_sub(1).map(|before| (before, text[before]));
            let may_pass = before.is_some_and(|(_, letter)| !is_path || letter != '/');
            next[at] = match (part, before) {
                (Part::Letter(wanted), Some((before, letter))) => ends[before] && letter == *wanted,
                (Part::One, Some((before, _))) => ends[before] && may_pass,
                (Part::Letter(_) | Part::One, None) => false,
                (Part::Some, Some((before, _))) => ends[at] || (next[before] && may_pass),
                (Part::Any, Some((before, _))) => ends[at] || next[before],
                (Part::Folders, Some((_, letter))) => ends[at] || (was_reached && letter == '/'),
                (Part::Some | Part::Any | Part::Folders, None) => ends[at],
            };
            was_reached |= ends[at];
        }
        ends = next;
    }
    Ok(Value::Bool(ends.last() == Some(&true)))
}

fn near(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    let name = args::text(cx, args, 0)?;
    let names = args::list(args, 1);
    cx.work(names.len().saturating_mul(256));
    let found = crate::near::nearest(&name, names.iter().filter_map(Value::as_str));
    Ok(found.map(Value::str).unwrap_or_default())
}

/// A word counts in other forms too: `deploy` is in a text about deploying, and the other way round.
fn word_hits(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    let known = words(&args::text(cx, args, 1)?);
    let mut query = words(&args::text(cx, args, 0)?);
    query.sort_unstable();
    query.dedup();
    query.retain(|word| word.chars().count() > 2 && !FILLERS.contains(&word.as_str()));
    cx.work(query.len().saturating_mul(known.len()));
    let hits = query.iter().filter(|word| known.iter().any(|other| are_forms(word, other)));
    Ok(args::number(hits.count()))
}

/// Whether two words are the same, or one begins with all of the other.
fn are_forms(one: &str, other: &str) -> bool {
    const STEM: usize = 4;
    let (short, long) = if one.len() <= other.len() { (one, other) } else { (other, one) };
    short == long || (short.chars().count() >= STEM && long.starts_with(short))
}

fn plain(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    let Some(dict) = args::dict(args, 0) else { return Ok(args::take(args, 0)) };
    cx.charge(dict.len().saturating_mul(64))?;
    let kept = dict.iter().filter(|(_, value)| !args::is_callable(value));
    let kept: Dict = kept.map(|(name, value)| (key(name.as_str()), value.clone())).collect();
    Ok(Value::dict(kept))
}
