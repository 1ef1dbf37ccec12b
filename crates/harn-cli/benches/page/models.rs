//! Model adapters beside a bare `reqwest` that reads the same bytes: per call, per streamed chunk, and many at once.

pub mod memory;
mod server;
mod subject;
mod wires;

use std::io::Write;
use std::sync::Arc;
use std::time::{Duration, Instant};

use server::Server;
use subject::{Side, Subject};
use tokio::runtime::Runtime;
use tokio::task::JoinSet;
use wires::Wire;

const ROUNDS: usize = 5;
const CALLS: usize = 200;
const DELTAS: usize = 2000;
const PIECES: usize = 1000;
/// Chunks that are read on each side in a round.
const CHUNKS: usize = 20_000;
const STREAMS: usize = 200;
const BURSTS: usize = 3;

pub fn report(out: &mut dyn Write) {
    two_threads().block_on(async {
        calls(out).await;
        chunks(out).await;
        at_once(out).await;
    });
}

fn two_threads() -> Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
}

/// What one run took.
#[derive(Clone, Copy)]
struct Cost {
    wall: Duration,
    /// Of all threads, so the server's part is in it too, on both sides.
    cpu: Duration,
}

/// What both sides took for the same.
struct Pair {
    bare: Cost,
    ours: Cost,
}

impl Pair {
    /// Medians of rounds in which the sides take turns, each beginning as often as the other.
    async fn measure(subject: Subject, runs: usize) -> Self {
        let subject = Arc::new(subject);
        let mut costs = [Vec::new(), Vec::new()];
        for side in Side::BOTH {
            subject.read(side, async {}).await;
        }
        for round in 0..ROUNDS {
            for turn in 0..2 {
                let which = (round + turn) % 2;
                // As a task, as in the server, and not on the thread that waits for the runtime.
                let reading = tokio::spawn(several(Arc::clone(&subject), Side::BOTH[which], runs));
                costs[which].push(reading.await.unwrap());
            }
        }
        let [bare, ours] = costs.map(|costs| Cost {
            wall: share(costs.iter().map(|cost| cost.wall).collect(), 50),
            cpu: share(costs.iter().map(|cost| cost.cpu).collect(), 50),
        });
        Self { bare, ours }
    }

    /// A line of the report: the time of each of so many parts.
    fn line(&self, label: &str, parts: usize) -> String {
        let each = |time: Duration| time.as_secs_f64() * 1e6 / parts as f64;
        let Self { bare, ours } = self;
        let (bare_cpu, ours_cpu) = (each(bare.cpu), each(ours.cpu));
        format!(
            "  {label:<44} processor: bare {bare_cpu:>6.2} ours {ours_cpu:>6.2} more {:>6.2} ratio {:.2}; elapsed: bare \
             {:>6.2} ours {:>6.2}",
            ours_cpu - bare_cpu,
            ours_cpu / bare_cpu,
            each(bare.wall),
            each(ours.wall),
        )
    }
}

async fn several(subject: Arc<Subject>, side: Side, runs: usize) -> Cost {
    let (start, cpu) = (Instant::now(), processor_time());
    for _ in 0..runs {
        subject.read(side, async {}).await;
    }
    let runs = u32::try_from(runs).unwrap();
    Cost { wall: start.elapsed() / runs, cpu: (processor_time() - cpu) / runs }
}

/// What all threads of this process have used, to the nanosecond: it hardly depends on what else the machine does.
fn processor_time() -> Duration {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap();
    let used = tasks.map(|task| {
        let stat = std::fs::read_to_string(task.unwrap().path().join("schedstat")).unwrap_or_default();
        stat.split(' ').next().unwrap_or_default().parse().unwrap_or(0)
    });
    Duration::from_nanos(used.sum())
}

/// The time within which this share of them, in percent, is done.
fn share(mut times: Vec<Duration>, percent: usize) -> Duration {
    times.sort();
    times[times.len() * percent / 100]
}

async fn calls(out: &mut dyn Write) {
    writeln!(out, "\nA model call with an answer of one delta, beside a bare reqwest (µs)").unwrap();
    for wire in Wire::ALL {
        let server = Server::start(wire.text(1)).await;
        let pair = Pair::measure(Subject::new(wire, &server.url), CALLS).await;
        writeln!(out, "{} ({} connections)", pair.line(wire.name(), 1), server.connections()).unwrap();
    }
}

async fn chunks(out: &mut dyn Write) {
    writeln!(out, "\nA streamed chunk (µs), and when the answer is ten times as long").unwrap();
    for wire in Wire::ALL {
        for deltas in [DELTAS, 10 * DELTAS] {
            let label = format!("{}, {deltas} deltas", wire.name());
            per_chunk(out, wire, &label, wire.text(deltas), deltas).await;
        }
    }
    for wire in Wire::IN_PIECES {
        for pieces in [PIECES, 10 * PIECES] {
            let label = format!("{}, a call in {pieces} pieces", wire.name());
            per_chunk(out, wire, &label, wire.call(pieces), pieces).await;
        }
    }
}

async fn per_chunk(out: &mut dyn Write, wire: Wire, label: &str, answer: Vec<u8>, parts: usize) {
    let server = Server::start(answer).await;
    let pair = Pair::measure(Subject::new(wire, &server.url), CHUNKS / parts).await;
    writeln!(out, "{}", pair.line(label, parts)).unwrap();
}

/// What came of all streams together.
struct Burst {
    took: Duration,
    firsts: Vec<Duration>,
}

async fn at_once(out: &mut dyn Write) {
    writeln!(out, "\n{STREAMS} streams of {DELTAS} deltas at once, the server on the same two cores")
        .unwrap();
    for wire in Wire::ALL {
        let server = Server::start(wire.text(DELTAS)).await;
        let mut bursts = [Vec::new(), Vec::new()];
        for round in 0..BURSTS {
            for turn in 0..2 {
                let which = (round + turn) % 2;
                bursts[which].push(burst(wire, Side::BOTH[which], &server.url).await);
            }
        }
        for (side, mut bursts) in Side::BOTH.into_iter().zip(bursts) {
            bursts.sort_by_key(|burst| burst.took);
            let Burst { took, firsts } = bursts.swap_remove(BURSTS / 2);
            let rate = (STREAMS * DELTAS) as f64 / took.as_secs_f64();
            let memory = memory::per_stream(wire, side, &server.url).await;
            writeln!(
                out,
                "  {:<20} {}  {took:>7.1?}  {rate:>7.0} chunks/s  first chunk p50 {:.1?} p99 {:.1?}  {memory:.0} kB \
                 per stream",
                wire.name(),
                side.name(),
                share(firsts.clone(), 50),
                share(firsts, 99),
            )
            .unwrap();
        }
    }
}

async fn burst(wire: Wire, side: Side, url: &str) -> Burst {
    let subject = Arc::new(Subject::new(wire, url));
    let start = Instant::now();
    let mut streams = JoinSet::new();
    for _ in 0..STREAMS {
        let subject = Arc::clone(&subject);
        streams.spawn(async move {
            let mut first = Duration::ZERO;
            subject.read(side, async { first = start.elapsed() }).await;
            first
        });
    }
    let firsts = streams.join_all().await;
    Burst { took: start.elapsed(), firsts }
}
