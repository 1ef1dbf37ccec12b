//! Runs the checks one after the other, each within its time.

use std::time::{Duration, Instant};

use harn_client::{Client, ClientError, Method};
use serde_json::Value;

use crate::ask::presentable;
use crate::check::{Check, Stop, Verdict};
use crate::checks;
use crate::options::{Category, Options};
use crate::probe::Probe;
use crate::report::{CheckReport, Report, Status};

pub async fn run(client: Client, options: Options) -> Report {
    let started = Instant::now();
    let out_of_reach = reach(&client, &options).await.err();
    let probe = Probe::new(client, options.clone());
    let mut results: Vec<(Category, Vec<CheckReport>)> = Vec::new();
    let mut told = false;
    for category in Category::ALL.into_iter().filter(|category| options.includes(*category)) {
        let mut reports = Vec::new();
        for check in checks::of(category) {
            // A server that is not there fails once, not a hundred times.
            let report = match &out_of_reach {
                Some(cause) if std::mem::replace(&mut told, true) => {
                    let skip = Stop::Skipped(format!("the server is out of reach: {cause}"));
                    judged(check, Err(skip), Duration::ZERO, &options)
                }
                Some(cause) => judged(check, Err(Stop::Failed(cause.to_string())), Duration::ZERO, &options),
                None => perform(check, &probe).await,
            };
            reports.push(report);
        }
        results.push((category, reports));
    }
    let capabilities = match &out_of_reach {
        None => probe.discovery().await.map(|found| found["capabilities"].clone()).unwrap_or(Value::Null),
        Some(_) => Value::Null,
    };
    Report::new(options.target, capabilities, results, started.elapsed())
}

async fn reach(client: &Client, options: &Options) -> Result<(), ClientError> {
    match client.request(Method::GET, "/v1").timeout(options.timeout).send().await {
        Err(
            error @ (ClientError::Unreachable { .. } | ClientError::Tls { .. } | ClientError::Timeout { .. }),
        ) => Err(error),
        // Whatever else is wrong, the checks say it better.
        _ => Ok(()),
    }
}

async fn perform(check: &Check, probe: &Probe) -> CheckReport {
    let started = Instant::now();
    let limit = probe.options().timeout;
    let verdict = tokio::time::timeout(limit, (check.run)(probe)).await.unwrap_or_else(|_| {
        Err(Stop::Failed(format!("no verdict within {limit:?}; a larger --timeout waits longer")))
    });
    judged(check, verdict, started.elapsed(), probe.options())
}

fn judged(check: &Check, verdict: Verdict, duration: Duration, options: &Options) -> CheckReport {
    let shown = |text: String| Some(presentable(&text, options.api_key.as_deref()));
    let (status, seen, reason) = match verdict {
        Ok(()) => (Status::Passed, None, None),
        Err(Stop::Failed(seen)) => (Status::Failed, shown(seen), None),
        Err(Stop::Skipped(reason)) => (Status::Skipped, None, shown(reason)),
    };
    CheckReport {
        name: check.name.to_owned(),
        status,
        duration_ms: duration.as_secs_f64() * 1000.0,
        error: seen,
        reason,
        sentence: check.sentence.to_owned(),
        remedy: (status == Status::Failed).then(|| check.remedy.to_owned()),
    }
}
