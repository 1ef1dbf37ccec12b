//! Which runs have a driver: one per task, one at a time per session, none for a parked run.

use std::collections::HashMap;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use harn_core::ports::{RunExit, RunPort, Signal};
use harn_core::run::{Entry, RunEnd};
use harn_core::{Failure, SessionId, TaskId};
use parking_lot::Mutex;
use tokio::sync::{Notify, watch};

use crate::Harness;
use crate::runs::{HarnessPort, session_of};
use crate::tx::Wake;

/// A run that could not commit is tried again after this long.
const RETRY: Duration = Duration::from_secs(1);

/// What a driver has to know while it waits.
#[derive(Default)]
pub(crate) struct RunSignal {
    state: Mutex<SignalState>,
    changed: Notify,
}

#[derive(Default, Clone, Copy)]
struct SignalState {
    answered: bool,
    over: bool,
    draining: bool,
}

impl RunSignal {
    fn set(&self, change: impl FnOnce(&mut SignalState)) {
        change(&mut self.state.lock());
        self.changed.notify_waiters();
    }

    /// The most urgent news. `Over` and `Draining` stay; `Answered` is told once.
    pub async fn wait(&self) -> Signal {
        loop {
            let changed = self.changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            if let Some(signal) = self.take() {
                return signal;
            }
            changed.await;
        }
    }

    fn take(&self) -> Option<Signal> {
        let mut state = self.state.lock();
        if state.over {
            return Some(Signal::Over);
        }
        if state.draining {
            return Some(Signal::Draining);
        }
        std::mem::take(&mut state.answered).then_some(Signal::Answered)
    }

    /// Whatever was answered so far is in the journal that a driver is about to load.
    fn forget_answers(&self) {
        self.state.lock().answered = false;
    }

    fn has_answer(&self) -> bool {
        self.state.lock().answered
    }
}

struct Run {
    session: SessionId,
    signal: Arc<RunSignal>,
    /// Runs of one session go in this order.
    order: u64,
}

/// The runs that have a driver now.
pub(crate) struct Scheduler {
    runs: Mutex<HashMap<TaskId, Run>>,
    /// Changes whenever a run leaves.
    left: watch::Sender<u64>,
    order: std::sync::atomic::AtomicU64,
    draining: std::sync::atomic::AtomicBool,
    closed: std::sync::atomic::AtomicBool,
}

impl Default for Scheduler {
    fn default() -> Self {
        Self {
            runs: Mutex::default(),
            left: watch::Sender::new(0),
            order: 0.into(),
            draining: false.into(),
            closed: false.into(),
        }
    }
}

impl Scheduler {
    pub fn is_draining(&self) -> bool {
        self.draining.load(std::sync::atomic::Ordering::SeqCst)
    }

    /// Nothing that a run still says counts: its effects fail because the process ends, not by themselves.
    pub fn is_closed(&self) -> bool {
        self.closed.load(std::sync::atomic::Ordering::SeqCst)
    }

    pub fn active(&self) -> usize {
        self.runs.lock().len()
    }

    /// Tells all drivers to start nothing new, and waits until they have left or time is up.
    pub async fn drain(&self, grace: Duration) {
        self.draining.store(true, std::sync::atomic::Ordering::SeqCst);
        for run in self.runs.lock().values() {
            run.signal.set(|state| state.draining = true);
        }
        let mut left = self.left.subscribe();
        let empty = left.wait_for(|_| self.runs.lock().is_empty());
        let _ = tokio::time::timeout(grace, empty).await;
        self.closed.store(true, std::sync::atomic::Ordering::SeqCst);
    }

    fn leave(&self, task: &TaskId) {
        self.runs.lock().remove(task);
        self.left.send_modify(|count| *count += 1);
    }

    /// Waits until no earlier run of the same session has a driver.
    async fn my_turn(&self, task: &TaskId) {
        let mut left = self.left.subscribe();
        let first = left.wait_for(|_| {
            let runs = self.runs.lock();
            let Some(me) = runs.get(task) else { return true };
            !runs.values().any(|other| other.session == me.session && other.order < me.order)
        });
        let _ = first.await;
    }
}

