//! What is followed: a task or a session, where its events are, and what is said when they are gone.

use anyhow::anyhow;
use harn_client::ClientError;

use crate::api;

/// What is followed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Subject {
    Task(String),
    Session(String),
}

impl Subject {
    pub fn id(&self) -> &str {
        match self {
            Self::Task(id) | Self::Session(id) => id,
        }
    }

    pub fn watch_command(&self) -> String {
        match self {
            Self::Task(id) => format!("harn tasks watch {id}"),
            Self::Session(id) => format!("harn sessions watch {id}"),
        }
    }

    pub fn stream(&self) -> String {
        match self {
            Self::Task(id) => api::path(&["v1", "tasks", id, "stream"]),
            Self::Session(id) => api::path(&["v1", "sessions", id, "events", "stream"]),
        }
    }
}

/// Why its events cannot be shown any more, and what to do.
pub fn lost(subject: &Subject, cause: ClientError) -> anyhow::Error {
    match cause {
        ClientError::Refused { .. } | ClientError::Invalid(_) | ClientError::Tls { .. } => cause.into(),
        _ => anyhow!(
            "the server is gone ({cause}). Nothing that it accepted is lost: when it runs again, {} goes on; to see \
             it: {}",
            subject.id(),
            subject.watch_command()
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_is_gone_is_told_with_how_to_go_on() {
        let cause = || ClientError::Unreachable { url: "http://x".into(), cause: "refused".into() };
        let cases = [
            (Subject::Task("task_1".into()), "task_1 goes on; to see it: harn tasks watch task_1"),
            (
                Subject::Session("session_1".into()),
                "session_1 goes on; to see it: harn sessions watch session_1",
            ),
        ];
        for (subject, end) in cases {
            let told = lost(&subject, cause()).to_string();
            let begins = told.starts_with("the server is gone (cannot reach http://x: refused");
            assert!(begins && told.ends_with(end), "{told}");
        }
    }

    #[test]
    fn an_id_stays_one_piece_of_the_path() {
        assert_eq!(Subject::Task("../keys?a".into()).stream(), "/v1/tasks/%2E%2E%2Fkeys%3Fa/stream");
    }
}
