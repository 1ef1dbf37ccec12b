//! After a random workload, the projections rebuilt from the log equal the live ones.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use std::time::Duration;

use harn_core::{SessionId, TaskId};
use harn_harness::{Harness, HarnessProjection, PageQuery};
use harn_log::sqlite::{Options, rebuild, verify};
use serde_json::json;
use support::{alice, keyed, offline, open, request, user};

/// Numbers that look random and are the same in every run.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % sides
    }

    fn pick<'a, T>(&mut self, items: &'a [T]) -> Option<&'a T> {
        if items.is_empty() { None } else { items.get(self.roll(items.len())) }
    }
}

const REQUESTS: [&str; 6] =
    ["hello", "list files", "read a.txt", "write a.txt: more", "ask why", "run echo x >> y.txt\nlist files"];

/// One command that somebody might give. Refusals are part of life and count as well.
async fn step(harness: &Harness, dice: &mut Dice, sessions: &mut Vec<SessionId>, tasks: &mut Vec<TaskId>) {
    let call = alice();
    let session = dice.pick(sessions).cloned();
    let task = dice.pick(tasks).cloned();
    match (dice.roll(12), session, task) {
        (0, ..) | (_, None, _) => {
            let workspaces = harness.workspaces(&call.actor, PageQuery::default()).await.unwrap();
            let initial = [user("before")];
            let create = json!({ "workspace_id": workspaces.data[0].id, "initial_messages": initial });
            sessions.push(harness.create_session(&call, request(create)).await.unwrap().id);
        }
        (1 | 2, Some(session), _) => {
            let message = request(json!({ "message": user("by the way") }));
            let call = keyed(&format!("m{}", dice.roll(40)));
            let _ = harness.append_session_message(&call, session, message).await;
        }
        (3..=5, Some(session), _) => {
            let submit = request(json!({ "input": user(REQUESTS[dice.roll(REQUESTS.len())]) }));
            if let Ok(task) = harness.submit_task(&call, session, submit).await {
                tasks.push(task.id);
            }
        }
        (6 | 7, _, Some(task)) => {
            let pending =
                harness.task_permission_requests(&call.actor, task, PageQuery::default()).await.unwrap();
            if let Some(asked) = dice.pick(&pending.data) {
                let answer = request(json!({ "approved": dice.roll(3) > 0, "answer": "because" }));
                let _ = harness.respond(&call, asked.id.clone(), answer).await;
            }
        }
        (8, _, Some(task)) => {
            let _ = harness.cancel_task(&call, task, Default::default()).await;
        }
        (9, Some(session), _) => {
            let keep = request(json!({ "keep_first": dice.roll(4) }));
            let _ = harness.truncate_session(&call, session, keep).await;
        }
        (10, Some(session), _) => {
            if let Ok(fork) = harness.fork_session(&call, session, Default::default()).await {
                sessions.push(fork.id);
            }
        }
        (11, Some(session), _) if dice.roll(4) == 0 => {
            let _ = harness.close_session(&call, session).await;
        }
        (_, Some(session), _) => {
            let update = request(json!({ "summary": format!("roll {}", dice.roll(100)) }));
            let _ = harness.update_session(&call, session, update).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn projections_rebuilt_after_a_random_workload_equal_the_live_ones() {
    for seed in 1..=3 {
        let folder = tempfile::tempdir().unwrap();
        let data = folder.path().join("data");
        let mut dice = Dice(seed);
        let (mut sessions, mut tasks) = (Vec::new(), Vec::new());
        let running = open(folder.path(), offline(), Options::default()).await.unwrap();
        for _ in 0..250 {
            step(&running.harness, &mut dice, &mut sessions, &mut tasks).await;
        }
        running.harness.drain(Duration::from_secs(10)).await;
        running.log.close();
        drop(running);

        // `verify` replays the whole log into fresh documents and compares each with the live one.
        let live = verify(&data, &HarnessProjection).unwrap();
        assert_eq!(live.problems, Vec::<String>::new(), "seed {seed}");
        assert!(live.rows > 1000 && live.documents > 200, "{live:?}");

        let broken = rusqlite::Connection::open(data.join("harn.db")).unwrap();
        broken.execute("DELETE FROM doc WHERE rowid % 3 = 0", []).unwrap();
        broken.execute("UPDATE doc SET tag = 'lost' WHERE rowid % 5 = 0", []).unwrap();
        drop(broken);
        assert!(!verify(&data, &HarnessProjection).unwrap().problems.is_empty());
        rebuild(&data, &HarnessProjection).unwrap();
        assert_eq!(verify(&data, &HarnessProjection).unwrap(), live, "seed {seed}");
    }
}
