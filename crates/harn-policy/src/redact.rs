//! Takes well-known forms of secrets out of text, in one pass.

use std::borrow::Cow;

use serde_json::Value;

/// The text without secrets; each is replaced by `[redacted: <what>]`.
pub fn redact(text: &str) -> Cow<'_, str> {
    let bytes = text.as_bytes();
    let mut out: Option<String> = None;
    let (mut at, mut kept) = (0, 0);
    while at < bytes.len() {
        match secret_at(text, at) {
            Some(found) => {
                let out = out.get_or_insert_with(|| String::with_capacity(text.len()));
                out.push_str(&text[kept..found.start]);
                out.push_str("[redacted: ");
                out.push_str(found.what);
                out.push(']');
                at = found.end;
                kept = found.end;
            }
            None => at += 1,
        }
    }
    match out {
        None => Cow::Borrowed(text),
        Some(mut out) => {
            out.push_str(&text[kept..]);
            Cow::Owned(out)
        }
    }
}

/// The same for every text in a JSON value, keys included.
pub fn redact_value(value: &mut Value) {
    let mut open = vec![value];
    while let Some(value) = open.pop() {
        match value {
            Value::String(text) => {
                if let Cow::Owned(clean) = redact(text) {
                    *text = clean;
                }
            }
            Value::Array(items) => open.extend(items.iter_mut()),
            Value::Object(map) => {
                let told: Vec<String> =
                    map.keys().filter(|key| matches!(redact(key), Cow::Owned(_))).cloned().collect();
                for key in told {
                    if let Some(held) = map.remove(&key) {
                        map.insert(redact(&key).into_owned(), held);
                    }
                }
                open.extend(map.iter_mut().map(|(_, held)| held));
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
}

struct Found {
    start: usize,
    end: usize,
    what: &'static str,
}

/// A secret form that is a prefix and then some characters.
struct Form {
    prefix: &'static str,
    what: &'static str,
    shortest: usize,
    longest: usize,
    allowed: fn(u8) -> bool,
}

fn word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-'
}

fn letters(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
}

fn letters_and_bars(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

fn upper(byte: u8) -> bool {
    byte.is_ascii_uppercase() || byte.is_ascii_digit()
}

const ANY: usize = usize::MAX;

const FORMS: &[Form] = &[
    Form { prefix: "AKIA", what: "AWS access key id", shortest: 16, longest: 16, allowed: upper },
    Form { prefix: "ASIA", what: "AWS access key id", shortest: 16, longest: 16, allowed: upper },
    Form { prefix: "ghp_", what: "GitHub token", shortest: 30, longest: ANY, allowed: letters },
    Form { prefix: "gho_", what: "GitHub token", shortest: 30, longest: ANY, allowed: letters },
    Form { prefix: "ghs_", what: "GitHub token", shortest: 30, longest: ANY, allowed: letters },
    Form { prefix: "ghu_", what: "GitHub token", shortest: 30, longest: ANY, allowed: letters },
    Form { prefix: "ghr_", what: "GitHub token", shortest: 30, longest: ANY, allowed: letters },
    Form {
        prefix: "github_pat_",
        what: "GitHub token",
        shortest: 40,
        longest: ANY,
        allowed: letters_and_bars,
    },
    Form { prefix: "glpat-", what: "GitLab token", shortest: 20, longest: ANY, allowed: word },
    Form { prefix: "sk-ant-", what: "API key", shortest: 20, longest: ANY, allowed: word },
    Form { prefix: "sk-", what: "API key", shortest: 20, longest: ANY, allowed: word },
    Form { prefix: "xoxb-", what: "Slack token", shortest: 10, longest: ANY, allowed: word },
    Form { prefix: "xoxp-", what: "Slack token", shortest: 10, longest: ANY, allowed: word },
    Form { prefix: "xoxa-", what: "Slack token", shortest: 10, longest: ANY, allowed: word },
    Form { prefix: "xoxr-", what: "Slack token", shortest: 10, longest: ANY, allowed: word },
    Form { prefix: "xoxs-", what: "Slack token", shortest: 10, longest: ANY, allowed: word },
    Form { prefix: "AIza", what: "Google API key", shortest: 35, longest: 35, allowed: word },
    Form { prefix: "harn_", what: "Harn API key", shortest: 43, longest: 43, allowed: word },
];

fn secret_at(text: &str, at: usize) -> Option<Found> {
    let bytes = text.as_bytes();
    if bytes[at] == b'-' {
        return private_key(text, at);
    }
    // Only at the beginning of a word, so that every run of characters is looked at once. The letter of an
    // escape such as `\n` in quoted JSON is no part of the word after it.
    let escape = at > 1 && bytes[at - 2] == b'\\';
    if at > 0 && word(bytes[at - 1]) && !escape {
        return None;
    }
    match bytes[at] {
        b'a' | b'A' | b's' | b'g' | b'x' | b'h' | b'e' | b'p' | b'P' => {
            form(bytes, at).or_else(|| jwt(bytes, at)).or_else(|| named_value(text, at))
        }
        _ => None,
    }
}

fn run(bytes: &[u8], from: usize, allowed: fn(u8) -> bool) -> usize {
    bytes[from..].iter().take_while(|byte| allowed(**byte)).count()
}

fn form(bytes: &[u8], at: usize) -> Option<Found> {
    let rest = &bytes[at..];
    let form = FORMS.iter().find(|form| rest.starts_with(form.prefix.as_bytes()))?;
    let from = at + form.prefix.len();
    let length = run(bytes, from, form.allowed);
    let ended = bytes.get(from + length).is_none_or(|byte| !word(*byte));
    // Words with hyphens, such as `sk-learn-compatible-estimators`, have no digits or capitals.
    let random = {
        let body = &bytes[from..from + length];
        body.iter().any(u8::is_ascii_digit) && body.iter().any(|byte| byte.is_ascii_alphabetic())
    };
    (length >= form.shortest && length <= form.longest && ended && random).then_some(Found {
        start: at,
        end: from + length,
        what: form.what,
    })
}

/// `eyJ….eyJ….…`
fn jwt(bytes: &[u8], at: usize) -> Option<Found> {
    if !bytes[at..].starts_with(b"eyJ") {
        return None;
    }
    let mut end = at;
    for part in 0..3 {
        if part > 0 {
            if bytes.get(end) != Some(&b'.') {
                return None;
            }
            end += 1;
        }
        let length = run(bytes, end, word);
        let header = part == 2 || bytes[end..].starts_with(b"eyJ");
        if length < 8 || !header {
            return None;
        }
        end += length;
    }
    Some(Found { start: at, end, what: "JSON web token" })
}

/// Values after a name that says what they are.
fn named_value(text: &str, at: usize) -> Option<Found> {
    let rest = &text.as_bytes()[at..];
    let named =
        |name: &str| rest.len() > name.len() && rest[..name.len()].eq_ignore_ascii_case(name.as_bytes());
    if named("aws_secret_access_key") {
        let from = skip(text, at + "aws_secret_access_key".len(), b"\"' \t=:");
        let length =
            run(text.as_bytes(), from, |byte| byte.is_ascii_alphanumeric() || b"/+=".contains(&byte));
        let separated = text.as_bytes()[at..from].iter().any(|byte| matches!(byte, b'=' | b':'));
        return (length >= 40 && separated).then_some(Found {
            start: from,
            end: from + length,
            what: "AWS secret key",
        });
    }
    let header = ["authorization", "proxy-authorization"].into_iter().find(|name| named(name))?;
    let from = skip(text, at + header.len(), b"\"' \t:=");
    let scheme = ["bearer ", "token ", "basic "].into_iter().find(|scheme| {
        text.as_bytes()[from..].len() > scheme.len()
            && text.as_bytes()[from..from + scheme.len()].eq_ignore_ascii_case(scheme.as_bytes())
    })?;
    let from = skip(text, from + scheme.len(), b" \t");
    let length =
        run(text.as_bytes(), from, |byte| byte.is_ascii_alphanumeric() || b"-._~+/=".contains(&byte));
    (length >= 8).then_some(Found { start: from, end: from + length, what: "authorization" })
}

/// A few separators at most, so that a long run of them is not read again and again.
fn skip(text: &str, from: usize, among: &[u8]) -> usize {
    from + text.as_bytes()[from..].iter().take(16).take_while(|byte| among.contains(byte)).count()
}

fn private_key(text: &str, at: usize) -> Option<Found> {
    let rest = &text[at..];
    let after = rest.strip_prefix("-----BEGIN ")?;
    let line = after.as_bytes().iter().take(64).position(|byte| *byte == b'-')?;
    if !after[..line].ends_with("PRIVATE KEY") && !after[..line].ends_with("PRIVATE KEY BLOCK") {
        return None;
    }
    // A key that is cut off is still a key: then everything after its head goes.
    let end = match after.find("-----END ") {
        None => text.len(),
        Some(tail) => {
            let tail = at + (rest.len() - after.len()) + tail + "-----END ".len();
            let close = text.as_bytes()[tail..].iter().take(64).position(|byte| *byte == b'-').unwrap_or(0);
            let dashes = run(text.as_bytes(), tail + close, |byte| byte == b'-').min(5);
            tail + close + dashes
        }
    };
    Some(Found { start: at, end, what: "private key" })
}
