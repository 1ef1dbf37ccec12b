//! Who is asked by a run that leaves nothing behind.

use std::collections::HashSet;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use async_trait::async_trait;
use futures::FutureExt;
use futures::future::BoxFuture;
use harn_core::ask::{Ask, AskKind, Asker, Ballot, Record, Settled, fit};
use harn_core::run::{Answer, Completion, EffectKey};
use harn_core::tool::{ToolCall, ToolOutcome};
use harn_core::{Clock, Decision, RequestId, SystemClock};
use parking_lot::Mutex;
use serde_json::Value;

use crate::perform::{denied, tool_completion};

/// Somebody who can be asked here and now, such as at a terminal.
#[async_trait]
pub trait People: Send + Sync {
    /// None when nobody answers any more.
    async fn ask(&self, ask: &Ask) -> Option<Said>;

    /// Whether something may happen that policy wants a person to agree to.
    async fn approve(&self, call: &ToolCall, decision: &Decision) -> Option<Said>;
}

/// What somebody said.
#[derive(Clone, Debug, PartialEq)]
pub struct Said {
    pub by: String,
    pub approved: bool,
    /// The reply to a question. Text may stand for one of the choices, or for a value of the wanted type.
    pub reply: Option<Value>,
    pub reason: Option<String>,
}

const NOBODY: &str = "Nobody is there to be asked: run the script's file with --durable.";
const LATE: &str = "Nobody answered before the deadline.";

/// Asks, and gives what the program gets.
pub(crate) async fn ask(people: Option<&dyn People>, ask: &Ask) -> Completion {
    let (verdict, said) = match heard(people, ask).await {
        Ok(said) if said.approved => (Settled::Yes, said),
        Ok(said) => (Settled::No, said),
        Err((verdict, why)) if ask.asker == Asker::Script => {
            return Completion::Answered { answer: ask.settled(verdict, Some(why)) };
        }
        Err((_, why)) => return denied(&ask.call, Some(&why)),
    };
    match (ask.asker, verdict) {
        (Asker::Script, _) => Completion::Answered { answer: record(ask, said, verdict) },
        (Asker::Model, Settled::Yes) => {
            tool_completion(&ask.call, ToolOutcome::Ok, said.reply.unwrap_or_default())
        }
        (Asker::Model, _) => denied(&ask.call, said.reason.as_deref()),
    }
}

/// What somebody said, or how it ended without anybody's word, and why.
async fn heard(people: Option<&dyn People>, ask: &Ask) -> Result<Said, (Settled, String)> {
    let now = SystemClock.now();
    let left = ask.due(now).map(|due| u64::try_from(due.millis().saturating_sub(now.millis())).unwrap_or(0));
    let Some(people) = people else {
        // A run that nobody can answer is one that nobody answers in time.
        let Some(left) = left else { return Err((Settled::No, nobody(ask))) };
        tokio::time::sleep(Duration::from_millis(left)).await;
        return Err((Settled::Timeout, LATE.to_owned()));
    };
    if let Some(quorum @ 2..) = ask.quorum {
        let why = format!("{quorum} people have to agree, and only one is here: run it with --durable.");
        return Err((Settled::No, why));
    }
    let gone = || (Settled::No, nobody(ask));
    let answer = answered(people, ask);
    let Some(left) = left else { return answer.await.ok_or_else(gone) };
    match tokio::time::timeout(Duration::from_millis(left), answer).await {
        Ok(said) => said.ok_or_else(gone),
        Err(_) => Err((Settled::Timeout, LATE.to_owned())),
    }
}

/// In a test nobody is ever there, and what a script asks for itself can be answered in advance.
fn nobody(ask: &Ask) -> String {
    match ask.asker {
        Asker::Script => {
            format!("{NOBODY} In a test, host_mock(\"hitl\", \"{}\", …) answers.", ask.kind.as_str())
        }
        Asker::Model => NOBODY.to_owned(),
    }
}

/// A reply that the asker cannot use is asked for again.
async fn answered(people: &dyn People, ask: &Ask) -> Option<Said> {
    let mut again = ask.clone();
    loop {
        let mut said = people.ask(&again).await?;
        if ask.kind != AskKind::Question || !said.approved {
            return Some(said);
        }
        match fit(&ask.choices, ask.schema.as_ref(), said.reply.take().unwrap_or_default()) {
            Ok(reply) => return Some(Said { reply: Some(reply), ..said }),
            Err(problem) => again.prompt = format!("{}\n{problem}", ask.prompt),
        }
    }
}

fn record(ask: &Ask, said: Said, verdict: Settled) -> Value {
    let Said { by, approved, reply, reason } = said;
    let record = Record {
        kind: ask.kind,
        request_id: Some(RequestId::generate().to_string()),
        role: ask.role.clone(),
        verdict,
        reason,
        value: reply.filter(|_| approved),
        ballots: vec![Ballot { reviewer: by, approved, at: SystemClock.now() }],
    };
    record.value()
}

/// What policy has asked people about in a run, and what they said.
#[derive(Default)]
pub(crate) struct Approvals {
    /// Goes on only while somebody waits for an answer.
    asked: Mutex<Vec<(EffectKey, BoxFuture<'static, Answer>)>>,
    answers: Mutex<Vec<(EffectKey, Answer)>>,
    /// Effects that may happen, though policy still asks about them.
    approved: Mutex<HashSet<EffectKey>>,
}

impl Approvals {
    pub fn ask(&self, people: Arc<dyn People>, key: &EffectKey, call: ToolCall, decision: Decision) {
        let asked = async move {
            let said = people.approve(&call, &decision).await;
            let reason = match &said {
                Some(said) => said.reason.clone(),
                None => Some(NOBODY.to_owned()),
            };
            let approved = said.is_some_and(|said| said.approved);
            Answer { approved, args: None, reply: None, reason, record: None }
        };
        self.asked.lock().push((key.clone(), asked.boxed()));
    }

    /// The program does not want it any more.
    pub fn forget(&self, key: &EffectKey) {
        self.asked.lock().retain(|(other, _)| other != key);
    }

    /// Until somebody has said something.
    pub async fn heard(&self) {
        let (key, answer) = poll_fn(|cx| {
            let mut asked = self.asked.lock();
            let mut polled = asked.iter_mut().enumerate();
            let heard = polled.find_map(|(at, (_, work))| match work.poll_unpin(cx) {
                Poll::Ready(answer) => Some((at, answer)),
                Poll::Pending => None,
            });
            match heard {
                Some((at, answer)) => Poll::Ready((asked.remove(at).0, answer)),
                None => Poll::Pending,
            }
        })
        .await;
        if answer.approved {
            self.approved.lock().insert(key.clone());
        }
        self.answers.lock().push((key, answer));
    }

    pub fn answers(&self) -> Vec<(EffectKey, Answer)> {
        self.answers.lock().clone()
    }

    pub fn has(&self, key: &EffectKey) -> bool {
        self.approved.lock().contains(key)
    }
}
