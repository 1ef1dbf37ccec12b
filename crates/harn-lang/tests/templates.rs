//! Templates that include others.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use harn_lang::builtins::{Cx, Meter, Rng};
use harn_lang::template::{self, Included, Includes};

/// Templates by name.
struct Files(Vec<(&'static str, String)>);

impl Includes for Files {
    fn load(&mut self, path: &str, from: &str) -> Result<Included, String> {
        let found = self.0.iter().find(|(name, _)| *name == path);
        let (name, source) = found.ok_or_else(|| format!("there is no \"{path}\" for \"{from}\""))?;
        Ok(Included { name: (*name).to_owned(), source: source.clone() })
    }
}

fn render(files: &[(&'static str, &str)], source: &str) -> String {
    let mut files = Files(files.iter().map(|(name, text)| (*name, (*text).to_owned())).collect());
    let bindings = common::run("{name: 'Ann', xs: [1, 2]}").unwrap();
    let mut meter = Meter { fuel: 1 << 30, ..Meter::new(1 << 20) };
    let mut cx = Cx { meter: &mut meter, rng: &mut Rng::new(1) };
    template::render(&mut cx, source, &bindings, &mut files).unwrap_or_else(|fault| fault.to_string())
}

#[test]
fn an_included_template_sees_what_is_around_it_and_what_it_is_given() {
    let files =
        [("hello", "Hi {{ name }}{{ mark }}"), ("outer", "<{{ include \"hello\" with {mark: \"!\"} }}>")];
    assert_eq!(render(&files, "{{ include \"outer\" }}"), "<Hi Ann!>");
    assert_eq!(
        render(&files, "{{ for x in xs }}{{ include \"hello\" with { name: x, mark: \";\" } }}{{ end }}"),
        "Hi 1;Hi 2;"
    );
    assert_eq!(render(&files, "{{ include \"hello\" }}"), "Hi Ann{{ mark }}");
}

#[test]
fn what_goes_wrong_is_told_with_its_line() {
    let files = [
        ("a", "{{ include \"b\" }}"),
        ("b", "\n{{ include \"a\" }}"),
        ("bad", "{{ end }}"),
        ("again", "{{ include \"again\" }}"),
    ];
    for (source, expected) in [
        ("{{ include \"a\" }}", "Thrown: Template error at line 2: circular include detected: a"),
        ("{{ include \"again\" }}", "Thrown: Template error at line 1: circular include detected: again"),
        ("\n{{ include \"no\" }}", "Thrown: Template error at line 2: there is no \"no\" for \"\""),
        (
            "{{ include \"bad\" }}",
            "Thrown: Template error at line 1: 'end' without a block that it belongs to",
        ),
        ("\n{{ if }}x{{ end }}", "Thrown: Template error at line 2: 'if' needs a condition"),
        ("{{ if true }}\n{{ elif }}{{ end }}", "Thrown: Template error at line 2: 'elif' needs a condition"),
        (
            "{{ for }}x{{ end }}",
            "Thrown: Template error at line 1: 'for' needs a name and what it goes through",
        ),
    ] {
        assert_eq!(render(&files, source), expected, "{source}");
    }
}

#[test]
fn a_template_that_has_a_name_cannot_include_itself() {
    let first = Included { name: "self".to_owned(), source: "{{ include \"self\" }}".to_owned() };
    let mut files = Files(vec![("self", first.source.clone())]);
    let mut meter = Meter { fuel: 1 << 30, ..Meter::new(1 << 20) };
    let mut cx = Cx { meter: &mut meter, rng: &mut Rng::new(1) };
    let bindings = common::run("{}").unwrap();
    let fault = template::render_included(&mut cx, first, &bindings, &mut files).unwrap_err();
    assert_eq!(fault.to_string(), "Thrown: Template error at line 1: circular include detected: self");
}

#[test]
fn a_template_that_multiplies_itself_runs_into_the_limit() {
    let twice = |name: &str| format!("{{{{ include \"{name}\" }}}}{{{{ include \"{name}\" }}}}");
    let names = [
        "l0", "l1", "l2", "l3", "l4", "l5", "l6", "l7", "l8", "l9", "l10", "l11", "l12", "l13", "l14", "l15",
    ];
    let mut files: Vec<(&'static str, String)> = vec![("l0", "x".repeat(64))];
    files.extend(names.windows(2).map(|pair| (pair[1], twice(pair[0]))));
    let files: Vec<(&'static str, &str)> = files.iter().map(|(name, text)| (*name, text.as_str())).collect();
    let got = render(&files, "{{ include \"l15\" }}");
    assert_eq!(got, "Memory limit exceeded: the program may use 1048576 bytes");
}

#[test]
fn hostile_tags_take_time_in_proportion_to_the_text() {
    let ends = "Thrown: Template error at line 1: a tag that starts with {{ does not end";
    for (part, tail) in [("{{'", ""), ("{{#", ""), ("{{ raw }}{{", ""), ("{{", "")] {
        let got = render(&[], &(part.repeat(100_000) + tail));
        assert!(
            got == ends || got.contains("without 'endraw'"),
            "{part}: {}",
            got.chars().take(200).collect::<String>()
        );
    }
    let chain = format!("{{{{ name {} }}}}", "| upper ".repeat(1000));
    assert_eq!(
        render(&[], &chain),
        "Thrown: Template error at line 1: a tag may have 128 filters and operators"
    );
    let nested = format!("{{{{ {}name{} }}}}", "(".repeat(1000), ")".repeat(1000));
    assert_eq!(render(&[], &nested), "Thrown: Template error at line 1: expressions may be nested 32 deep");
}
