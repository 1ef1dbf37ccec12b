//! The page of all builtins, written from the registry.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use harn_lang::builtins::{Body, Builtin, GROUPS, Group};
use harn_lang::bytecode::Source;
use harn_lang::compile::{NoModules, Settings, compile};
use harn_lang::value::Value;
use harn_lang::vm::{Limits, State, Vm};

/// The chapters of the page, with the groups of each in the order in which they are read.
const PARTS: &[(&str, &[&str])] = &[
    (
        "Values and text",
        &[
            "Types, Result",
            "Assertions, error categories",
            "Output, input, logging, uuid",
            "Strings, case, render",
            "Math",
            "Date and duration",
        ],
    ),
    ("Collections", &["Collection helpers", "Dict helpers", "Sets", "Iterators and streams"]),
    (
        "Tasks",
        &[
            "Task control",
            "Channels, atomics, sync, shared state, circuit",
            "Supervisors",
            "Runtime context",
            "Waitpoints",
        ],
    ),
    (
        "Data formats",
        &[
            "JSON, YAML, TOML, schema",
            "Regex",
            "CSV",
            "Bytes",
            "Encoding, hashing, signing",
            "Compression",
            "JUnit reports",
            "Secrets in text",
        ],
    ),
    (
        "Files and processes",
        &[
            "Paths",
            "Files",
            "File watching",
            "Process, environment",
            "Clock",
            "Store",
            "Checkpoint",
            "Metadata",
        ],
    ),
    (
        "Network",
        &["URL", "Cookies", "Multipart", "HTTP client", "Egress", "HTTP mock and server", "SSE", "WebSocket"],
    ),
    ("Tools and skills", &["Tool registry", "Skills", "MCP client", "MCP server"]),
    (
        "Models and agents",
        &[
            "LLM core",
            "LLM configuration",
            "LLM cost",
            "Conversation, transcripts",
            "Transcript statistics",
            "Transcript compaction",
            "Context assembly",
            "Agent sessions",
            "Agents, workers",
            "Agent feedback",
            "Daemons",
            "Review",
        ],
    ),
    ("Workflows and records", &["Workflows", "Workflow messages", "Records, artifacts, evals", "Event log"]),
    (
        "People, rules and the host",
        &[
            "Human in the loop",
            "Pending questions",
            "Command policy",
            "Host bridge, mocks",
            "Tracing",
            "Secrets, metrics, connectors",
            "Triggers, trust",
        ],
    ),
    ("Not offered", &["Flow invariants", "Project", "Project enrichment", "Postgres", "Vision", "Monitors"]),
];

/// What is used without a call.
const VALUES: &[&str] = &["e", "pi", "stream"];

const INTRODUCTION: &str = "\
# All builtins

Every function that a program has without an import, with a sentence each. This page is written from the code:
`UPDATE_DOCS=1 cargo test -p harn-lang --test registry`.

A `?` after a parameter means that it may be left out, `...` that there may be more. A call with fewer arguments than
parameters is fine as well: the rest is `nil`. Lists, dicts, texts and other values have methods besides.

| status | what it means |
|---|---|
| works | wherever Harn runs |
| host | it does something outside of the program, so that the host has to offer it; elsewhere the call throws an error that a program can catch |
| not yet | its name is known, and a call throws an error that a program can catch |
| no | it is not offered; the call throws the reason |

`harn run` is a host for some of them; [the front page](README.md#what-works-and-what-does-not-yet) says which.

## Left out on purpose

Programs that use these names are read and checked; only a call says that there is nothing behind it. Servers over HTTP,
SSE and WebSocket, connectors, triggers, flow invariants, Postgres, reading text in images, scanning projects, and
evaluations are left out, for these reasons:

| where | builtins | why |
|---|---|---|
";

/// Whether the VM has nothing behind the name yet.
fn is_still_missing(builtin: &Builtin) -> bool {
    let call = format!("{}([1], 1)\n", builtin.name);
    let source = Source { name: "call".into(), text: call.into() };
    let Ok(program) = compile(source, &NoModules, &Settings::default()) else { return false };
    let mut vm = Vm::new(Arc::new(program), Vec::new(), Limits::default(), 1);
    // Whatever needs more than this many steps is there.
    match vm.run(10_000).state {
        State::Failed(failure) => failure.fault.to_string().contains("is not available here"),
        // A member that does not exist is nil, whatever it is called with.
        State::Done(value) => value == Value::Nil && builtin.name.contains('.'),
        State::OutOfFuel | State::Waiting => false,
    }
}

fn status(builtin: &Builtin) -> String {
    match builtin.body {
        Body::Vm if is_still_missing(builtin) => "not yet".into(),
        Body::Pure(_) | Body::Prelude | Body::Vm => "works".into(),
        Body::Effect => "host".into(),
        Body::Refused(why) => format!("no: {why}"),
    }
}

fn group(title: &str) -> &'static Group {
    GROUPS.iter().find(|group| group.title == title).unwrap_or_else(|| panic!("no group {title}"))
}

