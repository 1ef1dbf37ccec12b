//! A project folder, the real binary in it, and its output with ids, times, ports and paths made steady.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use harn_client::{Client, Method};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};

pub const HARN: &str = env!("CARGO_BIN_EXE_harn");
pub const KEY: &str = "test-key-0123456789";

/// A folder of its own, with the data directory `.harn` in it once something has made it.
pub struct Project {
    folder: tempfile::TempDir,
}

impl Project {
    pub fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(HARN);
        // Whatever keys the environment has, no test talks to a provider.
        command.env("HARN_LLM_MODEL", "offline");
        command.args(args).current_dir(self.path()).stdin(Stdio::null());
        for name in
            ["HARN_URL", "HARN_API_KEY", "HARN_SERVE_API_KEY", "HARN_LOG", "HARN_RECORD_MODEL", "NO_COLOR"]
        {
            command.env_remove(name);
        }
        command
    }

    pub fn run(&self, args: &[&str]) -> Output {
        let mut command = self.command(args);
        if args[0] == "serve" && !args.contains(&"--help") {
            refused(command)
        } else {
            command.output().unwrap()
        }
    }

    /// Standard output of a command that must succeed.
    pub fn out(&self, args: &[&str]) -> String {
        let output = self.run(args);
        assert!(output.status.success(), "{args:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    pub fn json(&self, args: &[&str]) -> Value {
        serde_json::from_str(&self.out(args)).unwrap()
    }

    /// Exit code and both outputs of a few commands, steady, for a snapshot.
    pub fn transcript(&self, commands: &[&[&str]]) -> String {
        let mut steady = Steady::new(self.path());
        commands.iter().map(|args| steady.told(args, &self.run(args))).collect()
    }

    pub fn serve(&self) -> Server {
        self.serve_with(&[])
    }

    pub fn serve_with(&self, more: &[&str]) -> Server {
        let mut command = self.command(&["serve", "--bind", "127.0.0.1:0", "--rate-limit", "0"]);
        command.args(more).env("HARN_SERVE_API_KEY", KEY).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut first = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut first).unwrap();
        let url = first.split_whitespace().last().unwrap_or_default().to_owned();
        assert!(url.starts_with("http"), "the server said: {first}");
        Server { url, socket: self.path().join(".harn/harn.sock"), child }
    }

    /// A stopped project with one task that is done and one that waits for approval: session, both tasks.
    pub fn used(&self) -> [String; 3] {
        let server = self.serve();
        let session = server.session();
        let done = server.submit(&session, "list files");
        server.until(&done, "task.completed");
        let waiting = server.submit(&session, "write note.txt: hello\nthere");
        server.until(&waiting, "task.auth_required");
        server.stop();
        [session, done, waiting]
    }
}

/// A server that must not start. One that does would never end by itself.
fn refused(mut command: Command) -> Output {
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut first = String::new();
    BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut first).unwrap();
    if !first.is_empty() {
        child.kill().unwrap();
        child.wait().unwrap();
        panic!("it started: {first}");
    }
    child.wait_with_output().unwrap()
}

/// A running `harn serve`, killed when dropped.
pub struct Server {
    pub url: String,
    socket: std::path::PathBuf,
    child: Child,
}

impl Server {
    /// As Ctrl-C or a service manager would.
    pub fn stop(mut self) {
        kill(Pid::from_raw(self.child.id() as i32), Signal::SIGTERM).unwrap();
        assert!(self.child.wait().unwrap().success());
    }

    fn client(&self) -> Client {
        Client::to_socket(&self.socket)
    }

    pub fn post(&self, path: &str, body: &Value) -> Value {
        let request = self.client().request(Method::POST, path).json(body);
        wait(async { request.send().await?.ok()?.value() })
    }

    pub fn session(&self) -> String {
        let list =
            wait(async { self.client().request(Method::GET, "/v1/workspaces").send().await?.ok()?.value() });
        let made = self.post("/v1/sessions", &json!({ "workspace_id": list["data"][0]["id"] }));
        made["id"].as_str().unwrap().to_owned()
    }

    pub fn submit(&self, session: &str, text: &str) -> String {
        let part = json!({ "type": "text", "text": text, "visibility": "public" });
        let body = json!({ "input": { "role": "user", "parts": [part] } });
        let task = self.post(&format!("/v1/sessions/{session}/tasks"), &body);
        task["id"].as_str().unwrap().to_owned()
    }

