//! The standard modules, and how programs import them and each other.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod host;
mod imports;
#[path = "../support/mod.rs"]
mod support;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use harn_lang::bytecode::Source;
use harn_lang::compile::{NoModules, Settings, check};
use harn_lang::format::format;
use harn_lang::stdlib;

fn cases() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/std_modules/cases");
    let mut cases: Vec<PathBuf> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "harn"))
        .collect();
    cases.sort();
    cases
}

/// Every `cases/NAME.harn` prints what `cases/NAME.txt` says. With `UPDATE_CASES=1` the texts are written anew.
#[test]
fn functions_do_what_they_say() {
    for case in cases() {
        let program = fs::read_to_string(&case).unwrap();
        let printed = host::run(&program, &NoModules);
        if std::env::var_os("UPDATE_CASES").is_some() {
            fs::write(case.with_extension("txt"), &printed).unwrap();
        }
        let expected = fs::read_to_string(case.with_extension("txt")).unwrap_or_default();
        assert_eq!(printed, expected, "{}", case.display());
    }
}

#[test]
fn a_breaker_is_asked_before_a_call() {
    let program =
        "import { circuit_call } from \"std/async\"\nprintln(circuit_call(\"c\", { -> \"closed\" }))";
    let printed = host::run(program, &NoModules);
    assert!(printed == "closed\n" || printed.contains("circuit_check"), "{printed}");
}

#[test]
fn every_public_function_is_tried() {
    let mut tried: String = cases().iter().map(|case| fs::read_to_string(case).unwrap()).collect();
    tried.push_str(include_str!("main.rs"));
    for module in stdlib::modules() {
        assert!(tried.contains(&format!("\"{}\"", module.name)), "{} is imported nowhere", module.name);
        for function in module.functions {
            let call = format!("{}(", function.name);
            assert!(tried.contains(&call), "{} of {} is tried nowhere", function.name, module.name);
        }
    }
}

#[test]
fn every_module_is_without_problems_documented_and_in_its_usual_form() {
    for module in stdlib::modules() {
        let text = format!("import \"{}\"\n", module.name);
        let problems =
            check(Source { name: "main.harn".into(), text: text.into() }, &NoModules, &Settings::default());
        assert_eq!(problems.all, [], "{}", module.name);
        assert_eq!(format(module.source).unwrap(), module.source, "{}", module.name);
        assert!(!module.doc.is_empty(), "{} does not say what it is", module.name);
        let documented = module.functions.iter().map(|f| (&f.name, &f.doc));
        let documented = documented.chain(module.types.iter().map(|t| (&t.name, &t.doc)));
        for (name, doc) in documented {
            assert!(doc.ends_with('.') || doc.ends_with('|'), "{name} of {}: {doc}", module.name);
        }
        let longest = module.source.lines().map(|line| line.chars().count()).max();
        assert!(longest <= Some(120), "{} has a line of {longest:?}", module.name);
    }
}

/// The types of a module describe what its functions give.
#[test]
fn what_is_made_fits_its_type() {
    let cases = [
        ("std/acp", "agent_message_chunk(\"hi\")", "SessionUpdate", "AgentMessageChunk"),
        ("std/acp", "tool_call(\"t\", \"Read\")", "SessionUpdate", "ToolCall"),
        ("std/acp", "tool_call_update(\"t\", \"failed\")", "SessionUpdate", "ToolCallUpdate"),
        ("std/acp", "harn_plan(\"a\")", "SessionUpdate", "Plan"),
        (
            "std/acp",
            "plan([{content: \"a\", priority: \"low\", status: \"pending\"}])",
            "SessionUpdate",
            "Plan",
        ),
        ("std/acp", "handoff_update(\"h\", \"a\", {})", "SessionUpdate", "Handoff"),
        ("std/plan", "plan_from([{content: \"a\", notes: \"n\"}])", "PlanArtifact", "PlanArtifact"),
        (
            "std/plan",
            "plan_approved(\"a\", {approved: false, reason: \"no\"}).approval",
            "PlanApproval",
            "PlanApproval",
        ),
    ];
    let other = "{sessionUpdate: \"tool_call_update\", toolCallId: \"t\", status: \"odd\", content: 1}";
    for (module, made, wide, narrow) in cases {
        let module = stdlib::modules().into_iter().find(|known| known.name == module).unwrap();
        let checks =
            format!("schema_is({made}, {wide}), schema_is({made}, {narrow}), schema_is({other}, {narrow})");
        let printed = host::run(&format!("{}\nprintln([{checks}])\n", module.source), &NoModules);
        assert_eq!(printed, "[true, true, false]\n", "{made}");
    }
}

/// What the modules offer is a promise: nothing of it goes away unnoticed.
#[test]
fn the_modules_offer_what_they_promise() {
    let count = |name: &str| {
        let module = stdlib::modules().into_iter().find(|module| module.name == name).unwrap();
        (module.functions.len(), module.types.len())
    };
    let promised = [
        ("std/text", (11, 0)),
        ("std/collections", (3, 0)),
        ("std/math", (34, 0)),
        ("std/path", (8, 0)),
        ("std/json", (5, 0)),
        ("std/graphql", (18, 0)),
        ("std/schema", (27, 0)),
        ("std/testing", (16, 0)),
        ("std/context", (10, 0)),
        ("std/runtime", (9, 0)),
        ("std/review", (2, 4)),
        ("std/experiments", (10, 0)),
        ("std/prompt_library", (13, 0)),
        ("std/async", (4, 0)),
        ("std/agent_state", (8, 0)),
        ("std/memory", (4, 0)),
        ("std/checkpoint", (2, 0)),
        ("std/host", (3, 0)),
        ("std/hitl", (0, 11)),
        ("std/plan", (7, 5)),
        ("std/waitpoints", (0, 7)),
        ("std/waitpoint", (4, 6)),
        ("std/monitors", (1, 5)),
        ("std/worktree", (6, 0)),
        ("std/acp", (6, 7)),
    ];
    for (name, numbers) in promised {
        assert_eq!(count(name), numbers, "{name}");
    }
    let names: BTreeSet<&str> = stdlib::modules().iter().map(|module| module.name).collect();
    assert_eq!(names, promised.iter().map(|(name, _)| *name).collect());
}
