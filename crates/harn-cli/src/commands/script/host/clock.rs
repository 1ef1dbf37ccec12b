//! The clock of a script: the time, timers, and a time that tests hold still.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use harn_lang::value::Value;
use harn_lang::vm::Call;
use jiff::tz::TimeZone;

use super::Answer;

pub struct Clock {
    started: Instant,
    /// The time that `mock_time` set, in milliseconds since 1970.
    pretended: Option<i64>,
    /// When which timer is due; those of the same time in the order in which they came.
    timers: BTreeSet<(Instant, u64)>,
    /// When the timer of which call is due.
    due: BTreeMap<u64, Instant>,
}

impl Clock {
    pub fn new() -> Self {
        Self { started: Instant::now(), pretended: None, timers: BTreeSet::new(), due: BTreeMap::new() }
    }

    /// Starts a timer, if the call asks for one. A pretended clock does not make anybody wait: `sleep` moves it on.
    pub fn begin(&mut self, call: &Call) -> bool {
        let is_sleep = matches!(call.builtin, "sleep" | "sleep_ms");
        if !is_sleep && call.builtin != "deadline" {
            return false;
        }
        let mut wait = duration(call.args.first());
        if is_sleep && let Some(now) = &mut self.pretended {
            *now = now.saturating_add(millis(wait));
            wait = Duration::ZERO;
        }
        let due = Instant::now() + wait;
        self.timers.insert((due, call.id));
        self.due.insert(call.id, due);
        true
    }

    pub fn answer(&mut self, call: &Call) -> Option<Answer> {
        let value = match call.builtin {
            "now_ms" => Value::Int(self.now()),
            "timestamp" => Value::Float(self.now() as f64 / 1000.0),
            "elapsed" | "monotonic_ms" => {
                Value::Int(self.pretended.unwrap_or_else(|| millis(self.started.elapsed())))
            }
            "date_iso" => Value::str(iso(&self.date())),
            "mock_time" => {
                self.pretended = Some(whole(call.args.first()));
                Value::Nil
            }
            "advance_time" => {
                let now = self.now().saturating_add(whole(call.args.first()));
                self.pretended = Some(now);
                Value::Int(now)
            }
            "unmock_time" => {
                self.pretended = None;
                Value::Nil
            }
            _ => return None,
        };
        Some(Ok(value))
    }

    pub fn forget(&mut self, call: u64) {
        if let Some(due) = self.due.remove(&call) {
            self.timers.remove(&(due, call));
        }
    }

    pub fn next(&self) -> Option<Instant> {
        self.timers.first().map(|(due, _)| *due)
    }

    /// The calls whose timers are due.
    pub fn due(&mut self) -> Vec<u64> {
        let now = Instant::now();
        let mut due = Vec::new();
        while let Some((_, call)) = self.timers.first().copied().filter(|(due, _)| *due <= now) {
            self.forget(call);
            due.push(call);
        }
        due
    }

    fn now(&self) -> i64 {
        self.pretended
            .unwrap_or_else(|| millis(SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()))
    }

    fn date(&self) -> jiff::Zoned {
        jiff::Timestamp::from_millisecond(self.now()).unwrap_or_default().to_zoned(TimeZone::UTC)
    }
}

/// With milliseconds, so that it has the same length every time.
fn iso(date: &jiff::Zoned) -> String {
    date.strftime("%Y-%m-%dT%H:%M:%S.%3fZ").to_string()
}

fn whole(value: Option<&Value>) -> i64 {
    match value {
        Some(Value::Duration(ms) | Value::Int(ms)) => *ms,
        Some(Value::Float(ms)) => *ms as i64,
        _ => 0,
    }
}

fn duration(value: Option<&Value>) -> Duration {
    // Nobody waits longer than a century.
    Duration::from_millis(u64::try_from(whole(value)).unwrap_or(0).min(3_155_760_000_000))
}

fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}
