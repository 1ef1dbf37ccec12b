//! Streaming: frames, replay from the beginning, and resuming without loss or repetition.

use std::time::Duration;

use harn_client::{ClientError, EventStream, Frame, LAST_EVENT_HEADER};
use serde_json::Value;

use crate::ask::{Ask, cut};
use crate::check::{Verdict, checks, ensure, failed, skipped};
use crate::probe::{Probe, unique};
use crate::shape::{self, id_of, ids_of};

/// How long a stream is listened to when nothing, or nothing more, should come.
const SILENCE: Duration = Duration::from_millis(300);
const MOST_FRAMES: usize = 1000;

checks! { Streaming;
    session_stream_delivers: "spec 001, Server-sent events: \"SSE streams deliver Events\"; Core: SSE Task or Session event streaming"
        => "Send an event to the open session stream when a message is appended.";
    task_stream_replays: "spec 001, Event: \"Events are the source of truth for streaming and replay\""
        => "Begin a stream without Last-Event-ID with the events that are already there, as REST lists them.";
    frame_fields: "spec 001, Server-sent events: \"Each SSE frame MUST include\" id, event, data"
        => "Write id, event and data on every frame.";
    frame_matches_its_event: "spec 001, Server-sent events: id is the Event id, event the Event kind, data the JSON Event object"
        => "Take id and event of a frame from the very event in its data.";
    event_fields: "spec 001, Event: required fields id, event, resource, created_at, sequence, payload"
        => "Put all required fields on every streamed event.";
    first_frame_is_an_event: "spec 001, Server-sent events: a stream delivers Events; clients may parse its first frame as one"
        => "Send the events that are there before the first comment or keep-alive.";
    resume_sends_what_is_missing: "spec 001, Server-sent events: \"Clients resume by sending Last-Event-ID. Servers SHOULD replay missed events\""
        => "Send exactly the events after Last-Event-ID, each once.";
    resumed_stream_goes_on: "spec 001, Server-sent events: a resumed stream is continuous"
        => "After the missed events, send new ones as they happen.";
    unknown_cursor_is_refused: "spec 001, Server-sent events: with an unavailable cursor \"servers MUST return a clear error event and close the stream\""
        => "Answer an unknown Last-Event-ID with 400 or 410, or with an error event and the end of the stream.";
    unknown_task_has_no_stream: "spec 001, Error taxonomy: 404 resource_not_found, \"absent or hidden from caller\""
        => "Refuse the stream of a task that does not exist, with 404, instead of leaving it silent.";
}

async fn open(probe: &Probe, ask: &Ask<'_>) -> Verdict<EventStream> {
    if probe.discovery().await.is_ok_and(|found| found["capabilities"]["sse"] == false) {
        return skipped("the server does not offer server-sent events (capability sse)");
    }
    match ask.events().await {
        Ok(stream) => Ok(stream),
        Err(ClientError::Refused { status: 501, .. }) => {
            skipped(format!("{} is not implemented (501)", ask.what()))
        }
        Err(error) => failed(format!("{}: expected a stream of events, got: {error}", ask.what())),
    }
}

/// Reads so many events; comments are left out.
async fn read(probe: &Probe, ask: &Ask<'_>, stream: &mut EventStream, count: usize) -> Verdict<Vec<Frame>> {
    let limit = probe.options().timeout / 4;
    let mut frames = Vec::new();
    while frames.len() < count {
        match tokio::time::timeout(limit, stream.next()).await {
            Ok(Ok(Some(frame))) if frame.comment => {}
            Ok(Ok(Some(frame))) => frames.push(frame),
            Ok(Ok(None)) => {
                return failed(format!(
                    "{}: the stream ended after {} of {count} events",
                    ask.what(),
                    frames.len()
                ));
            }
            Ok(Err(error)) => return failed(format!("{}: {error}", ask.what())),
            Err(_) => {
                let got = frames.len();
                return failed(format!(
                    "{}: only {got} of {count} events came, then nothing for {limit:?}",
                    ask.what()
                ));
            }
        }
    }
    Ok(frames)
}

