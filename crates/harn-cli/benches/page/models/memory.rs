//! The memory of many streams at once, each side in a process of its own that has held nothing before.

use std::sync::Arc;

use tokio::sync::Barrier;
use tokio::task::JoinSet;

use super::STREAMS;
use super::subject::{Side, Subject};
use super::wires::Wire;
use crate::serve::kilobytes;

const PROBE: &str = "models-memory";

/// Whether this process was started to measure itself; it has then done so.
pub fn is_probe() -> bool {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, probe, wire, side, url, ..] = arguments.as_slice() else { return false };
    let side = Side::BOTH.into_iter().find(|known| known.name() == side);
    match (Wire::named(wire), side) {
        (Some(wire), Some(side)) if probe == PROBE => {
            let runtime = super::two_threads();
            let grown = runtime.block_on(grown(wire, side, url));
            std::io::Write::write_all(&mut std::io::stdout(), grown.to_string().as_bytes()).unwrap();
            true
        }
        _ => false,
    }
}

/// By how many kB the peak of a fresh process grows with each stream.
pub async fn per_stream(wire: Wire, side: Side, url: &str) -> f64 {
    let mut process = tokio::process::Command::new(std::env::current_exe().unwrap());
    let output = process.args([PROBE, wire.name(), side.name(), url, "--bench"]).output().await.unwrap();
    String::from_utf8(output.stdout).unwrap().parse().unwrap()
}

async fn grown(wire: Wire, side: Side, url: &str) -> f64 {
    let subject = Arc::new(Subject::new(wire, url));
    subject.read(side, async {}).await;
    let before = kilobytes("self", "VmRSS:");
    let all_open = Arc::new(Barrier::new(STREAMS));
    let mut streams = JoinSet::new();
    for _ in 0..STREAMS {
        let (subject, all_open) = (Arc::clone(&subject), Arc::clone(&all_open));
        streams.spawn(async move {
            let wait = async {
                all_open.wait().await;
            };
            subject.read(side, wait).await;
        });
    }
    streams.join_all().await;
    (kilobytes("self", "VmHWM:") - before) / STREAMS as f64
}
