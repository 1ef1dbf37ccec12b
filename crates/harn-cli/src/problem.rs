//! Errors as people see them: a sentence, its causes, the next step, and a code that can be looked up.

use std::fmt;
use std::process::ExitCode;

use harn_client::ClientError;

use crate::explain;
use crate::output::{Tone, paint_error, plain, warn_line};

/// Something went wrong, and there is more to say than a sentence.
#[derive(Debug)]
pub struct Problem {
    message: String,
    cause: Option<String>,
    hint: Option<String>,
    kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Failed,
    Usage,
}

impl Problem {
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), cause: None, hint: None, kind: Kind::Failed }
    }

    /// The command was not said as it must be.
    pub fn usage(message: impl Into<String>) -> Self {
        Self { kind: Kind::Usage, ..Self::new(message) }
    }

    pub fn cause(mut self, cause: impl Into<String>) -> Self {
        self.cause = Some(cause.into());
        self
    }

    /// What to do next.
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Problem {}

const FAILED: u8 = 1;
const USAGE: u8 = 2;
const INTERNAL: u8 = 70;

/// What is said about an error.
struct Report {
    message: String,
    causes: Vec<String>,
    hint: Option<String>,
    code: Option<String>,
    exit: u8,
}

impl Report {
    fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), causes: Vec::new(), hint: None, code: None, exit: FAILED }
    }

    fn of(error: &anyhow::Error) -> Self {
        let mut report = match (error.downcast_ref::<ClientError>(), error.downcast_ref::<Problem>()) {
            (Some(client), _) => Self::of_client(client),
            (_, Some(problem)) => Self {
                causes: problem.cause.iter().cloned().collect(),
                hint: problem.hint.clone(),
                exit: if problem.kind == Kind::Usage { USAGE } else { FAILED },
                ..Self::new(&problem.message)
            },
            _ => Self {
                causes: error.chain().skip(1).map(ToString::to_string).collect(),
                ..Self::new(error.to_string())
            },
        };
        // A context that was put around says more than the error itself; the latter becomes its cause.
        let outer = error.to_string();
        let bare = error.chain().count() == 1;
        if !bare && outer != report.message && !report.causes.contains(&outer) {
            report.causes.insert(0, std::mem::replace(&mut report.message, outer));
        }
        report
    }

    fn of_client(error: &ClientError) -> Self {
        match error {
            ClientError::Invalid(why) => Self { exit: USAGE, ..Self::new(why) },
            ClientError::Unreachable { url, cause } => Self {
                causes: vec![cause.clone()],
                hint: Some("start it with `harn serve`, or check --url and HARN_URL".into()),
                ..Self::new(format!("cannot reach {url}"))
            },
            ClientError::Tls { url, cause } => Self {
                causes: vec![cause.clone()],
                hint: Some(
                    "check the host name; for a private server give its certificate authority with --ca FILE"
                        .into(),
                ),
                ..Self::new(format!("no TLS connection to {url}"))
            },
            ClientError::Timeout { url, after } => Self {
                hint: Some(
                    "look with `harn tasks list` whether it was carried out before you repeat it".into(),
                ),
                ..Self::new(format!("no complete answer from {url} within {} s", after.as_secs()))
            },
            ClientError::Refused { code, message, param, request_id, details, .. } => Self {
                causes: param.iter().map(|name| format!("parameter {name}")).collect(),
                hint: refusal_hint(code, details, request_id.as_deref()),
                code: Some(code.clone()),
                exit: if code == "internal_error" { INTERNAL } else { FAILED },
                ..Self::new(message)
            },
            ClientError::Protocol(why) => Self::new(why),
        }
    }
}

fn refusal_hint(code: &str, details: &serde_json::Value, request_id: Option<&str>) -> Option<String> {
    match (code, details["required_scope"].as_str(), request_id) {
        ("unauthenticated", ..) => Some(
            "give a current key with --api-key or HARN_API_KEY; `harn keys create NAME` makes one".into(),
        ),
        ("permission_denied", ..) if details["reviewers"].is_array() => {
            let reviewers = details["reviewers"].as_array().into_iter().flatten();
            let reviewers: Vec<&str> = reviewers.filter_map(serde_json::Value::as_str).collect();
            let reviewers = reviewers.join(", ");
            Some(format!(
                "only {reviewers} can answer, each with a key of their own: --url URL --api-key KEY"
            ))
        }
        ("permission_denied", Some(scope), _) => {
            Some(format!("use a key with the scope {scope}: `harn keys create NAME --scope {scope}`"))
        }
        ("internal_error", _, Some(id)) => {
            Some(format!("look for {id} in the server's own log; `harn log verify` checks its data"))
        }
        _ => explain::of(code).first().map(|entry| entry.to_do.to_owned()),
    }
}

/// Writes the error to standard error and gives the exit code that belongs to it.
pub fn say(error: &anyhow::Error) -> ExitCode {
    let report = Report::of(error);
    let label = |tone, text| paint_error(tone, text);
    warn_line(format_args!("{} {}", label(Tone::Bad, "error:"), plain(&report.message)));
    for cause in &report.causes {
        warn_line(format_args!("  {} {}", label(Tone::Dim, "cause:"), plain(cause)));
    }
    if let Some(hint) = &report.hint {
        warn_line(format_args!("  {} {}", label(Tone::Warn, "hint:"), plain(hint)));
    }
    if let Some(code) = &report.code {
        let more = if explain::of(code).is_empty() {
            String::new()
        } else {
            format!(" (`harn explain {code}` says more)")
        };
        warn_line(format_args!("  {} {}{more}", label(Tone::Dim, "code:"), plain(code)));
    }
    ExitCode::from(report.exit)
}

/// A panic, whose own words are on standard error already.
pub fn say_defect() -> ExitCode {
    warn_line(format_args!("{} Harn failed inside. This is a defect.", paint_error(Tone::Bad, "error:")));
    warn_line("  hint: report it with the lines above; `harn log verify` checks the data");
    ExitCode::from(INTERNAL)
}
