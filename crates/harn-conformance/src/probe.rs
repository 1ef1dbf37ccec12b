//! What all checks share: the client, and resources that are made once and looked at by many checks.

use std::time::Duration;

use harn_client::{Client, Method};
use serde_json::{Value, json};
use tokio::sync::OnceCell;
use ulid::Ulid;

use crate::ask::Ask;
use crate::check::{Verdict, ensure, failed};
use crate::options::Options;
use crate::shape;
use crate::task_path::{is_terminal, waits_for_a_person};

const POLL: Duration = Duration::from_millis(50);
/// A list is walked to its end, but not for ever.
const MOST_PAGES: usize = 100;

/// A plain request, and one that many agents would have to ask back about.
pub(crate) const SAY_HELLO: &str = "Say hello.";
pub(crate) const ASK_BACK: &str = "ask which colour the user prefers, and wait for the answer";

pub(crate) struct Probe {
    client: Client,
    options: Options,
    discovery: OnceCell<Value>,
    workspace: OnceCell<String>,
    session: OnceCell<String>,
    settled: OnceCell<Settled>,
    samples: OnceCell<Vec<Sample>>,
}

/// A task that was followed until it ended or waited for a person.
pub(crate) struct Settled {
    pub(crate) task: Value,
    /// The statuses that were seen, without repetition.
    pub(crate) observed: Vec<String>,
    /// Of the task, by REST.
    pub(crate) events: Vec<Value>,
}

/// A resource as some request gave it.
pub(crate) struct Sample {
    pub(crate) what: String,
    pub(crate) object: &'static str,
    pub(crate) value: Value,
}

impl Probe {
    pub(crate) fn new(client: Client, options: Options) -> Probe {
        Probe {
            client,
            options,
            discovery: OnceCell::new(),
            workspace: OnceCell::new(),
            session: OnceCell::new(),
            settled: OnceCell::new(),
            samples: OnceCell::new(),
        }
    }

    pub(crate) fn client(&self) -> &Client {
        &self.client
    }

    pub(crate) fn options(&self) -> &Options {
        &self.options
    }

