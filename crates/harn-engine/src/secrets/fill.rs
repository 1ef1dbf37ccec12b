//! Placeholders: where they stand in what leaves, and where secrets stand in what comes back.

use std::fmt::{self, Display, Formatter, Write};
use std::sync::{Arc, OnceLock};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use regex::Regex;
use serde_json::Value;

use super::{Entry, SecretError, Secrets};

/// What a program holds instead of a secret.
pub fn placeholder(name: &str) -> String {
    format!("{{{{harn:secret:{name}}}}}")
}

/// A placeholder as it is, or as forms and addresses spell it.
fn pattern() -> Option<&'static Regex> {
    static PATTERN: OnceLock<Option<Regex>> = OnceLock::new();
    let spelled = r"(?:\{\{|%7[Bb]%7[Bb])harn(?::|%3[Aa])secret(?::|%3[Aa])((?:[A-Za-z0-9_./-]|%2[Ff]){1,128})(?:\}\}|%7[Dd]%7[Dd])";
    PATTERN.get_or_init(|| Regex::new(spelled).ok()).as_ref()
}

/// What may not go there has no placeholder in it, wherever it stands.
pub fn refuse(value: &Value, to: &str) -> Result<(), SecretError> {
    match value {
        Value::String(text) => match pattern().and_then(|pattern| pattern.captures(text)) {
            Some(found) => Err(SecretError::Place { name: named(&found[1]), to: to.to_owned() }),
            None => Ok(()),
        },
        Value::Array(items) => items.iter().try_for_each(|item| refuse(item, to)),
        Value::Object(fields) => fields.values().try_for_each(|field| refuse(field, to)),
        _ => Ok(()),
    }
}

/// Where a secret goes.
#[derive(Clone, Debug)]
pub enum Sink {
    /// A request to this host.
    Host(String),
    /// The environment of this program.
    Program(String),
}

impl Sink {
    pub(super) fn may_have(&self, entry: &Entry) -> bool {
        match self {
            Self::Host(host) => entry.hosts.iter().any(|allowed| is_host(allowed, host)),
            Self::Program(program) => entry.programs.contains(program),
        }
    }
}

impl Display for Sink {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Host(host) => f.write_str(host),
            Self::Program(program) => write!(f, "the program `{program}`"),
        }
    }
}

fn is_host(allowed: &str, host: &str) -> bool {
    let (allowed, host) = (allowed.to_ascii_lowercase(), host.to_ascii_lowercase());
    match allowed.strip_prefix("*.") {
        Some(parent) => host.strip_suffix(parent).is_some_and(|front| front.ends_with('.')),
        None => allowed == host,
    }
}

/// What leaves for one place, and the secrets that went into it.
pub struct Filling {
    secrets: Arc<Secrets>,
    sink: Sink,
    /// Secrets as they were written, and what stood in their place; the longest first.
    used: Vec<(String, String)>,
}

impl Filling {
    pub fn to(secrets: &Arc<Secrets>, sink: Sink) -> Self {
        Self { secrets: Arc::clone(secrets), sink, used: Vec::new() }
    }

    /// Whether secrets went into it.
    pub fn is_secret(&self) -> bool {
        !self.used.is_empty()
    }

    /// A text with secrets in the place of their names.
    pub fn fill(&mut self, text: &str) -> Result<String, SecretError> {
        self.spell(text, |found, secret| match found.starts_with('%') {
            true => in_percents(secret),
            false => secret.to_owned(),
        })
    }

    /// The same for an address.
    pub fn fill_address(&mut self, address: &str) -> Result<String, SecretError> {
        self.spell(address, |_, secret| in_percents(secret))
    }

