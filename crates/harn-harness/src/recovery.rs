//! Starting up after whatever happened: the default workspace, interrupted runs, and the clock's business.

use std::collections::BTreeSet;
use std::time::Duration;

use harn_core::{
    EventKind, PermissionRequest, RequestStatus, Result, Session, Task, TaskId, TaskStatus, Timestamp,
    Workspace,
};
use harn_log::{DocQuery, View};
use harn_wire::agents::PermissionResponseRequest;

use crate::in_flight::{OpenEffect, RunState};
use crate::lifecycle::{derive_status, out_of_time, start_next, transition};
use crate::tx::{Tx, kind, tag};
use crate::workspaces::{emit_workspace, new_workspace};
use crate::{Call, Harness, call, requests, scripts};

/// How often expired sessions are looked for.
const TICK: Duration = Duration::from_secs(1);
/// Answers for retries are pruned every so many ticks.
const PRUNE_TICKS: u64 = 600;

impl Harness {
    /// Makes the harness ready: one workspace at least, and every unfinished run on its way again.
    pub async fn start(&self) -> Result<Workspace> {
        let law = std::sync::Arc::clone(&self.law);
        self.look(move |view| law.reload(view)).await?;
        let workspace = self.default_workspace().await?;
        self.recover().await?;
        tokio::spawn(keep_time(self.clone()));
        Ok(workspace)
    }

    async fn default_workspace(&self) -> Result<Workspace> {
        let root = self.options.root.to_string_lossy().into_owned();
        let name = self
            .options
            .root
            .file_name()
            .map_or_else(|| "root".into(), |name| name.to_string_lossy().into_owned());
        self.command(&Call::harness(), move |tx: &mut Tx<'_>| {
            let existing: Vec<Workspace> = tx.find(&DocQuery::of(kind::WORKSPACE))?;
            if let Some(workspace) = existing.into_iter().find(|workspace| workspace.root == root) {
                return Ok(workspace);
            }
            let workspace = new_workspace(tx, name, root, Default::default());
            emit_workspace(tx, EventKind::WorkspaceCreated, &workspace)?;
            Ok(workspace)
        })
        .await
    }

    /// Runs go on where their journals end. Those that wait only for people stay parked: WORKING and then the
    /// same wait again, under the same request, in one commit each.
    async fn recover(&self) -> Result<()> {
        let open: Vec<Task> = self
            .look(|view| {
                let query = DocQuery { tag: Some(tag::OPEN), ..DocQuery::of(kind::TASK) };
                let docs = view.docs(&query).map_err(crate::fault)?;
                docs.iter().map(|doc| doc.parse().map_err(crate::fault)).collect()
            })
            .await?;
        for task in open {
            match task.status {
                TaskStatus::Working => self.drive(task.id, task.session_id),
                TaskStatus::AuthRequired | TaskStatus::InputRequired => {
                    // What a script only looks at is not in the journal before it is seen, so it may have been at work.
                    let is_script = task.metadata.contains_key(scripts::KEY);
                    let (id, session) = (task.id.clone(), task.session_id.clone());
                    self.park_again(task).await?;
                    if is_script {
                        self.drive(id, session);
                    }
                }
                // Waits behind another task, which will start it; a session without one starts it now.
                _ => self.start_waiting(task).await?,
            }
        }
        Ok(())
    }

    async fn park_again(&self, task: Task) -> Result<()> {
        self.command(&Call::harness(), move |tx: &mut Tx<'_>| {
            let Some(mut task) = tx.get::<Task>(kind::TASK, task.id.as_str())? else { return Ok(()) };
            if task.status.is_terminal() || task.status == TaskStatus::Working {
                return Ok(());
            }
            transition(tx, &mut task, TaskStatus::Working, Some("recovered"))?;
            derive_status(tx, &mut task)
        })
        .await
    }

    async fn start_waiting(&self, task: Task) -> Result<()> {
        let plan = self.plan.clone();
        self.command(&Call::harness(), move |tx: &mut Tx<'_>| {
            match tx.get::<Session>(kind::SESSION, task.session_id.as_str())? {
                Some(session) => start_next(tx, &plan, &session),
                None => Ok(()),
            }
        })
        .await
    }
}

