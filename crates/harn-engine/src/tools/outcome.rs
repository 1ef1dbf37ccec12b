//! What a command that is over looks like to the model: numbers, words, and the output as far as it is shown.

use harn_core::ArtifactId;
use harn_core::resource::ArtifactKind;
use harn_core::run::Attachment;
use serde_json::{Map, Value, json};

use super::ToolFailure;
use super::capture::Capture;
use super::launch::{Captures, End, Why};
use crate::guard::{Ended, Report, Stopped};
use crate::sandbox::Sandbox;

/// How a command ended, in the fields of a result.
pub(super) fn ending(end: &End) -> Result<Map<String, Value>, ToolFailure> {
    let Some(report) = &end.report else {
        return Err(ToolFailure::new(
            "The guardian of the command is gone without a report. How the command ended is unknown, and processes \
             of it may still run. Check before you run it again.",
        ));
    };
    if let Ended::NotStarted(why) = &report.ended {
        return Err(ToolFailure::new(format!("The command was not run: {why}.")));
    }
    let stopped = stopped(end.why, report);
    // When it was stopped the signal is ours, and says nothing about the command.
    let by_itself = stopped.is_none() && end.why != Why::Cancelled;
    let (exit_code, signal) = match report.ended {
        Ended::Exited(code) if by_itself => (Some(code), None),
        Ended::Signaled(signal) if by_itself => (None, Some(signal)),
        _ => (None, None),
    };
    let mut fields = Map::new();
    fields.insert("exit_code".into(), exit_code.into());
    fields.insert("signal".into(), signal.into());
    fields.insert("timed_out".into(), (stopped == Some(Stopped::Time)).into());
    if let Some(stopped) = stopped {
        fields.insert("stopped".into(), json!(stopped));
        fields.insert("message".into(), sentence(stopped).into());
    }
    if !report.survivors.is_empty() {
        fields.insert("survivors".into(), report.survivors.clone().into());
    }
    if let Some(sandbox) = &report.sandbox {
        fields.insert("sandbox".into(), in_short(sandbox));
    }
    Ok(fields)
}

fn stopped(why: Why, report: &Report) -> Option<Stopped> {
    match why {
        Why::Ended | Why::Cancelled => report.stopped,
        Why::TimedOut => Some(Stopped::Time),
        Why::TooMuchOutput => Some(Stopped::Output),
    }
}

fn sentence(stopped: Stopped) -> &'static str {
    match stopped {
        Stopped::Processes => {
            "It was stopped because it ran too many processes at once. Run less in parallel."
        }
        Stopped::Memory => "It was stopped because it used too much memory. Work on less at a time.",
        Stopped::Output => "It was stopped because it wrote too much output. Write to a file, or filter it.",
        Stopped::Disk => "It was stopped because the disk was nearly full. Free space before you go on.",
        Stopped::Time => {
            "It was stopped because its time was up. Give it a larger timeout_ms, or run it with background."
        }
    }
}

fn in_short(sandbox: &Sandbox) -> Value {
    let mut short = json!({
        "files": sandbox.files,
        "network": sandbox.network,
        "namespaces": sandbox.namespaces,
    });
    if !sandbox.notes.is_empty() {
        short["notes"] = sandbox.notes.clone().into();
    }
    short
}

/// Attaches each stream of which not all was shown, and says under which id.
pub(super) fn attach(captures: &Captures, shown: usize, fields: &mut Map<String, Value>) -> Vec<Attachment> {
    let streams = [("stdout_artifact", &captures.stdout), ("stderr_artifact", &captures.stderr)];
    let longer = streams.into_iter().filter_map(|(field, capture)| {
        let capture = capture.lock();
        (capture.total() > shown as u64).then(|| (field, log(&capture)))
    });
    let attached = longer.map(|(field, attachment)| {
        fields.insert(field.into(), attachment.id.as_str().into());
        attachment
    });
    attached.collect()
}

fn log(capture: &Capture) -> Attachment {
    Attachment {
        id: ArtifactId::generate(),
        kind: ArtifactKind::Log,
        mime_type: "text/plain; charset=utf-8",
        bytes: capture.all(),
    }
}