    pub(crate) fn get(&self, path: impl Into<String>) -> Ask<'_> {
        Ask::new(self, Method::GET, path)
    }

    pub(crate) fn post(&self, path: impl Into<String>) -> Ask<'_> {
        Ask::new(self, Method::POST, path)
    }

    pub(crate) fn patch(&self, path: impl Into<String>) -> Ask<'_> {
        Ask::new(self, Method::PATCH, path)
    }

    pub(crate) fn put(&self, path: impl Into<String>) -> Ask<'_> {
        Ask::new(self, Method::PUT, path)
    }

    pub(crate) async fn discovery(&self) -> Verdict<&Value> {
        self.discovery.get_or_try_init(async || self.get("/v1").expect(&[200]).await?.value()).await
    }

    pub(crate) async fn has_capability(&self, name: &str) -> bool {
        match self.discovery().await {
            Ok(discovery) => discovery["capabilities"][name] == true,
            Err(_) => false,
        }
    }

    /// The given workspace, else the first that is listed, else a new one.
    pub(crate) async fn workspace(&self) -> Verdict<&str> {
        let workspace = self.workspace.get_or_try_init(async || {
            if let Some(id) = &self.options.workspace_id {
                return Ok(id.clone());
            }
            let listed = self.get("/v1/workspaces").query("limit", 1).send().await?;
            let first = listed.items().ok().and_then(|items| items.into_iter().next());
            if let Some(id) = first.as_ref().and_then(|workspace| workspace["id"].as_str()) {
                return Ok(id.to_owned());
            }
            let body = json!({ "name": "conformance", "root": "harn://conformance" });
            let created = self.post("/v1/workspaces").body(body).send().await?;
            ensure!(
                created.succeeded(),
                "this needs a workspace, but none is listed and {} gave {}; name one with --workspace-id",
                created.what,
                created.got()
            );
            created.id()
        });
        workspace.await.map(String::as_str)
    }

    /// A session that many checks may write to.
    pub(crate) async fn session(&self) -> Verdict<&str> {
        let session = self.session.get_or_try_init(async || match &self.options.session_id {
            Some(id) => Ok(id.clone()),
            None => self.new_session().await,
        });
        session.await.map(String::as_str)
    }

    /// A session that nothing else writes to.
    pub(crate) async fn new_session(&self) -> Verdict<String> {
        let body = json!({ "workspace_id": self.workspace().await? });
        let created = self.post("/v1/sessions").body(body).send().await?;
        created.needed("session")?;
        created.id()
    }

    pub(crate) fn submit(&self, session: &str, text: &str) -> Ask<'_> {
        let input = json!({ "role": "user", "parts": [shape::text(text)] });
        self.post(format!("/v1/sessions/{session}/tasks")).body(json!({ "input": input }))
    }

    pub(crate) fn append(&self, session: &str, text: &str) -> Ask<'_> {
        let message = json!({ "role": "user", "parts": [shape::text(text)] });
        self.post(format!("/v1/sessions/{session}/messages")).body(json!({ "message": message }))
    }

    pub(crate) async fn new_task(&self, session: &str, text: &str) -> Verdict<Value> {
        let submitted = self.submit(session, text).send().await?;
        submitted.needed("task")?;
        submitted.id()?;
        submitted.value()
    }

    pub(crate) async fn task(&self, id: &str) -> Verdict<Value> {
        self.get(format!("/v1/tasks/{id}")).expect(&[200]).await?.value()
    }

    /// Follows a task until it is terminal or waits for a person; the check's time ends a longer wait.
    pub(crate) async fn settle(&self, submitted: &Value) -> Verdict<Settled> {
        let id = shape::id_of(submitted)?;
        let mut observed = vec![shape::status_of(submitted)?];
        let half = tokio::time::Instant::now() + self.options.timeout / 2;
        loop {
            let task = self.task(&id).await?;
            let status = shape::status_of(&task)?;
            if observed.last() != Some(&status) {
                observed.push(status.clone());
            }
            if is_terminal(&status) || waits_for_a_person(&status) {
                let events = self.events_of(&format!("/v1/tasks/{id}/events")).await?;
                return Ok(Settled { task, observed, events });
            }
            ensure!(
                tokio::time::Instant::now() < half,
                "task {id} is still {status} after {:?}; a larger --timeout waits longer",
                self.options.timeout / 2
            );
            tokio::time::sleep(POLL).await;
        }
    }

    /// One settled task for all checks that only look at it.
    pub(crate) async fn settled(&self) -> Verdict<&Settled> {
        let settled = self.settled.get_or_try_init(async || {
            let session = self.new_session().await?;
            let task = self.new_task(&session, SAY_HELLO).await?;
            self.settle(&task).await
        });
        settled.await
    }

    /// All events of a range, walked with `after_event_id`.
    pub(crate) async fn events_of(&self, path: &str) -> Verdict<Vec<Value>> {
        let mut events: Vec<Value> = Vec::new();
        for _ in 0..MOST_PAGES {
            let mut ask = self.get(path).query("limit", 200);
            if let Some(last) = events.last() {
                ask = ask.query("after_event_id", shape::id_of(last)?);
            }
            let seen = ask.expect(&[200]).await?;
            let items = seen.items()?;
            let ended = items.is_empty() || seen.value()?["page"]["has_more"] != true;
            events.extend(items);
            if ended {
                return Ok(events);
            }
        }
        failed(format!("GET {path} still has more events after {MOST_PAGES} pages"))
    }

    /// One resource of every kind that a Core server has.
    pub(crate) async fn samples(&self) -> Verdict<&Vec<Sample>> {
        self.samples.get_or_try_init(async || self.collect_samples().await).await
    }

    async fn collect_samples(&self) -> Verdict<Vec<Sample>> {
        let settled = self.settled().await?;
        let session = settled.task["session_id"].as_str().unwrap_or_default();
        let mut samples = Vec::new();
        let one = [
            (format!("/v1/workspaces/{}", self.workspace().await?), "workspace"),
            (format!("/v1/sessions/{session}"), "session"),
            (format!("/v1/tasks/{}", shape::id_of(&settled.task)?), "task"),
        ];
        for (path, object) in one {
            let seen = self.get(path).send().await?;
            if seen.succeeded() {
                samples.push(Sample { value: seen.value()?, what: seen.what, object });
            }
        }
        let many = [
            (format!("/v1/sessions/{session}/messages"), "message"),
            (format!("/v1/sessions/{session}/tasks"), "task"),
            (format!("/v1/sessions/{session}/events"), "event"),
            ("/v1/sessions".to_owned(), "session"),
            ("/v1/artifacts".to_owned(), "artifact"),
            ("/v1/outcomes".to_owned(), "outcome"),
        ];
        for (path, object) in many {
            let seen = self.get(path).query("limit", 20).send().await?;
            if seen.succeeded() {
                let what = &seen.what;
                let sample = |value| Sample { what: what.clone(), object, value };
                samples.extend(seen.items()?.into_iter().map(sample));
            }
        }
        Ok(samples)
    }
}

/// A key or a name that was never used before.
pub(crate) fn unique(prefix: &str) -> String {
    format!("{prefix}-{}", Ulid::generate())
}

pub(crate) async fn pause() {
    tokio::time::sleep(POLL).await;
}