    /// Waits for an event of a task by listening.
    pub fn until(&self, task: &str, event: &str) {
        let path = format!("/v1/tasks/{task}/stream");
        wait(async {
            let mut events = self.client().request(Method::GET, &path).events().await?;
            while let Some(frame) = events.next().await? {
                let told: Value = serde_json::from_str(&frame.data).unwrap();
                if told["event"] == event {
                    return Ok(());
                }
            }
            panic!("{task} ended without {event}")
        })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn wait<T>(work: impl Future<Output = Result<T, harn_client::ClientError>>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(work).unwrap()
}

/// Gives what differs from run to run a steady name.
pub struct Steady {
    project: String,
    names: BTreeMap<String, String>,
    counts: BTreeMap<String, usize>,
}

impl Steady {
    pub fn new(project: &Path) -> Self {
        let project = project.canonicalize().unwrap().to_string_lossy().into_owned();
        Self { project, names: BTreeMap::new(), counts: BTreeMap::new() }
    }

    pub fn told(&mut self, args: &[&str], output: &Output) -> String {
        let said: Vec<String> = args.iter().map(|arg| quoted(arg)).collect();
        let text = format!(
            "$ harn {}\nexit {}\n{}{}\n",
            said.join(" "),
            output.status.code().unwrap_or(-1),
            String::from_utf8_lossy(&output.stdout),
            prefixed(&String::from_utf8_lossy(&output.stderr)),
        );
        self.text(&text)
    }

    pub fn text(&mut self, text: &str) -> String {
        let name = Path::new(&self.project).file_name().unwrap().to_string_lossy().into_owned();
        let text = text.replace(&self.project, "[PROJECT]").replace(&name, "[NAME]");
        let mut steady = String::new();
        for line in text.lines() {
            let indent = line.len() - line.trim_start().len();
            steady.push_str(&" ".repeat(indent));
            steady.push_str(&squeezed(&self.line(line.trim_start())));
            steady.push('\n');
        }
        steady
    }

    fn line(&mut self, line: &str) -> String {
        let words: Vec<&str> = line.split(' ').collect();
        let mut kept = Vec::new();
        for (place, word) in words.iter().enumerate() {
            let beside =
                |place: Option<usize>| place.and_then(|place| words.get(place)).copied().unwrap_or("");
            let timed = beside(place.checked_add(1)) == "ago" || beside(place.checked_sub(1)) == "in";
            kept.push(match word {
                word if timed && is_span(word) => "0s".to_owned(),
                // Ids of events and counts of tokens depend on much that is not shown here.
                word if is_count(word) && counts(&words) => "[N]".to_owned(),
                word => self.word(word),
            });
        }
        kept.join(" ")
    }

    fn word(&mut self, word: &str) -> String {
        let core_from = word.find(|c: char| c.is_ascii_alphanumeric()).unwrap_or(word.len());
        let is_inner = |c: char| c.is_ascii_alphanumeric() || "_-.:/".contains(c);
        let core_len = word[core_from..].find(|c| !is_inner(c)).unwrap_or(word.len() - core_from);
        let core = word[core_from..core_from + core_len].trim_end_matches(['.', ':']);
        let rest = &word[core_from + core.len()..];
        format!("{}{}{rest}", &word[..core_from], self.core(core))
    }

    fn core(&mut self, core: &str) -> String {
        if let Some(host) = core.find("127.0.0.1:") {
            let from = host + "127.0.0.1:".len();
            let end = core[from..].find(|c: char| !c.is_ascii_digit()).map_or(core.len(), |end| from + end);
            // Ports that the system chose have five digits; those that were written down stay.
            if end - from == 5 {
                return format!("{}[PORT]{}", &core[..from], &core[end..]);
            }
        }
        match core.rsplit_once('_') {
            Some((kind, id)) if id.len() == 26 && id.chars().all(|c| c.is_ascii_alphanumeric()) => {
                self.numbered(kind, core)
            }
            Some(("harn", secret)) if secret.len() > 30 => "harn_[SECRET]".into(),
            _ if core.starts_with("harn_") && core.len() > 40 => "harn_[SECRET]".into(),
            _ => core.to_owned(),
        }
    }

    fn numbered(&mut self, kind: &str, id: &str) -> String {
        if let Some(name) = self.names.get(id) {
            return name.clone();
        }
        let count = self.counts.entry(kind.to_owned()).or_default();
        *count += 1;
        let name = format!("{kind}_{count}");
        self.names.insert(id.to_owned(), name.clone());
        name
    }
}

fn is_count(word: &str) -> bool {
    word.len() >= 2 && word.chars().all(|c| c.is_ascii_digit())
}

/// Lines of decisions and costs.
fn counts(words: &[&str]) -> bool {
    let decision = ["tool.requested", "explain", "allow", "ask", "deny"];
    words.contains(&"tokens")
        || (words.contains(&"policy") || is_count(words[0]))
            && words.iter().any(|word| decision.contains(word))
}

fn is_span(word: &str) -> bool {
    let number = word.strip_suffix(['s', 'm', 'h', 'd']).unwrap_or("");
    !number.is_empty() && number.chars().all(|c| c.is_ascii_digit())
}

fn quoted(arg: &str) -> String {
    if arg.contains(' ') || arg.contains('{') { format!("'{arg}'") } else { arg.to_owned() }
}

fn prefixed(text: &str) -> String {
    text.lines().map(|line| format!("! {line}\n")).collect()
}

/// Columns are as wide as what is in them, which differs; one blank or two is enough to tell.
fn squeezed(line: &str) -> String {
    let mut squeezed = String::new();
    let mut blanks = 0;
    for character in line.chars() {
        blanks = if character == ' ' { blanks + 1 } else { 0 };
        if blanks <= 2 {
            squeezed.push(character);
        }
    }
    squeezed
}
