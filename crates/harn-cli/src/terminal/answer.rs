//! From what a person types to the answer that is sent, and the editor for arguments.

use std::fs;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use super::call::Args;
use super::line::Line;
use super::request::{Request, What};

/// What can be said to a run that leaves nothing behind.
const HERE: &str = "Type y, n or ?, then Enter.";

/// A request that somebody is being asked about.
#[derive(Clone, Debug)]
pub struct Ask {
    pub request: Request,
    /// Arguments that the person wants instead of those that were asked for.
    args: Option<Args>,
    entering: Entering,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Entering {
    Choice,
    /// The arguments, as one line of JSON.
    Json,
}

/// What follows from a typed line.
#[derive(Clone, Debug, PartialEq)]
pub enum Act {
    Send(Value),
    Show(Vec<Line>),
    Edit,
    /// It was not understood; says what would be.
    Again(String),
    /// The arguments are others now, so the whole request is shown again.
    ShowRequest,
}

impl Ask {
    pub fn new(request: Request) -> Self {
        Self { request, args: None, entering: Entering::Choice }
    }

    pub fn lines(&self) -> Vec<Line> {
        let mut lines = self.request.lines(self.args.as_ref());
        lines.push(self.request.choices());
        lines
    }

    pub fn prompt(&self) -> &'static str {
        match (self.entering, &self.request.what) {
            (Entering::Json, _) => "  arguments as one line of JSON> ",
            (Entering::Choice, What::Question { .. }) => "  answer> ",
            (Entering::Choice, What::Approval { .. }) => "  > ",
        }
    }

    pub fn typed(&mut self, line: &str) -> Act {
        if self.entering == Entering::Json {
            return self.edited(line);
        }
        if self.request.is_question() {
            return match line {
                "" => Act::Again("Type an answer; Ctrl-C ends it.".into()),
                text => Act::Send(json!({ "answer": text })),
            };
        }
        let (key, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        match (key.to_lowercase().as_str(), rest.trim()) {
            ("y" | "yes", "") => Act::Send(self.yes(None)),
            ("s" | "w" | "e", "") if !self.request.is_kept() => Act::Again(HERE.into()),
            ("s", "") => Act::Send(self.yes(Some("session"))),
            ("w", "") => Act::Send(self.yes(Some("workspace"))),
            ("n" | "no", "") => Act::Send(json!({ "approved": false })),
            ("n" | "no", reason) => Act::Send(json!({ "approved": false, "reason": reason })),
            ("e", "") => Act::Edit,
            ("?", "") => Act::Show(self.request.more()),
            _ if !self.request.is_kept() => Act::Again(HERE.into()),
            _ => Act::Again("Type y, n, s, w, e or ?, then Enter.".into()),
        }
    }

    /// No editor is known: the next line is the arguments.
    pub fn enter_json(&mut self) {
        self.entering = Entering::Json;
    }

    pub fn edited(&mut self, text: &str) -> Act {
        self.entering = Entering::Choice;
        match serde_json::from_str::<Args>(text) {
            Ok(args) => {
                self.args = Some(args);
                Act::ShowRequest
            }
            Err(error) => Act::Again(format!("These are no arguments, so nothing was changed: {error}.")),
        }
    }

    pub fn args(&self) -> Args {
        match (&self.args, &self.request.what) {
            (Some(args), _) => args.clone(),
            (None, What::Approval { args, .. }) => args.clone(),
            (None, What::Question { .. }) => Args::new(),
        }
    }

    fn yes(&self, scope: Option<&str>) -> Value {
        let mut answer = json!({ "approved": true });
        if let Some(args) = &self.args {
            answer["args"] = json!(args);
        }
        if let Some(scope) = scope {
            answer["remember"] = json!(true);
            answer["scope"] = json!(scope);
        }
        answer
    }
}

/// The editor that the person has chosen.
pub fn editor() -> Option<String> {
    let named = |name: &str| std::env::var(name).ok().filter(|value| !value.trim().is_empty());
    named("VISUAL").or_else(|| named("EDITOR"))
}

/// Lets the person change a text in the editor.
pub async fn edit(editor: &str, name: &str, text: &str) -> Result<String> {
    let file = Temporary::with(name, text)?;
    // As a shell would: an editor may be named with options.
    let status = tokio::process::Command::new("sh")
        .args(["-c", &format!("{editor} \"$1\""), "sh"])
        .arg(&file.path)
        .status()
        .await
        .with_context(|| format!("the editor `{editor}` cannot be started; check EDITOR"))?;
    if !status.success() {
        bail!("the editor `{editor}` ended with {status}, so nothing was changed");
    }
    fs::read_to_string(&file.path).context("what the editor wrote cannot be read")
}

/// A file that nobody else can read, and that goes away.
struct Temporary {
    path: PathBuf,
}

impl Temporary {
    fn with(name: &str, text: &str) -> Result<Self> {
        let path = std::env::temp_dir().join(format!("harn-{}-{name}.json", std::process::id()));
        let mut options = fs::OpenOptions::new();
        let mut file = options
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&path)
            .with_context(|| format!("the file {} for the editor cannot be made", path.display()))?;
        let this = Self { path };
        file.write_all(text.as_bytes())?;
        Ok(this)
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(source: &str) -> Ask {
        let request = json!({
            "id": "request_1", "object": "permission_request", "created_at": "2026-01-01T00:00:00Z",
            "updated_at": "2026-01-01T00:00:00Z", "metadata": {}, "session_id": null, "task_id": null,
            "status": "pending", "source": source, "response": null, "request": {},
            "action": { "tool": "run_command", "args": { "command": "ls" }, "prompt": "Which?" },
        });
        Ask::new(Request::parse(&request).unwrap())
    }

    #[test]
    fn an_approval_is_given_only_by_a_clear_word() {
        let again = Act::Again("Type y, n, s, w, e or ?, then Enter.".into());
        let cases = [
            ("y", Act::Send(json!({ "approved": true }))),
            ("YES", Act::Send(json!({ "approved": true }))),
            ("s", Act::Send(json!({ "approved": true, "remember": true, "scope": "session" }))),
            ("w", Act::Send(json!({ "approved": true, "remember": true, "scope": "workspace" }))),
            ("n", Act::Send(json!({ "approved": false }))),
            ("n not here", Act::Send(json!({ "approved": false, "reason": "not here" }))),
            ("e", Act::Edit),
            ("", again.clone()),
            ("y please", again.clone()),
            ("yep", again.clone()),
            ("{}", again),
        ];
        for (line, act) in cases {
            assert_eq!(ask("acp").typed(line), act, "{line:?}");
        }
    }

    #[test]
    fn a_question_takes_any_text_but_none() {
        assert_eq!(ask("hitl").typed("n"), Act::Send(json!({ "answer": "n" })));
        assert!(matches!(ask("hitl").typed(""), Act::Again(_)));
    }

    #[test]
    fn edited_arguments_are_shown_before_they_are_approved() {
        let mut asked = ask("acp");
        asked.enter_json();
        assert!(matches!(asked.typed("[1]"), Act::Again(_)));
        assert_eq!(asked.typed("y"), Act::Send(json!({ "approved": true })));
        asked.enter_json();
        assert_eq!(asked.typed(r#"{"command": "ls -l"}"#), Act::ShowRequest);
        assert_eq!(asked.typed("y"), Act::Send(json!({ "approved": true, "args": { "command": "ls -l" } })));
    }
}
