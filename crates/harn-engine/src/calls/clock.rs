//! The clock. Pretended times are the program's own; these are real.

use std::sync::{Arc, OnceLock};
use std::time::Instant;

use harn_core::{Clock, SystemClock};

use super::simple::reads;
use crate::tools::Tool;

pub fn calls() -> Vec<Arc<dyn Tool>> {
    vec![
        reads("now_ms", "The milliseconds since 1970.", |_, _| Ok(SystemClock.now().millis().into())),
        reads("monotonic_ms", "Milliseconds of a clock that never goes back.", |_, _| {
            Ok(u64::try_from(started().elapsed().as_millis()).unwrap_or(u64::MAX).into())
        }),
    ]
}

/// A clock that never goes back needs a beginning.
fn started() -> Instant {
    static STARTED: OnceLock<Instant> = OnceLock::new();
    *STARTED.get_or_init(Instant::now)
}