/// Whatever comes before the stream ends or falls silent.
async fn drain(stream: &mut EventStream) -> Vec<Frame> {
    let mut frames = Vec::new();
    while frames.len() < MOST_FRAMES
        && let Ok(Ok(Some(frame))) = tokio::time::timeout(SILENCE, stream.next()).await
    {
        if !frame.comment {
            frames.push(frame);
        }
    }
    frames
}

fn parsed(frame: &Frame) -> Verdict<Value> {
    match serde_json::from_str(&frame.data) {
        Ok(value) => Ok(value),
        Err(cause) => failed(format!("the data of a frame is not JSON ({cause}): {}", cut(&frame.data))),
    }
}

/// By the event in the data: what `id:` says is the business of one check.
fn ids(frames: &[Frame]) -> Verdict<Vec<String>> {
    frames.iter().map(|frame| id_of(&parsed(frame)?)).collect()
}

fn task_stream<'p>(probe: &'p Probe, task: &Value) -> Verdict<Ask<'p>> {
    Ok(probe.get(format!("/v1/tasks/{}/stream", id_of(task)?)))
}

/// All frames of the stream of a task that is over.
async fn whole(probe: &Probe) -> Verdict<Vec<Frame>> {
    let settled = probe.settled().await?;
    let ask = task_stream(probe, &settled.task)?;
    let mut stream = open(probe, &ask).await?;
    read(probe, &ask, &mut stream, settled.events.len()).await
}

async fn session_stream_delivers(probe: &Probe) -> Verdict {
    let session = probe.new_session().await?;
    let ask = probe.get(format!("/v1/sessions/{session}/events/stream"));
    let mut stream = open(probe, &ask).await?;
    let text = unique("streamed");
    probe.append(&session, &text).expect(&[200, 201]).await?;
    let limit = probe.options().timeout / 4;
    let found = tokio::time::timeout(limit, async {
        while let Ok(Some(frame)) = stream.next().await {
            let event = parsed(&frame).unwrap_or_default();
            if event["event"].as_str().is_some_and(|kind| kind.contains("message")) {
                return true;
            }
        }
        false
    });
    let found = found.await.unwrap_or(false);
    ensure!(found, "{}: no event about the message came within {limit:?}", ask.what());
    Ok(())
}

async fn task_stream_replays(probe: &Probe) -> Verdict {
    let expected = ids_of(&probe.settled().await?.events)?;
    let found = ids(&whole(probe).await?)?;
    ensure!(found == expected, "the stream of a task has the events {found:?}, REST lists {expected:?}");
    Ok(())
}

async fn frame_fields(probe: &Probe) -> Verdict {
    for frame in whole(probe).await? {
        let named = frame.id.as_ref().is_some_and(|id| !id.is_empty());
        ensure!(
            named,
            "expected `id` on every frame, got event {:?} with none: {}",
            frame.event,
            cut(&frame.data)
        );
        let kind = !frame.event.is_empty() && frame.event != "message";
        ensure!(kind && !frame.data.is_empty(), "expected `event` and `data` on every frame, got {frame:?}");
    }
    Ok(())
}

async fn frame_matches_its_event(probe: &Probe) -> Verdict {
    for frame in whole(probe).await? {
        let event = parsed(&frame)?;
        if let Some(id) = &frame.id {
            ensure!(event["id"] == *id, "the frame {id:?} carries the event {}", event["id"]);
        }
        ensure!(
            event["event"] == frame.event,
            "the frame {:?} carries an event {}",
            frame.event,
            event["event"]
        );
    }
    Ok(())
}

async fn event_fields(probe: &Probe) -> Verdict {
    for frame in whole(probe).await? {
        shape::event("a streamed event", &parsed(&frame)?)?;
    }
    Ok(())
}

async fn first_frame_is_an_event(probe: &Probe) -> Verdict {
    let ask = task_stream(probe, &probe.settled().await?.task)?;
    let mut stream = open(probe, &ask).await?;
    match tokio::time::timeout(probe.options().timeout / 4, stream.next()).await {
        Ok(Ok(Some(frame))) => {
            ensure!(!frame.comment, "{}: the first frame is the comment {:?}", ask.what(), cut(&frame.data));
            Ok(())
        }
        Ok(Ok(None)) => failed(format!("{}: the stream ended before its first frame", ask.what())),
        Ok(Err(error)) => failed(format!("{}: {error}", ask.what())),
        Err(_) => failed(format!("{}: no frame came", ask.what())),
    }
}

