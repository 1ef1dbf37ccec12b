//! What the language declares is performed by somebody: no builtin is there in name only.
#![allow(clippy::unwrap_used)]

use harn_engine::calls;
use harn_lang::builtins::{self, Body};

/// Effects that are requests of their own: the driver or the harness answers them without an executor.
const BY_THE_DRIVER: &[&str] =
    &["__sleep", "sleep", "exit", "__llm", "__tool", "__ask", "__tool_begin", "__waitpoint"];

/// Effects whose calls have names by what they do.
const RENAMED: &[(&str, &[&str])] = &[
    ("__http", &["http_read", "http_send"]),
    ("__http_open", &["http_open_read", "http_open_send"]),
    ("__http_read", &["http_read_piece"]),
];

#[test]
fn every_effect_of_the_language_has_somebody_who_performs_it() {
    let calls = calls::all();
    let mut missing = Vec::new();
    for builtin in builtins::all().filter(|builtin| matches!(builtin.body, Body::Effect)) {
        if BY_THE_DRIVER.contains(&builtin.name) {
            continue;
        }
        let renamed = RENAMED.iter().find(|(name, _)| *name == builtin.name);
        let names = match renamed {
            Some((_, names)) => names.iter().map(|name| (*name).to_owned()).collect(),
            None => vec![builtin.name.trim_start_matches('_').to_owned()],
        };
        missing.extend(names.into_iter().filter(|name: &String| calls.spec(name).is_none()));
    }
    assert_eq!(missing, Vec::<String>::new(), "declared, and nobody performs it");
    let is_asked = |name: &str| {
        let renamed = RENAMED.iter().any(|(_, names)| names.contains(&name));
        renamed || builtins::find(name).is_some() || builtins::find(&format!("__{name}")).is_some()
    };
    let idle: Vec<String> = (calls.specs().iter().map(|spec| spec.name.clone()))
        .filter(|name| !is_asked(name) && name != "builtin_call")
        .collect();
    assert_eq!(idle, Vec::<String>::new(), "performed, and nobody can ask for it");
}
