//! `harn test conformance`: programs with what they print, or with how they fail, in a file beside each.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use globset::Glob;
use harn_lang::compile::{Settings, check, compile};
use harn_lang::problem::Problem as Wrong;
use regex::Regex;

use super::super::files::{Beside, read, scripts};
use super::super::host::{self, Answers};
use super::super::machine::End;
use super::case::{Around, execute, place_of};
use super::report::{Jobs, Outcome, Report};
use crate::args::ProgramsArgs;
use crate::problem::Problem;

/// What a program is to do.
enum Wanted {
    Output(String),
    Error(String),
}

struct Case {
    file: PathBuf,
    name: String,
    wanted: Wanted,
}

pub fn conformance(args: &ProgramsArgs) -> Result<ExitCode> {
    if !args.path.exists() {
        let shown = args.path.display();
        return Err(Problem::new(format!("there is nothing at {shown}"))
            .hint("name a folder with programs: X.harn beside X.expected or X.error")
            .into());
    }
    let filter = args.filter.as_deref().map(Filter::new).transpose()?;
    let mut cases = Vec::new();
    for file in scripts(std::slice::from_ref(&args.path))? {
        let below = file.strip_prefix(&args.path).ok().filter(|below| !below.as_os_str().is_empty());
        let name = below.unwrap_or(&file).with_extension("").display().to_string();
        if let Some(wanted) = wanted(&file)?
            && filter.as_ref().is_none_or(|filter| filter.takes(&name))
        {
            cases.push(Case { file, name, wanted });
        }
    }
    let mut report = Report::new(args.verbose, args.timing);
    let limit = Duration::from_millis(args.timeout);
    Jobs::of(args.parallel).each(&cases, |case| case.run(limit), |outcome| report.add(outcome))?;
    Ok(report.end())
}

fn wanted(file: &Path) -> Result<Option<Wanted>> {
    let beside = |ending: &str| {
        let path = file.with_extension(ending);
        let text = path.is_file().then(|| fs::read_to_string(&path));
        text.transpose().with_context(|| format!("{} cannot be read", path.display()))
    };
    if let Some(output) = beside("expected")? {
        return Ok(Some(Wanted::Output(output)));
    }
    Ok(beside("error")?.map(Wanted::Error))
}

impl Case {
    fn run(&self, limit: Duration) -> Outcome {
        let started = Instant::now();
        let (result, output) = self.execute(limit);
        Outcome {
            label: self.name.clone(),
            suite: self.file.display().to_string(),
            name: self.name.clone(),
            took: started.elapsed(),
            failure: self.compare(&result, &output),
            output,
        }
    }

    /// The file beside it that answers in the place of models.
    fn answers(&self) -> Option<PathBuf> {
        Some(self.file.with_extension("llm-mock.jsonl")).filter(|file| file.is_file())
    }

    /// The error that it ended with, in plain words, and what it printed.
    fn execute(&self, limit: Duration) -> (Result<(), String>, String) {
        let source = match read(&self.file) {
            Ok(source) => source,
            Err(error) => return (Err(format!("{error:#}")), String::new()),
        };
        let settings = Settings { host_names: host::names(), ..Settings::default() };
        let problems = check(source.clone(), &Beside, &settings).all;
        let warnings = problems.iter().filter(|problem| !problem.is_error());
        let warnings: String = warnings.map(|warning| format!("warning: {}\n", warning.message)).collect();
        let program = match compile(source, &Beside, &settings) {
            Ok(program) => Arc::new(program),
            Err(problems) => {
                let errors = problems.all.iter().filter(|problem| Wrong::is_error(problem));
                let messages: Vec<&str> = errors.map(|problem| problem.message.as_str()).collect();
                return (Err(messages.join("\n")), warnings);
            }
        };
        let answers = Answers { from: self.answers(), to: None };
        let around = Around { answers, ..Around::default() };
        let run = match execute(&program, place_of(&self.file), limit, &around) {
            Ok(run) => run,
            Err(error) => return (Err(format!("{error:#}")), warnings),
        };
        let result = match run.end {
            End::Failed(failure) => Err(failure.fault.to_string()),
            End::Exit(code) if code != 0 => Err(format!("exit({code})")),
            End::Stopped(failure) => Err(failure.message),
            End::TimedOut => Err(format!("it took longer than {} ms", limit.as_millis())),
            _ => Ok(()),
        };
        // Another checker may see less, or more: warnings count only where they are expected.
        let wants_warnings =
            matches!(&self.wanted, Wanted::Output(wanted) if wanted.starts_with("warning: "));
        let before = if wants_warnings { warnings } else { String::new() };
        (result, before + &run.trace.out)
    }

