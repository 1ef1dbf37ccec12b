//! One page of figures, each beside a named peer or limit measured in the same run: `cargo bench`.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod commit;
mod language;
mod models;
mod policy;
mod runaway;
mod scripts;
mod serve;
#[path = "../../tests/support/mod.rs"]
mod support;
mod tasks;

fn main() {
    // `cargo test --all-targets` runs this file too, and has no use for numbers.
    if !std::env::args().any(|argument| argument == "--bench") {
        return;
    }
    if models::memory::is_probe() || scripts::parked::is_probe() {
        return;
    }
    // One part by its name, or all of them.
    let wanted = |part: &str| {
        let parts: Vec<String> =
            std::env::args().skip(1).filter(|argument| !argument.starts_with("--")).collect();
        parts.is_empty() || parts.iter().any(|asked| asked == part)
    };
    let mut out = std::io::stdout();
    if wanted("commits") {
        commit::report(&mut out);
    }
    if wanted("tasks") {
        tasks::report(&mut out);
    }
    if wanted("policy") {
        policy::report(&mut out);
    }
    if wanted("runaway") {
        runaway::report(&mut out);
    }
    if wanted("models") {
        models::report(&mut out);
    }
    if wanted("serve") {
        serve::report(&mut out);
    }
    if wanted("language") {
        language::report(&mut out);
    }
    if wanted("scripts") {
        scripts::report(&mut out);
    }
}
