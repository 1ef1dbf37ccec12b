//! What the tests of the live view share: the real binary with a scripted model, in a pseudo terminal or in pipes.
#![allow(dead_code, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};
use serde_json::{Value, json};

const HARN: &str = env!("CARGO_BIN_EXE_harn");
const ROWS: u16 = 48;
const COLUMNS: u16 = 100;
/// Only a broken test waits so long.
const PATIENCE: Duration = Duration::from_secs(30);

/// What the view must not inherit from whoever runs the tests.
const CLEAN: [&str; 8] =
    ["NO_COLOR", "COLUMNS", "LINES", "EDITOR", "VISUAL", "HARN_LOG", "HARN_URL", "HARN_API_KEY"];

/// A folder to work in, and the answers of the model.
pub struct Stage {
    folder: tempfile::TempDir,
}

impl Stage {
    pub fn new(script: &Value) -> Self {
        let stage = Self { folder: tempfile::tempdir().unwrap() };
        std::fs::create_dir(stage.work()).unwrap();
        std::fs::write(stage.folder.path().join("script.json"), script.to_string()).unwrap();
        stage
    }

    /// The answers to one task: each calls tools or says something.
    pub fn playing(responses: &[Value]) -> Self {
        Self::new(&json!({ "responses": responses }))
    }

    pub fn work(&self) -> PathBuf {
        self.folder.path().join("work")
    }

    pub fn with_file(self, name: &str, content: &str) -> Self {
        std::fs::write(self.work().join(name), content).unwrap();
        self
    }

    pub fn read(&self, name: &str) -> Option<String> {
        std::fs::read_to_string(self.work().join(name)).ok()
    }

    fn args(&self, args: &[&str]) -> Vec<String> {
        let script = self.folder.path().join("script.json");
        let mut all: Vec<String> = args.iter().map(ToString::to_string).collect();
        all.extend(["--scripted-model".to_owned(), script.display().to_string()]);
        all
    }

    /// In pipes.
    pub fn piped(&self, args: &[&str], input: &str) -> Output {
        let mut command = Command::new(HARN);
        // Whatever keys the environment has, no test talks to a provider.
        command.env("HARN_LLM_MODEL", "offline");
        command.args(self.args(args)).current_dir(self.work()).env("TERM", "xterm-256color");
        for name in CLEAN {
            command.env_remove(name);
        }
        let pipe = std::process::Stdio::piped;
        let mut child = command.stdin(pipe()).stdout(pipe()).stderr(pipe()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        let pid = nix::unistd::Pid::from_raw(child.id() as i32);
        let (done, ended) = std::sync::mpsc::channel();
        std::thread::spawn(move || done.send(child.wait_with_output().unwrap()));
        ended.recv_timeout(PATIENCE).unwrap_or_else(|_| {
            let _ = nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGKILL);
            panic!("the program does not end: {args:?}")
        })
    }

    /// A server over this stage, and the arguments that lead a command to it through a wire.
    pub fn served(&self) -> Served {
        Served::start(self)
    }

    /// In a terminal.
    pub fn terminal(&self, args: &[&str], env: &[(&str, &str)]) -> Terminal {
        let args: Vec<String> = self.args(args);
        Terminal::open(&self.work(), &args, env)
    }
}

/// The screen so far, and everything that was written to it.
struct Seen {
    screen: vt100::Parser,
    bytes: Vec<u8>,
    over: bool,
}

pub struct Terminal {
    child: Box<dyn Child + Send + Sync>,
    keyboard: Box<dyn Write + Send>,
    seen: Arc<(Mutex<Seen>, Condvar)>,
    reader: Option<JoinHandle<()>>,
    _master: Box<dyn MasterPty + Send>,
}

/// What was seen when the program had ended.
pub struct Finished {
    pub code: u32,
    pub screen: String,
    pub bytes: Vec<u8>,
}