    /// The same for the value of a header. What it says in base 64, a name and a password, is looked into.
    pub fn fill_header(&mut self, value: &str) -> Result<String, SecretError> {
        let coded = value.strip_prefix("Basic ");
        let pair = coded.and_then(|coded| String::from_utf8(STANDARD.decode(coded).ok()?).ok());
        let (Some(coded), Some(pair)) = (coded, pair) else { return self.fill(value) };
        let filled = STANDARD.encode(self.fill(&pair)?);
        if filled != coded {
            self.note(filled.clone(), coded.to_owned());
        }
        Ok(format!("Basic {filled}"))
    }

    fn spell(&mut self, text: &str, spelled: fn(&str, &str) -> String) -> Result<String, SecretError> {
        let (mut filled, mut at) = (String::with_capacity(text.len()), 0);
        for found in pattern().into_iter().flat_map(|pattern| pattern.captures_iter(text)) {
            let (Some(whole), name) = (found.get(0), named(&found[1])) else { continue };
            let secret = self.secrets.value_for(&name, &self.sink)?;
            let written = spelled(whole.as_str(), &secret);
            filled.push_str(&text[at..whole.start()]);
            filled.push_str(&written);
            self.note(written, placeholder(&name));
            self.note(secret, placeholder(&name));
            at = whole.end();
        }
        filled.push_str(&text[at..]);
        Ok(filled)
    }

    fn note(&mut self, secret: String, stands_for: String) {
        if !secret.is_empty() && !self.used.iter().any(|(known, _)| *known == secret) {
            self.used.push((secret, stands_for));
            self.used.sort_by_key(|(secret, _)| std::cmp::Reverse(secret.len()));
        }
    }

    /// What came back, with names in the place of secrets.
    pub fn scrub(&self, value: &mut Value) {
        match value {
            Value::String(text) => *text = self.scrubbed_text(std::mem::take(text)),
            Value::Array(items) => items.iter_mut().for_each(|item| self.scrub(item)),
            Value::Object(fields) => match fields.get_mut("$bytes") {
                Some(Value::String(coded)) if self.is_secret() => {
                    let plain = STANDARD.decode(coded.as_bytes()).unwrap_or_default();
                    *coded = STANDARD.encode(self.scrubbed(plain));
                }
                _ => fields.values_mut().for_each(|field| self.scrub(field)),
            },
            _ => {}
        }
    }

    pub fn scrubbed_text(&self, text: String) -> String {
        self.used.iter().fold(text, |text, (secret, name)| match text.contains(secret.as_str()) {
            true => text.replace(secret.as_str(), name),
            false => text,
        })
    }

    pub fn scrubbed(&self, plain: Vec<u8>) -> Vec<u8> {
        let used = self.used.iter().map(|(secret, name)| (secret.as_bytes(), name.as_bytes()));
        used.fold(plain, |plain, (secret, name)| {
            let (mut clean, mut rest) = (Vec::with_capacity(plain.len()), plain.as_slice());
            while let Some(at) = rest.windows(secret.len()).position(|part| part == secret) {
                clean.extend_from_slice(&rest[..at]);
                clean.extend_from_slice(name);
                rest = &rest[at + secret.len()..];
            }
            clean.extend_from_slice(rest);
            clean
        })
    }

    /// How much at the end may be the beginning of a secret whose rest is still to come.
    pub fn held(&self, plain: &[u8]) -> usize {
        let held = |secret: &[u8]| (1..secret.len()).rev().find(|length| plain.ends_with(&secret[..*length]));
        self.used.iter().filter_map(|(secret, _)| held(secret.as_bytes())).max().unwrap_or(0)
    }
}

fn named(spelled: &str) -> String {
    spelled.replace("%2F", "/").replace("%2f", "/")
}