impl Harness {
    /// Does what a commit has asked for.
    pub(crate) fn wake(&self, wakes: Vec<Wake>) {
        for wake in wakes {
            match wake {
                Wake::Rules => {
                    let law = Arc::clone(&self.law);
                    // New rules are in force before anyone hears that they were taken.
                    if let Err(error) = self.glance(move |view| law.reload(view)) {
                        tracing::error!(%error, "the rules could not be loaded; the old ones stay in force");
                    }
                }
                Wake::Start { task, session } => self.drive(task, session),
                Wake::Over(task) => {
                    if let Some(run) = self.scheduler.runs.lock().get(&task) {
                        run.signal.set(|state| state.over = true);
                    }
                }
                Wake::Answered(task) => self.answered(task),
            }
        }
    }

    fn answered(&self, task: TaskId) {
        if let Some(run) = self.scheduler.runs.lock().get(&task) {
            return run.signal.set(|state| state.answered = true);
        }
        self.wake_parked(task);
    }

    /// Gives a run a driver again that has none, because something that it waits for has come.
    pub(crate) fn wake_parked(&self, task: TaskId) {
        if self.scheduler.runs.lock().contains_key(&task) {
            return;
        }
        // Parked: nothing of it is in memory.
        let harness = self.clone();
        tokio::spawn(async move {
            let wanted = task.clone();
            match harness.look(move |view| session_of(view, &wanted)).await {
                Ok(session) => harness.drive(task, session),
                Err(error) => tracing::error!(%task, %error, "a parked run could not be woken"),
            }
        });
    }

    /// Gives a run a driver, unless it has one.
    pub(crate) fn drive(&self, task: TaskId, session: SessionId) {
        if self.scheduler.is_draining() {
            return;
        }
        let signal = Arc::new(RunSignal::default());
        {
            let mut runs = self.scheduler.runs.lock();
            if let Some(run) = runs.get(&task) {
                return run.signal.set(|state| state.answered = true);
            }
            let order = self.scheduler.order.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
            runs.insert(task.clone(), Run { session: session.clone(), signal: Arc::clone(&signal), order });
        }
        let port = Arc::new(HarnessPort {
            harness: self.clone(),
            task,
            session,
            signal,
            judged: Default::default(),
            read: Default::default(),
        });
        tokio::spawn(supervise(port));
    }
}

async fn supervise(port: Arc<HarnessPort>) {
    let scheduler = Arc::clone(&port.harness.scheduler);
    scheduler.my_turn(&port.task).await;
    loop {
        port.signal.forget_answers();
        let shared: Arc<dyn RunPort> = Arc::clone(&port) as Arc<dyn RunPort>;
        let run = port.harness.runner.run(shared);
        let exit = match AssertUnwindSafe(run).catch_unwind().await {
            Ok(exit) => exit,
            Err(_) => fail_panicked(&port).await,
        };
        match exit {
            // An answer that came while the driver was leaving must not be slept through.
            RunExit::Parked if port.signal.has_answer() => {}
            RunExit::Suspended if !scheduler.is_draining() => tokio::time::sleep(RETRY).await,
            _ => {
                scheduler.leave(&port.task);
                // The same, for an answer between the look and the leaving.
                if exit == RunExit::Parked && port.signal.has_answer() {
                    port.harness.drive(port.task.clone(), port.session.clone());
                }
                return;
            }
        }
    }
}

/// A driver that panics would panic again after recovery, so its task fails.
async fn fail_panicked(port: &HarnessPort) -> RunExit {
    tracing::error!(task = %port.task, "a driver panicked");
    let failure =
        Failure::new("internal_error", "The run failed inside the harness. This is a defect of Harn.");
    match port.commit(vec![Entry::Finished(RunEnd::failed(failure))]).await {
        Ok(_) => RunExit::Over,
        Err(error) => {
            tracing::error!(task = %port.task, ?error, "and its failure could not be recorded");
            RunExit::Over
        }
    }
}
