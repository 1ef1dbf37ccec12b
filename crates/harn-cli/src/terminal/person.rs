//! The person at the terminal of a run that leaves nothing behind: asked in place, one thing at a time.

use async_trait::async_trait;
use harn_core::Decision;
use harn_core::ask::Ask as Asked;
use harn_core::tool::ToolCall;
use harn_engine::people::{People, Said};
use serde_json::Value;
use tokio::sync::Mutex;

use super::answer::{Act, Ask};
use super::line::{Line, Tone};
use super::prompt::Prompt;
use super::request::Request;
use super::screen::Screen;

/// Begins to read when there is something to answer.
#[derive(Default)]
pub struct Person(Mutex<Option<Talk>>);

struct Talk {
    screen: Screen,
    prompt: Prompt,
}

#[async_trait]
impl People for Person {
    async fn ask(&self, ask: &Asked) -> Option<Said> {
        self.asked(Request::of_ask(ask)).await
    }

    async fn approve(&self, call: &ToolCall, decision: &Decision) -> Option<Said> {
        self.asked(Request::of_call(call, decision)).await
    }
}

impl Person {
    async fn asked(&self, request: Request) -> Option<Said> {
        let mut talk = self.0.lock().await;
        let talk =
            talk.get_or_insert_with(|| Talk { screen: Screen::of_stdout(), prompt: Prompt::of_stdin() });
        talk.hear(Ask::new(request)).await
    }
}

impl Talk {
    /// None when there is nobody any more.
    async fn hear(&mut self, mut ask: Ask) -> Option<Said> {
        // What was asked before may have been given up.
        self.screen.withdraw();
        self.prompt.forget_what_was_typed();
        self.screen.lines(&ask.lines());
        loop {
            self.screen.prompt(ask.prompt());
            let line = self.prompt.line().await;
            self.screen.typed();
            match ask.typed(&line?) {
                Act::Send(answer) => return Some(said(&answer)),
                Act::Show(lines) => self.screen.lines(&lines),
                Act::Again(text) => self.screen.lines(&[Line::new(Tone::Bad, &text).indented(2)]),
                Act::Edit | Act::ShowRequest => self.screen.lines(&ask.lines()),
            }
        }
    }
}

fn said(answer: &Value) -> Said {
    let reply = answer.get("answer").cloned();
    Said {
        by: std::env::var("USER").unwrap_or_else(|_| "terminal".to_owned()),
        approved: reply.is_some() || answer["approved"] == true,
        reply,
        reason: answer["reason"].as_str().map(str::to_owned),
    }
}
