//! How fast sources are read and laid out. Prints figures and asserts nothing about them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::time::{Duration, Instant};

use harn_lang::format::format;
use harn_lang::syntax::parse;

/// Lines like those of an ordinary program, all different.
fn program(lines: usize) -> String {
    let mut source = String::new();
    for number in 0..lines / 10 {
        source.push_str(&format!(
            "/// Does step {number}.\n\
             pub fn step_{number}(input: string, limit: int = {number}) -> list<string> {{\n  \
               let parts = input.split(\",\").map({{ part -> part.trim() }}).filter({{ part -> part != \"\" }})\n  \
               if parts.count > limit && limit >= 0 {{\n    \
                 log(\"step {number}: ${{parts.count}} of ${{limit}}\") // too many\n  \
               }}\n  \
               let options = {{name: \"step_{number}\", retries: 3, tags: [\"a\", \"b\"], nested: {{deep: true}}}}\n  \
               return parts[0:limit] + [options.name ?? \"none\"]\n\
             }}\n\n"
        ));
    }
    source
}

fn best_of_five<T>(work: impl Fn() -> T) -> Duration {
    let runs = (0..5).map(|_| {
        let start = Instant::now();
        let result = work();
        let taken = start.elapsed();
        drop(result);
        taken
    });
    runs.min().unwrap_or_default()
}

#[test]
#[ignore = "prints figures; run it with --release --ignored --nocapture"]
fn figures() {
    for lines in [1_000, 10_000, 100_000] {
        let source = program(lines);
        assert_eq!(parse(&source).errors, []);
        for (what, taken) in
            [("parse", best_of_five(|| parse(&source))), ("format", best_of_five(|| format(&source)))]
        {
            let rate = lines as f64 / taken.as_secs_f64();
            println!(
                "{what:>6} {lines:>7} lines, {:>9} bytes: {taken:>10.2?}, {rate:>9.0} lines/s",
                source.len()
            );
        }
    }
}

#[test]
#[ignore = "prints figures; run it with --release --ignored --nocapture"]
fn figures_of_hostile_sources() {
    let long = 1_000_000;
    let sources = [
        ("10,000 nested brackets", format!("{}{}", "[".repeat(10_000), "]".repeat(10_000))),
        ("a line of 10 MB", format!("let x = [{}]", "12345678, ".repeat(long))),
        ("a name of 10 MB", "x".repeat(10 * long)),
        ("1 MB of !", "!".repeat(long)),
        ("1 MB of {", "{".repeat(long)),
        ("1 MB of a<", "a<".repeat(long / 2)),
        ("a million else if", format!("if a {{}}{}", " else if a {}".repeat(long))),
        ("1 MB of /*", "/*".repeat(long / 2)),
        ("1 MB of \"${", "\"${".repeat(long / 3)),
        ("a million errors", "let x = )\n".repeat(long)),
    ];
    for (what, source) in sources {
        let start = Instant::now();
        let errors = format(&source).err().unwrap_or_default().len();
        println!("{what:>24}: {:>9.2?}, {errors} errors", start.elapsed());
    }
}
