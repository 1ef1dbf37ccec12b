//! Follows a task or a session: shows its events, asks people in place, and ends with what came of it.

use std::collections::VecDeque;
use std::io::IsTerminal;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Result;
use harn_client::{Client, ClientError, Method};
use harn_core::{PermissionRequest, TaskStatus};
use serde_json::{Value, json};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::task::JoinHandle;

use super::answer::{Act, Ask, edit, editor};
use super::ending::Ending;
use super::event::Event;
use super::feed::{Feed, Item};
use super::line::{Line, Tone};
use super::pages::all_pages;
use super::prompt::Prompt;
use super::request::{Request, is_open};
use super::screen::Screen;
use super::subject::{Subject, lost};
use super::view::{Detail, News, View};
use crate::api;

/// Somebody has to answer, and nobody can.
pub const NEEDS_ANSWER: u8 = 3;
/// Cancelled, or left by Ctrl-C.
const INTERRUPTED: u8 = 130;
const FRAME: Duration = Duration::from_millis(120);

/// Who answers what the run asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answers {
    /// The person at this terminal.
    Person,
    /// Every approval is a yes. Questions go to the person, if there is one.
    Yes { person: bool },
    /// Nobody: the command ends when the run waits for an answer.
    Nobody,
    /// Somebody else: the view goes on and shows what comes.
    Elsewhere,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interrupt {
    /// Ctrl-C cancels the task, and once more leaves it.
    Cancels,
    /// Ctrl-C only stops watching.
    Leaves,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Output {
    Lines(Detail),
    /// Every event as it came, one to a line.
    Json,
}

/// Whether there is a person to ask: one who sees what is asked and whose typing reaches us.
pub fn can_ask() -> bool {
    std::io::stdin().is_terminal() && std::io::stdout().is_terminal()
}

pub struct Follow {
    client: Client,
    subject: Subject,
    answers: Answers,
    interrupt: Interrupt,
    output: Output,
    feed: Feed,
    view: View,
    screen: Screen,
    prompt: Prompt,
    asks: VecDeque<Ask>,
    interrupts: Signal,
    resizes: Signal,
    cancel: Cancel,
}

/// The first Ctrl-C cancels, and only that one does.
enum Cancel {
    NotAsked,
    UnderWay(JoinHandle<Result<(), ClientError>>),
    Over,
}

impl Follow {
    pub fn task(
        client: &Client,
        id: &str,
        output: Output,
        answers: Answers,
        interrupt: Interrupt,
    ) -> Result<Self> {
        Self::new(client, Subject::Task(id.to_owned()), output, answers, interrupt)
    }

    pub fn session(client: &Client, id: &str, output: Output, answers: Answers) -> Result<Self> {
        Self::new(client, Subject::Session(id.to_owned()), output, answers, Interrupt::Leaves)
    }

    fn new(
        client: &Client,
        subject: Subject,
        output: Output,
        answers: Answers,
        interrupt: Interrupt,
    ) -> Result<Self> {
        let detail = match output {
            Output::Lines(detail) => detail,
            Output::Json => Detail::Quiet,
        };
        Ok(Self {
            client: client.clone(),
            feed: Feed::open(client.clone(), subject.stream()),
            subject,
            answers,
            interrupt,
            output,
            view: View::new(detail),
            screen: Screen::of_stdout(),
            prompt: Prompt::of_stdin(),
            asks: VecDeque::new(),
            interrupts: signal(SignalKind::interrupt())?,
            resizes: signal(SignalKind::window_change())?,
            cancel: Cancel::NotAsked,
        })
    }

    /// Until the task has ended, nobody can answer, or somebody has had enough.
    pub async fn run(mut self) -> Result<ExitCode> {
        let code = self.follow().await;
        self.screen.withdraw();
        self.screen.still();
        code
    }

    async fn follow(&mut self) -> Result<ExitCode> {
        let mut frames = tokio::time::interval(FRAME);
        loop {
            let moves =
                self.screen.moves() && self.asks.is_empty() && matches!(self.output, Output::Lines(_));
            let step = tokio::select! {
                biased;
                _ = self.interrupts.recv() => self.interrupted(),
                _ = self.resizes.recv() => {
                    self.screen.resize();
                    None
                }
                done = finished(&mut self.cancel) => {
                    self.cancelled(done);
                    None
                }
                item = self.feed.next() => self.took(item).await?,
                line = self.prompt.line(), if !self.asks.is_empty() => self.typed(line).await?,
                _ = frames.tick(), if moves => {
                    self.screen.spin(self.view.waiting_for());
                    None
                }
            };
            if let Some(code) = step {
                return Ok(code);
            }
        }
    }

    async fn took(&mut self, item: Option<Item>) -> Result<Option<ExitCode>> {
        match item {
            Some(Item::Event { json }) => self.event(&json).await,
            Some(Item::Broken) => {
                self.screen.notice(Tone::Attention, "The connection to the server broke; connecting again.");
                Ok(None)
            }
            Some(Item::Lost(cause)) => Err(lost(&self.subject, cause)),
            None => Err(lost(&self.subject, ClientError::Protocol("the stream of events ended".into()))),
        }
    }

    async fn event(&mut self, json: &str) -> Result<Option<ExitCode>> {
        if self.output == Output::Json {
            // An event is one line on the wire; a server that sends others is not to break ours.
            self.screen.json(&json.replace(['\n', '\r'], " "));
        }
        let Some(event) = Event::parse(json) else { return Ok(None) };
        let shown = self.view.show(&event);
        if let Output::Lines(_) = self.output {
            self.screen.lines(&shown.lines);
        }
        match shown.news {
            News::Nothing => Ok(None),
            News::Printed { is_error, text } => {
                if let Output::Lines(_) = self.output {
                    self.screen.printed(is_error, &text);
                }
                Ok(None)
            }
            News::Asks(request) => self.asked(*request).await,
            News::Resolved { request } => {
                self.resolved(&request);
                Ok(None)
            }
            News::WaitsForPeople => self.waits(event.task_id.as_deref().unwrap_or_default()).await,
            News::Ended(ending) => Ok(self.ended(&ending)),
            News::SessionClosed if matches!(self.subject, Subject::Session(_)) => Ok(Some(ExitCode::SUCCESS)),
            News::SessionClosed => Ok(None),
        }
    }

    fn ended(&mut self, ending: &Ending) -> Option<ExitCode> {
        self.asks.clear();
        self.screen.withdraw();
        if matches!(self.subject, Subject::Session(_)) {
            return None;
        }
        if self.output == Output::Json {
            self.screen.json(&ending.outcome.to_string());
        }
        Some(match ending.status {
            TaskStatus::Completed => ExitCode::SUCCESS,
            TaskStatus::Canceled => ExitCode::from(INTERRUPTED),
            _ => ExitCode::FAILURE,
        })
    }

    /// On a replay most requests have been answered long ago, so it is looked up whether this one is open.
    async fn asked(&mut self, request: Request) -> Result<Option<ExitCode>> {
        let brief = Line::new(Tone::Attention, "? ").and(Tone::Plain, &request.short_form()).clipped();
        let person = match self.answers {
            Answers::Elsewhere => false,
            Answers::Yes { .. } if !request.is_question() => {
                self.show(&[brief.and(Tone::Attention, "  approved by --yes")]);
                self.approve(&request).await;
                return Ok(None);
            }
            Answers::Nobody | Answers::Yes { person: false } => {
                self.show(&request.lines(None));
                self.view.saw_whole(&request.call);
                return Ok(None);
            }
            Answers::Yes { person: true } | Answers::Person => true,
        };
        if person && self.open(&request.task).await?.iter().any(|open| open.id == request.id) {
            self.view.saw_whole(&request.call);
            self.asks.push_back(Ask::new(request));
            if self.asks.len() == 1 {
                self.present();
            }
        } else {
            self.show(&[brief]);
        }
        Ok(None)
    }

    fn show(&mut self, lines: &[Line]) {
        if let Output::Lines(_) = self.output {
            self.screen.lines(lines);
        }
    }

    /// Shows the request that is next, and waits for an answer to it and to nothing before.
    fn present(&mut self) {
        let Some(ask) = self.asks.front() else { return };
        self.screen.still();
        self.screen.lines(&ask.lines());
        self.prompt.forget_what_was_typed();
        self.ask_again();
    }

    fn ask_again(&mut self) {
        let Some(ask) = self.asks.front() else { return };
        self.screen.prompt(ask.prompt());
    }

    fn resolved(&mut self, id: &str) {
        let current = self.asks.front().is_some_and(|ask| ask.request.id == id);
        self.asks.retain(|ask| ask.request.id != id);
        if current {
            self.screen.withdraw();
            self.present();
        }
    }

    /// The run waits for people only. If there is nobody here who could answer, this is the end for now.
    async fn waits(&mut self, task: &str) -> Result<Option<ExitCode>> {
        match self.answers {
            Answers::Person | Answers::Elsewhere | Answers::Yes { person: true } => Ok(None),
            Answers::Nobody | Answers::Yes { person: false } => self.nobody_answers(task).await,
        }
    }

    async fn nobody_answers(&mut self, task: &str) -> Result<Option<ExitCode>> {
        let open = self.open(task).await?;
        if open.is_empty() {
            return Ok(None);
        }
        for request in &open {
            let text = format!(
                "Request {} needs an answer ({}), and there is nobody to ask here. To answer it:\n",
                request.id,
                request.short_form()
            );
            self.screen.notice(Tone::Attention, text.trim_end());
            self.screen.notice(Tone::Plain, &format!("  {}", request.answer_command()));
        }
        self.screen.notice(
            Tone::Plain,
            &format!("Task {task} waits until then. To go on watching: harn tasks watch {task}"),
        );
        if self.output == Output::Json {
            let ids: Vec<&str> = open.iter().map(|request| request.id.as_str()).collect();
            self.screen
                .json(&json!({ "object": "unanswered", "task_id": task, "request_ids": ids }).to_string());
        }
        Ok(Some(ExitCode::from(NEEDS_ANSWER)))
    }

    /// What a task has asked and nobody has answered.
    async fn open(&self, task: &str) -> Result<Vec<Request>> {
        let path = api::path(&["v1", "tasks", task, "permission-requests"]);
        let requests: Vec<PermissionRequest> = all_pages(&self.client, &path, &[]).await?;
        Ok(requests.into_iter().filter(is_open).map(Request::from).collect())
    }

    async fn approve(&mut self, request: &Request) {
        if let Err(error) = self.respond(&request.id, &json!({ "approved": true })).await {
            self.screen.notice(Tone::Bad, &format!("Request {} was not approved: {error}", request.id));
        }
    }

    async fn respond(&self, id: &str, answer: &Value) -> Result<(), ClientError> {
        let path = api::path(&["v1", "permission-requests", id, "respond"]);
        let key = harn_core::RequestId::generate();
        let request = self.client.request(Method::POST, &path).idempotency_key(key.as_str()).json(answer);
        request.send().await?.ok().map(|_| ())
    }

    async fn typed(&mut self, line: Option<String>) -> Result<Option<ExitCode>> {
        self.screen.typed();
        let Some(line) = line else {
            self.answers = Answers::Nobody;
            let task = self.asks.front().map(|ask| ask.request.task.clone()).unwrap_or_default();
            self.asks.clear();
            return self.nobody_answers(&task).await;
        };
        let Some(ask) = self.asks.front_mut() else { return Ok(None) };
        let act = match ask.typed(&line) {
            Act::Edit => self.edit().await?,
            other => Some(other),
        };
        match act {
            Some(Act::Send(answer)) => self.send(&answer).await,
            Some(Act::Show(lines)) => {
                self.screen.lines(&lines);
                self.ask_again();
            }
            Some(Act::Again(text)) => {
                self.screen.lines(&[Line::new(Tone::Bad, &text).indented(2)]);
                self.ask_again();
            }
            Some(Act::ShowRequest) => self.present(),
            Some(Act::Edit) | None => self.ask_again(),
        }
        Ok(None)
    }

    /// None when the person is to type the arguments here.
    async fn edit(&mut self) -> Result<Option<Act>> {
        let Some(ask) = self.asks.front_mut() else { return Ok(None) };
        let Some(editor) = editor() else {
            ask.enter_json();
            return Ok(None);
        };
        let text = serde_json::to_string_pretty(&ask.args())?;
        let edited = edit(&editor, &ask.request.id, &text).await;
        // Ctrl-C in the editor was meant for the editor.
        self.interrupts = signal(SignalKind::interrupt())?;
        Ok(Some(match edited {
            Ok(text) => ask.edited(&text),
            Err(error) => Act::Again(format!("{error:#}.")),
        }))
    }

    async fn send(&mut self, answer: &Value) {
        let Some(ask) = self.asks.front() else { return };
        let id = ask.request.id.clone();
        match self.respond(&id, answer).await {
            Ok(()) => {}
            Err(ClientError::Refused { status: 404 | 409, message, .. }) => {
                self.screen.notice(Tone::Attention, &message);
            }
            Err(error) => {
                self.screen.notice(Tone::Bad, &format!("The answer was not taken: {error}"));
                self.ask_again();
                return;
            }
        }
        self.asks.pop_front();
        self.present();
    }

    fn interrupted(&mut self) -> Option<ExitCode> {
        self.screen.withdraw();
        self.screen.wipe();
        if self.interrupt == Interrupt::Cancels && matches!(self.cancel, Cancel::NotAsked) {
            self.asks.clear();
            self.screen.notice(Tone::Attention, "Canceling the task. Ctrl-C once more leaves it as it is.");
            let cancel = cancel(self.client.clone(), self.subject.id().to_owned());
            self.cancel = Cancel::UnderWay(tokio::spawn(cancel));
            return None;
        }
        let text =
            format!("Left as it is: {}. To watch it: {}", self.subject.id(), self.subject.watch_command());
        self.screen.notice(Tone::Attention, &text);
        Some(ExitCode::from(INTERRUPTED))
    }

    fn cancelled(&mut self, done: Result<(), ClientError>) {
        self.cancel = Cancel::Over;
        match done {
            // A task that has ended in the meantime cannot be cancelled, and its end is on its way.
            Ok(()) | Err(ClientError::Refused { status: 409, .. }) => {}
            Err(error) => self.screen.notice(Tone::Bad, &format!("The task was not canceled: {error}")),
        }
    }
}

async fn cancel(client: Client, task: String) -> Result<(), ClientError> {
    let request = client.request(Method::POST, &api::path(&["v1", "tasks", &task, "cancel"]));
    request.json(&json!({ "reason": "Ctrl-C" })).send().await?.ok().map(|_| ())
}

/// Never, when nothing is under way.
async fn finished(cancel: &mut Cancel) -> Result<(), ClientError> {
    match cancel {
        Cancel::NotAsked | Cancel::Over => std::future::pending().await,
        Cancel::UnderWay(work) => match work.await {
            Ok(done) => done,
            Err(error) => Err(ClientError::Protocol(format!("the request was given up: {error}"))),
        },
    }
}