async fn resume_sends_what_is_missing(probe: &Probe) -> Verdict {
    let settled = probe.settled().await?;
    let all = ids_of(&settled.events)?;
    let Some(last) = all.len().checked_sub(1) else { return failed("the task has no events") };
    for position in [0, last / 2, last] {
        let ask = task_stream(probe, &settled.task)?.header(LAST_EVENT_HEADER, &all[position]);
        let missing = &all[position + 1..];
        let mut stream = open(probe, &ask).await?;
        let mut frames = read(probe, &ask, &mut stream, missing.len()).await?;
        frames.extend(drain(&mut stream).await);
        let found = ids(&frames)?;
        // The server may have gone on since; what it may not do is repeat or leave out.
        let after = all[position].as_str();
        ensure!(
            found.starts_with(missing) && !found[missing.len()..].iter().any(|id| all.contains(id)),
            "{} with Last-Event-ID {after}: expected {missing:?}, got {found:?}",
            ask.what()
        );
    }
    Ok(())
}

async fn resumed_stream_goes_on(probe: &Probe) -> Verdict {
    let session = probe.new_session().await?;
    probe.append(&session, "before").expect(&[200, 201]).await?;
    let path = format!("/v1/sessions/{session}/events");
    let before = ids_of(&probe.events_of(&path).await?)?;
    let Some(last) = before.last() else { return failed(format!("GET {path}: no events after a message")) };
    let ask = probe.get(format!("{path}/stream")).header(LAST_EVENT_HEADER, last);
    let mut stream = open(probe, &ask).await?;
    probe.append(&session, "after").expect(&[200, 201]).await?;
    let after = ids_of(&probe.events_of(&path).await?)?;
    let new = after.strip_prefix(before.as_slice()).unwrap_or_default();
    ensure!(!new.is_empty(), "GET {path}: no new event after a message, or the old ones changed");
    let found = ids(&read(probe, &ask, &mut stream, new.len()).await?)?;
    ensure!(
        found == new,
        "{} with Last-Event-ID {last}: expected the new events {new:?}, got {found:?}",
        ask.what()
    );
    Ok(())
}

async fn unknown_cursor_is_refused(probe: &Probe) -> Verdict {
    let settled = probe.settled().await?;
    for cursor in [unique("no-such-event"), "999999999999999".to_owned()] {
        let ask = task_stream(probe, &settled.task)?.header(LAST_EVENT_HEADER, &cursor);
        let mut stream = match ask.events().await {
            Ok(stream) => stream,
            Err(ClientError::Refused { status: 400 | 404 | 410 | 501, .. }) => continue,
            Err(error) => {
                return failed(format!("{} after {cursor}: expected 400 or 410, got: {error}", ask.what()));
            }
        };
        let first = read(probe, &ask, &mut stream, 1).await?.remove(0);
        let told =
            first.event.contains("error") || parsed(&first).is_ok_and(|data| data["error"].is_object());
        ensure!(told, "{} after {cursor}: expected an error event, got {:?}", ask.what(), first.event);
        let end = tokio::time::timeout(probe.options().timeout / 4, stream.next()).await;
        let closed = matches!(end, Ok(Ok(None) | Err(_)));
        ensure!(
            closed,
            "{} after {cursor}: expected the end of the stream after its error event",
            ask.what()
        );
    }
    Ok(())
}

async fn unknown_task_has_no_stream(probe: &Probe) -> Verdict {
    let ask = probe.get(format!("/v1/tasks/{}/stream", unique("task")));
    match ask.events().await {
        Err(ClientError::Refused { status: 404 | 501, .. }) => Ok(()),
        Err(error) => failed(format!("{}: expected 404, got: {error}", ask.what())),
        Ok(_) => failed(format!("{}: expected 404, got a stream", ask.what())),
    }
}
