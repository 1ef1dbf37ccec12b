//! Names in other spellings: `snake_case`, `kebab-case`, `camelCase`, `PascalCase`, and titles.

use super::{Cx, args};
use crate::fault::Fault;
use crate::value::Value;

type Answer = Result<Value, Fault>;

fn respell(cx: &mut Cx<'_>, args: &[Value], spell: fn(&str) -> String) -> Answer {
    let text = args::text(cx, args, 0)?;
    cx.charge(text.len().saturating_mul(2))?;
    Ok(spell(&text).into())
}

macro_rules! spellings {
    ($($name:ident: $spell:expr;)*) => {
        $(pub fn $name(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
            respell(cx, args, $spell)
        })*
    };
}

spellings! {
    camel_to_snake: |text| apart(text, '_');
    camel_to_kebab: |text| apart(text, '-');
    camel_to_pascal: capitalised;
    pascal_to_snake: |text| apart(text, '_');
    pascal_to_camel: uncapitalised;
    snake_to_camel: |text| together(text, '_');
    snake_to_pascal: |text| capitalised(&together(text, '_'));
    snake_to_kebab: |text| text.replace('_', "-");
    kebab_to_camel: |text| together(text, '-');
    kebab_to_snake: |text| text.replace('-', "_");
    uppercase_first: capitalised;
    lowercase_first: uncapitalised;
    title_case: title;
}

pub fn capitalised(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().into_iter().flat_map(char::to_uppercase).chain(chars).collect()
}

fn uncapitalised(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().into_iter().flat_map(char::to_lowercase).chain(chars).collect()
}

/// Every word with a capital first letter and small others.
pub fn title(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut in_word = false;
    for c in text.chars() {
        if in_word {
            out.extend(c.to_lowercase());
        } else {
            out.extend(c.to_uppercase());
        }
        in_word = !c.is_whitespace();
    }
    out
}

/// A new word starts at a capital after a small letter or digit, and at the last capital of several (`HTTPServer`).
fn apart(text: &str, separator: char) -> String {
    let chars: Vec<char> = text.chars().collect();
    let mut out = String::with_capacity(text.len() + 8);
    for (at, c) in chars.iter().enumerate() {
        let before = at.checked_sub(1).and_then(|at| chars.get(at));
        let starts = c.is_uppercase()
            && before.is_some_and(|before| {
                let ends_capitals =
                    before.is_uppercase() && chars.get(at + 1).is_some_and(|next| next.is_lowercase());
                before.is_lowercase() || before.is_numeric() || ends_capitals
            });
        if starts {
            out.push(separator);
        }
        out.extend(c.to_lowercase());
    }
    out
}

/// The first word as it is, every other one with a capital first letter.
fn together(text: &str, separator: char) -> String {
    let mut words = text.split(separator).filter(|word| !word.is_empty());
    let first = words.next().unwrap_or_default().to_owned();
    words.fold(first, |out, word| out + &capitalised(word))
}
