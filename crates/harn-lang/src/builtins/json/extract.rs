//! JSON within other text, as models answer it.

use super::super::Cx;
use super::read;
use crate::fault::Fault;
use crate::value::Value;

/// At how many brackets a value is looked for.
const MAX_STARTS: usize = 64;

/// The whole text, or what is between fences, or the first brackets with JSON between them.
pub fn extract(cx: &mut Cx<'_>, text: &str) -> Result<Result<Value, String>, Fault> {
    let text = text.trim();
    let first_error = match read::json(cx, text)? {
        Ok(value) => return Ok(Ok(value)),
        Err(error) => error,
    };
    for candidate in fenced(text).into_iter().chain(balanced(cx, text)) {
        if let Ok(value) = read::json(cx, candidate.trim())? {
            return Ok(Ok(value));
        }
    }
    Ok(Err(first_error))
}

fn fenced(text: &str) -> Vec<&str> {
    let mut parts = text.split("```");
    let mut found = Vec::new();
    parts.next();
    while let (Some(inside), true) = (parts.next(), found.len() < MAX_STARTS) {
        // The rest of the line of the opening fence names the language.
        found.push(inside.split_once('\n').map_or(inside, |(_, body)| body));
        parts.next();
    }
    found
}

fn balanced<'t>(cx: &mut Cx<'_>, text: &'t str) -> Vec<&'t str> {
    let mut found = Vec::new();
    let mut from = 0;
    for _ in 0..MAX_STARTS {
        let Some(start) = text[from..].find(['{', '[']).map(|at| from + at) else { break };
        cx.work(text.len() - start);
        match closing(&text[start..]) {
            Some(length) => {
                found.push(&text[start..start + length]);
                from = start + 1;
            }
            None => from = start + 1,
        }
    }
    found
}

/// How long it is to the bracket that closes the first one.
fn closing(text: &str) -> Option<usize> {
    let (mut depth, mut in_text, mut escaped) = (0usize, false, false);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_text => escaped = true,
            b'"' => in_text = !in_text,
            _ if in_text => {}
            b'{' | b'[' => depth += 1,
            b'}' | b']' => {
                depth -= 1;
                if depth == 0 {
                    return Some(at + 1);
                }
            }
            _ => {}
        }
    }
    None
}