fn in_percents(text: &str) -> String {
    text.bytes().fold(String::new(), |mut spelled, byte| {
        let is_plain = byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
        // Writing to a text does not fail.
        let _ =
            if is_plain { write!(spelled, "{}", char::from(byte)) } else { write!(spelled, "%{byte:02X}") };
        spelled
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::secrets::{Kept, May};
    use serde_json::json;

    fn secrets(value: &str) -> (tempfile::TempDir, Arc<Secrets>) {
        let folder = tempfile::tempdir().unwrap();
        let secrets = Secrets::at(folder.path(), Some(Kept::File));
        let may = May { hosts: vec!["api.test".into()], programs: vec!["gh".into()] };
        secrets.put("a/key", value, may).unwrap();
        (folder, Arc::new(secrets))
    }

    fn api(secrets: &Arc<Secrets>) -> Filling {
        Filling::to(secrets, Sink::Host("api.test".into()))
    }

    #[test]
    fn secrets_are_put_in_on_the_way_out_and_taken_out_on_the_way_back() {
        let (_folder, secrets) = secrets("s3cr3t");
        let key = placeholder("a/key");
        let mut filling = api(&secrets);
        assert_eq!(filling.fill(&format!("Bearer {key} and {key}")).unwrap(), "Bearer s3cr3t and s3cr3t");
        let bytes = |text: &str| json!({ "$bytes": STANDARD.encode(text) });
        let mut back =
            json!({ "body": "you sent s3cr3t", "n": [1, "s3cr3t"], "b": bytes("\u{1}s3cr3ts3cr3t") });
        filling.scrub(&mut back);
        let sent = format!("you sent {key}");
        assert_eq!(back, json!({ "body": sent, "n": [1, key], "b": bytes(&format!("\u{1}{key}{key}")) }));
        assert_eq!(filling.fill("{{harn:secret:}} {{x}}").unwrap(), "{{harn:secret:}} {{x}}");
    }

    #[test]
    fn a_placeholder_is_found_however_it_is_spelled_and_the_secret_too() {
        let (_folder, secrets) = secrets("p&ss \u{e4}");
        let key = placeholder("a/key");
        let spelled = "%7B%7Bharn%3Asecret%3Aa%2Fkey%7D%7D";
        let mut filling = api(&secrets);
        assert_eq!(filling.fill(&format!("k={spelled}")).unwrap(), "k=p%26ss%20%C3%A4");
        let address = filling.fill_address(&format!("http://api.test/?k={key}&l={spelled}")).unwrap();
        assert_eq!(address, "http://api.test/?k=p%26ss%20%C3%A4&l=p%26ss%20%C3%A4");
        let basic = format!("Basic {}", STANDARD.encode(format!("me:{key}")));
        let filled = filling.fill_header(&basic).unwrap();
        assert_eq!(filled, format!("Basic {}", STANDARD.encode("me:p&ss \u{e4}")));
        assert_eq!(filling.scrubbed_text(filled), basic);
        assert_eq!(filling.scrubbed_text("p&ss \u{e4} p%26ss%20%C3%A4".into()), format!("{key} {key}"));
    }

    #[test]
    fn a_secret_goes_nowhere_else() {
        let (_folder, secrets) = secrets("s3cr3t");
        let key = placeholder("a/key");
        let program = |name: &str| Filling::to(&secrets, Sink::Program(name.into()));
        assert_eq!(program("gh").fill(&key).unwrap(), "s3cr3t");
        for mut other in
            [program("./gh"), program("api.test"), Filling::to(&secrets, Sink::Host("gh".into()))]
        {
            assert!(matches!(other.fill(&key), Err(SecretError::Place { .. })));
        }
        assert!(refuse(&json!({ "a": ["x", format!("is {key}")] }), "x").is_err());
        assert!(refuse(&json!({ "a": ["x", "{{harn}}"] }), "x").is_ok());
    }

    #[test]
    fn what_may_be_half_a_secret_is_held() {
        let (_folder, secrets) = secrets("s3cs3d");
        let mut filling = api(&secrets);
        assert_eq!(filling.held(b"s3"), 0);
        filling.fill(&placeholder("a/key")).unwrap();
        for (text, held) in [("", 0), ("x", 0), ("xs", 1), ("s3cs3", 5), ("s3cs3d", 0), ("s3cs3cs", 4)] {
            assert_eq!(filling.held(text.as_bytes()), held, "{text}");
        }
    }
}
