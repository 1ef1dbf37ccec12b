//! `harn explain`: what a code means and what to do.

use std::process::ExitCode;

use anyhow::Result;

use super::say;
use crate::explain::{self, Entry, Kind};
use crate::output::{Table, Tone, paint, plain};
use crate::problem::Problem;

pub fn run(code: Option<&str>) -> Result<ExitCode> {
    let Some(code) = code else {
        list();
        return Ok(ExitCode::SUCCESS);
    };
    let found = explain::of(code);
    if found.is_empty() {
        let near = explain::nearest(code);
        let hint = match near.as_slice() {
            [] => "`harn explain` lists all codes".to_owned(),
            near => format!("perhaps {}; `harn explain` lists all codes", near.join(", ")),
        };
        return Err(Problem::new(format!("there is no code `{}`", plain(code))).hint(hint).into());
    }
    for (place, entry) in found.iter().enumerate() {
        if place > 0 {
            say("");
        }
        tell(entry);
    }
    Ok(ExitCode::SUCCESS)
}

fn tell(entry: &Entry) {
    say(format_args!("{} ({})", paint(Tone::Strong, entry.code), entry.kind.name()));
    let mut facts = Table::facts();
    facts.fact("means", entry.meaning);
    facts.fact("causes", entry.causes);
    facts.fact("to do", entry.to_do);
    facts.say();
    if entry.kind == Kind::Script
        && let Some(example) = explain::example(entry.code)
    {
        for (title, text) in [("wrong", example.wrong), ("right", example.right)] {
            say(format_args!("\n  {}", paint(Tone::Dim, title)));
            text.lines().for_each(|line| say(format_args!("    {line}")));
        }
    }
}

fn list() {
    let mut table = Table::new(&["CODE", "WHERE", "MEANING"]);
    for entry in explain::all() {
        table.row([
            (Tone::Strong, entry.code.to_owned()),
            (Tone::Dim, entry.kind.name().to_owned()),
            (Tone::Plain, entry.meaning.to_owned()),
        ]);
    }
    table.say();
}
