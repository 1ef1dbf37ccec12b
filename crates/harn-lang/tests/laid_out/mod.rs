//! Formats a source and checks what must hold for every source.

use harn_lang::format::format;
use harn_lang::syntax::parse;

/// The programs in `tests/programs`, by name.
pub fn programs() -> Vec<(String, String)> {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs");
    let mut programs: Vec<(String, String)> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .map(|path| {
            (path.file_stem().unwrap().to_string_lossy().into_owned(), std::fs::read_to_string(path).unwrap())
        })
        .collect();
    programs.sort();
    programs
}

/// The texts of all comments, in any order, without the blanks at the ends of their lines.
fn comments(source: &str) -> Vec<String> {
    let parsed = parse(source);
    let text = |span: harn_lang::syntax::span::Span| {
        span.of(source).lines().map(str::trim_end).collect::<Vec<_>>().join("\n")
    };
    let mut texts: Vec<String> = parsed.comments.iter().map(|comment| text(comment.span)).collect();
    texts.sort();
    texts
}

/// Formats, and checks what holds for every source that can be read.
pub fn checked(source: &str) -> String {
    let formatted = format(source).unwrap_or_else(|errors| panic!("{errors:?}\n{source}"));
    let (before, after) = (parse(source), parse(&formatted));
    assert_eq!(after.errors, [], "broken by formatting:\n{source}\n=>\n{formatted}");
    assert_eq!(
        crate::tree::module(&after.module),
        crate::tree::module(&before.module),
        "changed:\n{source}\n=>\n{formatted}"
    );
    assert_eq!(comments(&formatted), comments(source), "comments:\n{source}\n=>\n{formatted}");
    let again = format(&formatted).unwrap();
    assert_eq!(again, formatted, "not stable:\n{source}");
    formatted
}
