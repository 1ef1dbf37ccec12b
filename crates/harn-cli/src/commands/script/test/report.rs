//! What is said about tests: a line for each as it ends, what failed, and the count.

use std::collections::BTreeMap;
use std::num::NonZero;
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::time::Duration;

use anyhow::{Context, Result};

use crate::commands::say;
use crate::output::{Tone, paint, plain};

/// How a test went.
pub struct Outcome {
    /// As it is listed.
    pub label: String,
    pub suite: String,
    pub name: String,
    pub took: Duration,
    /// Why it failed.
    pub failure: Option<String>,
    /// What it printed.
    pub output: String,
}

pub struct Report {
    is_verbose: bool,
    is_timed: bool,
    outcomes: Vec<Outcome>,
}

impl Report {
    pub fn new(is_verbose: bool, is_timed: bool) -> Self {
        Self { is_verbose, is_timed, outcomes: Vec::new() }
    }

    pub fn add(&mut self, outcome: Outcome) {
        let verdict = match outcome.failure {
            None => paint(Tone::Good, "PASS"),
            Some(_) => paint(Tone::Bad, "FAIL"),
        };
        let time = if self.is_timed { format!(" ({} ms)", outcome.took.as_millis()) } else { String::new() };
        say(format_args!("{verdict} {}{}", plain(&outcome.label), paint(Tone::Dim, &time)));
        if let Some(failure) = &outcome.failure {
            say_indented(failure);
        }
        if !outcome.output.is_empty() && (self.is_verbose || outcome.failure.is_some()) {
            say(paint(Tone::Dim, "  it printed:"));
            say_indented(&outcome.output);
        }
        self.outcomes.push(outcome);
    }

    pub fn outcomes(&self) -> &[Outcome] {
        &self.outcomes
    }

    /// The count, and the exit code that belongs to it.
    pub fn end(&self) -> ExitCode {
        let failed = self.outcomes.iter().filter(|outcome| outcome.failure.is_some()).count();
        let total = self.outcomes.len();
        if self.is_timed {
            let all: Duration = self.outcomes.iter().map(|outcome| outcome.took).sum();
            say(format_args!("{} ms in all", all.as_millis()));
        }
        let text = format!("{} passed, {failed} failed, {total} total", total - failed);
        say(paint(if failed == 0 { Tone::Good } else { Tone::Bad }, &text));
        if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
    }
}

fn say_indented(text: &str) {
    for line in plain(text).lines() {
        say(format_args!("    {line}").to_string().trim_end());
    }
}

/// How many tests run at a time.
pub struct Jobs(usize);

impl Jobs {
    /// One; or as many as said; or as many as the machine has processors.
    pub fn of(parallel: Option<usize>) -> Self {
        let processors = || std::thread::available_parallelism().map_or(1, NonZero::get);
        Self(match parallel {
            None => 1,
            Some(0) => processors(),
            Some(jobs) => jobs.min(64),
        })
    }

    /// Runs all of them; each outcome is told in the order of the list, as soon as those before it are there.
    pub fn each<T: Sync>(
        &self,
        all: &[T],
        run: impl Fn(&T) -> Outcome + Sync,
        mut tell: impl FnMut(Outcome),
    ) -> Result<()> {
        let next = AtomicUsize::new(0);
        let (send, receive) = channel();
        std::thread::scope(|scope| {
            for _ in 0..self.0.min(all.len()) {
                let (send, run, next) = (send.clone(), &run, &next);
                let work = move || {
                    loop {
                        let at = next.fetch_add(1, Ordering::Relaxed);
                        let Some(item) = all.get(at) else { return };
                        if send.send((at, run(item))).is_err() {
                            return;
                        }
                    }
                };
                // Deep programs are compiled with recursion that fits into this.
                let thread = std::thread::Builder::new().stack_size(16 << 20);
                thread.spawn_scoped(scope, work).context("a thread cannot be started")?;
            }
            drop(send);
            let mut early = BTreeMap::new();
            for at in 0..all.len() {
                while !early.contains_key(&at) {
                    let (done, outcome) = receive.recv().context("a test ended without an outcome")?;
                    early.insert(done, outcome);
                }
                early.remove(&at).into_iter().for_each(&mut tell);
            }
            Ok(())
        })
    }
}
