//! Placeholders: where they stand in what leaves, and where secrets stand in what comes back.

use std::sync::OnceLock;

use regex::Regex;
use serde_json::Value;

use super::{SecretError, Secrets};

/// What a program holds instead of a secret.
pub fn placeholder(name: &str) -> String {
    format!("{{{{harn:secret:{name}}}}}")
}

fn pattern() -> Option<&'static Regex> {
    static PATTERN: OnceLock<Option<Regex>> = OnceLock::new();
    PATTERN.get_or_init(|| Regex::new(r"\{\{harn:secret:([A-Za-z0-9_./-]{1,128})\}\}").ok()).as_ref()
}

/// One request to a host, and the secrets that went into it.
pub struct Filling<'s> {
    secrets: &'s Secrets,
    host: String,
    used: Vec<(String, String)>,
}

impl<'s> Filling<'s> {
    pub fn to(secrets: &'s Secrets, host: &str) -> Self {
        Self { secrets, host: host.to_owned(), used: Vec::new() }
    }

    /// A text with secrets in the place of their names.
    pub fn fill(&mut self, text: &str) -> Result<String, SecretError> {
        let Some(pattern) = pattern().filter(|_| text.contains("{{harn:secret:")) else {
            return Ok(text.to_owned());
        };
        let mut filled = String::with_capacity(text.len());
        let mut at = 0;
        for found in pattern.captures_iter(text) {
            let (Some(whole), Some(name)) = (found.get(0), found.get(1)) else { continue };
            filled.push_str(&text[at..whole.start()]);
            let value = self.secrets.value_for(name.as_str(), &self.host)?;
            filled.push_str(&value);
            self.used.push((value, placeholder(name.as_str())));
            at = whole.end();
        }
        filled.push_str(&text[at..]);
        Ok(filled)
    }

    /// What came back, with names in the place of secrets.
    pub fn scrub(&self, value: &mut Value) {
        match value {
            Value::String(text) => {
                for (secret, placeholder) in self.used.iter().filter(|(secret, _)| secret.len() >= 4) {
                    if text.contains(secret.as_str()) {
                        *text = text.replace(secret.as_str(), placeholder);
                    }
                }
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.scrub(item)),
            Value::Object(fields) => fields.values_mut().for_each(|field| self.scrub(field)),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::secrets::Kept;
    use serde_json::json;

    #[test]
    fn secrets_are_put_in_on_the_way_out_and_taken_out_on_the_way_back() {
        let folder = tempfile::tempdir().unwrap();
        let secrets = Secrets::at(folder.path(), Some(Kept::File));
        secrets.put("key", "s3cr3t", vec!["api.test".into()]).unwrap();
        let mut filling = Filling::to(&secrets, "api.test");
        let sent =
            filling.fill(&format!("Bearer {} and {}", placeholder("key"), placeholder("key"))).unwrap();
        assert_eq!(sent, "Bearer s3cr3t and s3cr3t");
        let mut back = json!({ "body": "you sent s3cr3t", "n": [1, "s3cr3t"] });
        filling.scrub(&mut back);
        assert_eq!(
            back,
            json!({ "body": format!("you sent {}", placeholder("key")), "n": [1, placeholder("key")] })
        );
        assert_eq!(filling.fill("{{harn:secret:}} {{x}}").unwrap(), "{{harn:secret:}} {{x}}");
        assert!(Filling::to(&secrets, "evil.test").fill(&placeholder("key")).is_err());
    }
}