/// What a heading is called in links.
fn anchor(title: &str) -> String {
    let kept = title.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.collect::<String>().to_lowercase().replace(' ', "-")
}

fn links(titles: &[&str]) -> String {
    let links: Vec<String> = titles.iter().map(|title| format!("[{title}](#{})", anchor(title))).collect();
    links.join(" · ")
}

/// Each reason for which something is refused, the groups where, and of how many builtins.
fn left_out() -> Vec<(&'static str, Vec<&'static str>, usize)> {
    let mut reasons: Vec<(&str, Vec<&str>, usize)> = Vec::new();
    for title in PARTS.iter().flat_map(|(_, titles)| titles.iter()) {
        for builtin in group(title).builtins {
            let Body::Refused(why) = builtin.body else { continue };
            let known = reasons.iter().position(|(reason, ..)| *reason == why);
            let at = known.unwrap_or_else(|| {
                reasons.push((why, Vec::new(), 0));
                reasons.len() - 1
            });
            let (_, titles, count) = &mut reasons[at];
            *count += 1;
            if titles.last() != Some(title) {
                titles.push(title);
            }
        }
    }
    reasons
}

/// A bar would end the cell of a table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

fn page() -> String {
    let mut page = String::from(INTRODUCTION);
    for (why, titles, count) in left_out() {
        writeln!(page, "| {} | {count} | {why} |", links(&titles)).unwrap();
    }
    page.push_str("\n## Index\n\n");
    for (part, titles) in PARTS {
        writeln!(page, "- {part}: {}", links(titles)).unwrap();
    }
    for (part, titles) in PARTS {
        writeln!(page, "\n## {part}").unwrap();
        for title in *titles {
            writeln!(page, "\n### {title}\n").unwrap();
            page.push_str("| builtin | gives | what it does | status |\n|---|---|---|---|\n");
            for builtin in group(title).builtins {
                let is_value = VALUES.contains(&builtin.name);
                let call = if is_value { String::new() } else { format!("({})", builtin.params) };
                let signature = cell(&format!("{}{call}", builtin.name));
                let (gives, says) = (cell(builtin.returns), cell(builtin.doc));
                writeln!(page, "| `{signature}` | `{gives}` | {says} | {} |", status(builtin)).unwrap();
            }
        }
    }
    page
}

fn file() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/language/builtins.md")
}

#[test]
fn every_group_is_in_one_part_of_the_page() {
    let mut named: Vec<&str> = PARTS.iter().flat_map(|(_, titles)| titles.iter().copied()).collect();
    let mut titles: Vec<&str> = GROUPS.iter().map(|group| group.title).collect();
    titles.retain(|title| !title.is_empty());
    named.sort_unstable();
    titles.sort_unstable();
    assert_eq!(named, titles);
}

#[test]
fn the_page_of_builtins_is_the_registry_s() {
    let page = page();
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(file(), &page).unwrap();
    }
    assert!(std::fs::read_to_string(file()).unwrap_or_default() == page, "run with UPDATE_DOCS=1");
}

/// What a page says to be left out is refused, whole groups of it.
#[test]
fn what_is_left_out_is_refused() {
    let (_, left_out) = PARTS.last().unwrap();
    for title in *left_out {
        for builtin in group(title).builtins {
            assert!(matches!(builtin.body, Body::Refused(_)), "{} is offered", builtin.name);
        }
    }
    for name in [
        "http_server",
        "sse_server_response",
        "websocket_server",
        "trigger_register",
        "eval_pack_run",
        "connector_call",
    ] {
        let builtin = GROUPS.iter().flat_map(|group| group.builtins).find(|builtin| builtin.name == name);
        assert!(builtin.is_some_and(|found| matches!(found.body, Body::Refused(_))), "{name} is offered");
    }
}