impl Harness {
    /// Ends runs that have taken longer than they may, and denies requests that nobody answered in time.
    async fn enforce_time(&self) -> Result<()> {
        let now = self.options.clock.now();
        let Overdue { late, unanswered, due } = self.look(move |view| overdue(view, now)).await?;
        due.into_iter().for_each(|task| self.wake_parked(task));
        for (id, seconds) in late {
            let plan = self.plan.clone();
            self.command(&Call::harness(), move |tx: &mut Tx<'_>| {
                match tx.get::<Task>(kind::TASK, id.as_str())? {
                    Some(mut task) if !task.status.is_terminal() => {
                        out_of_time(tx, &plan, &mut task, seconds)
                    }
                    _ => Ok(()),
                }
            })
            .await?;
        }
        self.end_waits(now).await?;
        for request in unanswered {
            let id = request.id.clone();
            // One that cannot be ended must not keep the others from ending.
            if let Err(error) = self.expire(request).await {
                tracing::error!(%id, %error, "a request beyond its deadline could not be denied");
            }
        }
        Ok(())
    }

    async fn expire(&self, request: PermissionRequest) -> Result<()> {
        let id = request.id.clone();
        let reason = Some("Nobody answered before the deadline.".to_owned());
        let response = PermissionResponseRequest { approved: Some(false), reason, ..Default::default() };
        let answered = self.weigh(request, response, None).await?;
        self.command(&Call::harness(), move |tx: &mut Tx<'_>| {
            match tx.get::<PermissionRequest>(kind::REQUEST, id.as_str())? {
                Some(request) if request.status == RequestStatus::Pending => {
                    requests::expire(tx, request, answered).map(|_| ())
                }
                _ => Ok(()),
            }
        })
        .await
    }
}

struct Overdue {
    /// Runs beyond their time, with the seconds that they had.
    late: Vec<(TaskId, u64)>,
    /// Requests beyond their deadline.
    unanswered: Vec<PermissionRequest>,
    /// Runs with a timer whose time has come.
    due: BTreeSet<TaskId>,
}

fn overdue(view: &dyn View, now: Timestamp) -> Result<Overdue> {
    let timed = |kind| DocQuery { tag: Some(tag::TIMED), ..DocQuery::of(kind) };
    let (mut late, mut due) = (Vec::new(), BTreeSet::new());
    for doc in view.docs(&timed(kind::RUN)).map_err(crate::fault)? {
        let run: RunState = doc.parse().map_err(crate::fault)?;
        if let Some((_, seconds)) = run.deadline.filter(|(deadline, _)| *deadline < now) {
            late.push((TaskId::from(doc.id.as_str()), seconds));
        }
    }
    for doc in view.docs(&timed(kind::EFFECT)).map_err(crate::fault)? {
        let effect: OpenEffect = doc.parse().map_err(crate::fault)?;
        if let (Some(task), true) = (doc.task, effect.due.is_some_and(|due| due <= now)) {
            due.insert(TaskId::from(task.as_str()));
        }
    }
    let mut unanswered = Vec::new();
    for doc in view.docs(&timed(kind::REQUEST)).map_err(crate::fault)? {
        let request: PermissionRequest = doc.parse().map_err(crate::fault)?;
        if requests::deadline(&request).is_some_and(|deadline| deadline < now) {
            unanswered.push(request);
        }
    }
    Ok(Overdue { late, unanswered, due })
}

async fn keep_time(harness: Harness) {
    let mut ticks = tokio::time::interval(TICK);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    for tick in 0_u64.. {
        ticks.tick().await;
        if harness.is_draining() {
            return;
        }
        let mut done = harness.close_expired().await;
        if done.is_ok() {
            done = harness.enforce_time().await;
        }
        if done.is_ok() && tick % PRUNE_TICKS == 0 {
            done = harness.command(&Call::harness(), |tx: &mut Tx<'_>| call::prune(tx)).await;
        }
        if let Err(error) = done {
            tracing::warn!(%error, "the harness could not do its regular work");
        }
    }
}