    /// Why it is not as it should be.
    fn compare(&self, result: &Result<(), String>, output: &str) -> Option<String> {
        match (&self.wanted, result) {
            (Wanted::Output(_), Err(error)) => Some(format!("it failed: {error}")),
            (Wanted::Output(wanted), Ok(())) => difference(wanted, output),
            (Wanted::Error(_), Ok(())) => Some("it ended without an error".to_owned()),
            (Wanted::Error(wanted), Err(error)) => {
                let is_met = wanted.lines().any(|line| matches(line.trim(), error));
                (!is_met).then(|| format!("wanted an error with:\n{}\ngot:\n{error}", wanted.trim_end()))
            }
        }
    }
}

/// A line of an `.error` file: `re:` and a regular expression, or a part of the message.
fn matches(line: &str, error: &str) -> bool {
    match line.strip_prefix("re:") {
        Some(pattern) => Regex::new(pattern.trim()).is_ok_and(|pattern| pattern.is_match(error)),
        None => !line.is_empty() && error.contains(line),
    }
}

fn difference(wanted: &str, got: &str) -> Option<String> {
    let lines = |text: &str| text.trim_end().lines().map(without_time).collect::<Vec<_>>();
    let (wanted, got) = (lines(wanted), lines(got));
    let at = (0..wanted.len().max(got.len())).find(|at| wanted.get(*at) != got.get(*at))?;
    let shown = |lines: &[String]| lines.get(at).map_or("nothing".to_owned(), |line| format!("`{line}`"));
    Some(format!("line {}: wanted {}, got {}", at + 1, shown(&wanted), shown(&got)))
}

/// How long something took is different every time: `[timer] NAME: 12ms`.
fn without_time(line: &str) -> String {
    let name = line.strip_prefix("[timer] ").and_then(|rest| rest.strip_suffix("ms")?.rsplit_once(": "));
    match name {
        Some((name, time)) if !time.is_empty() && time.bytes().all(|byte| byte.is_ascii_digit()) => {
            format!("[timer] {name}: _ms")
        }
        _ => line.to_owned(),
    }
}

/// `re:` and a regular expression, or parts and globs with `|` between them.
enum Filter {
    Regex(Regex),
    Any(Vec<Part>),
}

enum Part {
    Glob(globset::GlobMatcher),
    Text(String),
}

impl Filter {
    fn new(text: &str) -> Result<Self> {
        let wrong = |error: String| Problem::usage(format!("--filter {text}: {error}"));
        if let Some(pattern) = text.strip_prefix("re:") {
            return Ok(Self::Regex(Regex::new(pattern).map_err(|error| wrong(error.to_string()))?));
        }
        let mut parts = Vec::new();
        for part in text.split('|').filter(|part| !part.is_empty()) {
            parts.push(if part.contains(['*', '?', '[']) {
                Part::Glob(Glob::new(part).map_err(|error| wrong(error.to_string()))?.compile_matcher())
            } else {
                Part::Text(part.to_owned())
            });
        }
        Ok(Self::Any(parts))
    }

    fn takes(&self, name: &str) -> bool {
        match self {
            Self::Regex(pattern) => pattern.is_match(name),
            Self::Any(parts) => parts.iter().any(|part| match part {
                Part::Glob(glob) => glob.is_match(name),
                Part::Text(text) => name.contains(text.as_str()),
            }),
        }
    }
}