impl Terminal {
    fn open(folder: &Path, args: &[String], env: &[(&str, &str)]) -> Self {
        let size = PtySize { rows: ROWS, cols: COLUMNS, pixel_width: 0, pixel_height: 0 };
        let pair = native_pty_system().openpty(size).unwrap();
        let mut command = CommandBuilder::new(HARN);
        command.env("HARN_LLM_MODEL", "offline");
        command.args(args);
        command.cwd(folder);
        for name in CLEAN {
            command.env_remove(name);
        }
        command.env("TERM", "xterm-256color");
        for (name, value) in env {
            command.env(name, value);
        }
        let child = pair.slave.spawn_command(command).unwrap();
        // The reader meets the end only when nobody holds the other side.
        drop(pair.slave);
        let seen = Seen { screen: vt100::Parser::new(ROWS, COLUMNS, 0), bytes: Vec::new(), over: false };
        let seen = Arc::new((Mutex::new(seen), Condvar::new()));
        let mut output = pair.master.try_clone_reader().unwrap();
        let writer = Arc::clone(&seen);
        let reader = std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            loop {
                let read = output.read(&mut buffer).unwrap_or(0);
                let (seen, changed) = &*writer;
                let mut seen = seen.lock().unwrap();
                seen.screen.process(&buffer[..read]);
                seen.bytes.extend_from_slice(&buffer[..read]);
                seen.over = read == 0;
                changed.notify_all();
                if read == 0 {
                    return;
                }
            }
        });
        let keyboard = pair.master.take_writer().unwrap();
        Self { child, keyboard, seen, reader: Some(reader), _master: pair.master }
    }

    /// Waits until the screen shows this, and gives the screen.
    pub fn wait_for(&self, text: &str) -> String {
        self.wait_until(text, |screen| screen.contains(text))
    }

    /// Waits until the screen shows this and somebody is to type.
    pub fn wait_to_type(&self, text: &str) -> String {
        self.wait_until(text, |screen| screen.contains(text) && screen.trim_end().ends_with('>'))
    }

    fn wait_until(&self, what: &str, holds: impl Fn(&str) -> bool) -> String {
        let (seen, changed) = &*self.seen;
        let waits = |seen: &mut Seen| !seen.over && !holds(&seen.screen.screen().contents());
        let seen = seen.lock().unwrap();
        let (seen, _) = changed.wait_timeout_while(seen, PATIENCE, waits).unwrap();
        let screen = seen.screen.screen().contents();
        drop(seen);
        assert!(holds(&screen), "the screen never showed {what:?}:\n{screen}");
        scrubbed(&screen)
    }

    pub fn press(&mut self, keys: &str) {
        self.keyboard.write_all(keys.as_bytes()).unwrap();
        self.keyboard.flush().unwrap();
    }

    pub fn type_line(&mut self, line: &str) {
        self.press(&format!("{line}\n"));
    }

    pub fn finish(mut self) -> Finished {
        let ended = {
            let (seen, changed) = &*self.seen;
            let seen = seen.lock().unwrap();
            let (seen, waited) = changed.wait_timeout_while(seen, PATIENCE, |seen| !seen.over).unwrap();
            if waited.timed_out() { Err(seen.screen.screen().contents()) } else { Ok(()) }
        };
        assert_eq!(ended, Ok(()), "the program does not end");
        let code = self.child.wait().unwrap().exit_code();
        self.reader.take().unwrap().join().unwrap();
        let seen = self.seen.0.lock().unwrap();
        let screen = scrubbed(&seen.screen.screen().contents());
        Finished { code, screen, bytes: seen.bytes.clone() }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
    }
}

/// Without what differs from run to run: ids, times, and the words of the policy in force.
pub fn scrubbed(text: &str) -> String {
    let mut lines: Vec<String> = Vec::new();
    let mut in_reason = false;
    for line in text.lines() {
        if line.starts_with("  why ") {
            in_reason = true;
            lines.push("  why      [reason, rule and risks]".to_owned());
        }
        in_reason &= !line.starts_with("  [y]") && !line.is_empty();
        if !in_reason {
            lines.push(without_times(&without_ids(line)));
        }
    }
    lines.join("\n")
}

fn without_ids(line: &str) -> String {
    let is_id = |text: &str| text.bytes().take_while(u8::is_ascii_alphanumeric).count() == 26;
    let mut rest = line;
    let mut clean = String::new();
    while let Some(at) = rest.find('_') {
        let (before, after) = rest.split_at(at + 1);
        clean.push_str(before);
        rest = after;
        if is_id(after) {
            clean.push_str("ID");
            rest = &after[26..];
        }
    }
    clean + rest
}

/// `12ms`, `3.4s` and `5s` become `[time]`.
fn without_times(line: &str) -> String {
    let is_time = |word: &str| {
        let number = word.strip_suffix("ms").or_else(|| word.strip_suffix('s')).unwrap_or_default();
        !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')
    };
    let words = line.split(' ').map(|word| {
        let bare = word.trim_end_matches(['.', ',', ':']);
        if is_time(bare) { word.replacen(bare, "[time]", 1) } else { word.to_owned() }
    });
    let mut clean = words.collect::<Vec<_>>().join(" ");
    // The spinner is somewhere in its turn.
    if let Some(first) = clean.chars().next().filter(|first| ('\u{2800}'..='\u{28ff}').contains(first)) {
        clean = clean.replacen(first, "⠿", 1);
    }
    clean
}

/// A call of a tool, as the model asks for it.
pub fn call(name: &str, args: &Value) -> Value {
    json!({ "tool_calls": [{ "id": "c1", "name": name, "args": args }],
            "usage": { "input_tokens": 100, "output_tokens": 20 } })
}

pub fn says(text: &str) -> Value {
    json!({ "text": text, "usage": { "input_tokens": 150, "output_tokens": 10 } })
}

const KEY: &str = "test-key-0123456789";

/// A real server, reached through a wire that can be cut.
pub struct Served {
    server: std::process::Child,
    pub wire: Wire,
}

impl Served {
    fn start(stage: &Stage) -> Self {
        let mut command = Command::new(HARN);
        // Whatever keys the environment has, no test talks to a provider.
        command.env("HARN_LLM_MODEL", "offline");
        command.args(stage.args(&["serve", "--bind", "127.0.0.1:0"])).current_dir(stage.work());
        command.env("HARN_SERVE_API_KEY", KEY).stdout(std::process::Stdio::piped());
        let mut server = command.spawn().unwrap();
        let mut first = String::new();
        let mut output = std::io::BufReader::new(server.stdout.as_mut().unwrap());
        std::io::BufRead::read_line(&mut output, &mut first).unwrap();
        let url = first.split_whitespace().last().unwrap();
        let wire = Wire::to(url.strip_prefix("http://").unwrap());
        Self { server, wire }
    }

    pub fn task<'a>(&'a self, prompt: &'a str) -> Vec<&'a str> {
        vec!["task", prompt, "--url", &self.wire.url, "--api-key", KEY]
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

/// Passes bytes on between a client and a server.
pub struct Wire {
    pub url: String,
    state: Arc<Mutex<WireState>>,
}

#[derive(Default)]
struct WireState {
    open: Vec<TcpStream>,
    /// New connections are taken, and nothing is passed on.
    dead: bool,
}

impl Wire {
    fn to(server: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let state = Arc::new(Mutex::new(WireState::default()));
        let (shared, server) = (Arc::clone(&state), server.to_owned());
        // It ends with the test's process.
        std::thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let mut state = shared.lock().unwrap();
                state.open.push(client.try_clone().unwrap());
                if !state.dead {
                    let upstream = TcpStream::connect(&server).unwrap();
                    state.open.push(upstream.try_clone().unwrap());
                    pass_on(client.try_clone().unwrap(), upstream.try_clone().unwrap());
                    pass_on(upstream, client);
                }
            }
        });
        Self { url, state }
    }

    /// Breaks all connections; new ones work.
    pub fn cut(&self) {
        for stream in self.state.lock().unwrap().open.drain(..) {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }

    /// Lets nothing through any more.
    pub fn die(&self) {
        self.state.lock().unwrap().dead = true;
        self.cut();
    }
}

fn pass_on(mut from: TcpStream, mut to: TcpStream) {
    std::thread::spawn(move || {
        let _ = std::io::copy(&mut from, &mut to);
        let _ = to.shutdown(Shutdown::Both);
    });
}
