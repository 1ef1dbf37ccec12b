//! Commands: what comes back, and that nothing of them stays.

use std::fs;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use harn_core::resource::ArtifactKind;
use harn_engine::tools::{Prepared, ToolOutput};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};

use crate::kit::{Workspace, eventually, get, object};

/// Processes that can be told from all others on the machine, wherever their namespace numbers them.
pub struct Family {
    mark: String,
}

impl Family {
    pub fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        Self { mark: format!("99999.{:07}{count:03}", std::process::id()) }
    }

    /// A command that sleeps for longer than anybody waits.
    pub fn sleep(&self) -> String {
        format!("sleep {}", self.mark)
    }

    /// Starts a child, an orphan and a daemon in a session of its own, and then never ends.
    pub fn command(&self) -> String {
        let sleep = self.sleep();
        format!(
            "sh -c 'exec {sleep}' &
             ( sh -c 'exec {sleep}' & )
             setsid sh -c '( sh -c \"exec {sleep}\" & )' &
             wait; {sleep}"
        )
    }

    /// The members that sleep.
    pub fn asleep(&self) -> usize {
        self.command_lines().filter(|line| line.starts_with(b"sleep\0")).count()
    }

    pub fn wait_for(&self, members: usize) {
        eventually("everybody sleeps", || self.asleep() == members);
    }

    /// Nobody sleeps, nobody guards, and nobody waits to be started.
    pub fn is_gone(&self) -> bool {
        self.command_lines().next().is_none()
    }

    pub fn all_die(&self) {
        eventually("every process dies", || self.is_gone());
    }

    fn command_lines(&self) -> impl Iterator<Item = Vec<u8>> {
        let processes = fs::read_dir("/proc").unwrap().flatten();
        let lines = processes.filter_map(|process| fs::read(process.path().join("cmdline")).ok());
        let mark = self.mark.as_bytes();
        lines.filter(move |line| line.windows(mark.len()).any(|part| part == mark))
    }
}

/// Calls `run_command` and gives everything.
pub async fn run(workspace: &Workspace, args: Value) -> Result<ToolOutput, String> {
    let args = object(args);
    let tool = get("run_command");
    let prepared = tool.prepare(&workspace.ctx, &args).await.map_err(|failure| failure.message)?;
    tool.perform(&workspace.ctx, &args, prepared).await.map_err(|failure| failure.message)
}

/// The value that the model sees, but for the sandbox, which depends on the machine.
pub async fn value_of(workspace: &Workspace, command: &str) -> Result<Value, String> {
    run(workspace, json!({ "command": command })).await.map(|output| without_sandbox(output.value))
}

pub fn without_sandbox(mut value: Value) -> Value {
    let sandbox = value.as_object_mut().unwrap().remove("sandbox");
    assert!(sandbox.is_some(), "{value}");
    value
}

pub fn ended(exit_code: i32, stdout: &str, stderr: &str) -> Value {
    json!({ "exit_code": exit_code, "signal": null, "timed_out": false, "stdout": stdout, "stderr": stderr })
}

#[tokio::test]
async fn a_command_gives_its_exit_and_its_output() {
    let workspace = Workspace::new();
    workspace.put("here", "");
    let cases = [
        ("echo out; echo err >&2", ended(0, "out\n", "err\n")),
        ("exit 7", ended(7, "", "")),
        ("ls", ended(0, "here\n", "")),
        ("cat; echo no input", ended(0, "no input\n", "")),
        (r"printf 'a\377b'", ended(0, "a\u{fffd}b", "")),
        ("exec >&- 2>&-; exit 3", ended(3, "", "")),
        ("pwd | grep -c workspace", ended(0, "1\n", "")),
    ];
    for (command, output) in cases {
        assert_eq!(value_of(&workspace, command).await, Ok(output), "{command}");
    }
}

#[tokio::test]
async fn the_environment_has_what_programs_need_and_nothing_else() {
    let workspace = Workspace::new();
    let cases = [
        // Cargo sets it for this test.
        ("env | grep -c CARGO_MANIFEST", ended(1, "0\n", "")),
        ("test -n \"$PATH\" && echo set", ended(0, "set\n", "")),
        (
            "echo $TERM $PAGER $GIT_PAGER $EDITOR $GIT_EDITOR $GIT_TERMINAL_PROMPT $NO_COLOR",
            ended(0, "dumb cat cat true true 0 1\n", ""),
        ),
        ("touch \"$TMPDIR/file\" && ls \"$TMPDIR/file\" | wc -l", ended(0, "1\n", "")),
        ("exec 3</dev/tty", ended(2, "", "/bin/sh: 1: cannot open /dev/tty: No such device or address\n")),
    ];
    for (command, output) in cases {
        assert_eq!(value_of(&workspace, command).await, Ok(output), "{command}");
    }
}

#[tokio::test]
async fn its_temporary_folder_is_private_and_goes_with_it() {
    let mut workspace = Workspace::new();
    workspace.ctx.guard.args.push("--without=namespaces".into());
    let command = "touch $TMPDIR/file; mkdir $TMPDIR/closed; touch $TMPDIR/closed/file; chmod 0 $TMPDIR/closed; \
                   stat -c %a $TMPDIR; echo $TMPDIR";
    let value = value_of(&workspace, command).await.unwrap();
    let (mode, folder) = value["stdout"].as_str().unwrap().trim().split_once('\n').unwrap();
    assert_eq!(mode, "700");
    assert!(!fs::exists(folder).unwrap(), "{folder}");
}

#[tokio::test]
async fn the_name_of_a_secret_is_not_taken_for_the_secret() {
    let failure =
        value_of(&Workspace::new(), "curl -H 'Authorization: {{harn:secret:k}}'").await.unwrap_err();
    assert!(failure.contains("the secret `k` may not go to a command of an agent"), "{failure}");
}

#[tokio::test]
async fn a_command_that_begins_with_a_dash_is_still_a_command() {
    let workspace = Workspace::new();
    for command in ["-x", "--network"] {
        let value = value_of(&workspace, command).await.unwrap();
        assert_eq!(value["exit_code"], 127, "{command}");
    }
}

#[tokio::test]
async fn a_signal_that_ends_the_command_is_reported() {
    let workspace = Workspace::new();
    // Whoever started this may have had it ignore INT and HUP.
    for (name, signal) in [("TERM", 15), ("USR1", 10), ("KILL", 9)] {
        let command = format!("kill -{name} $$; echo not reached");
        let wanted =
            json!({ "exit_code": null, "signal": signal, "timed_out": false, "stdout": "", "stderr": "" });
        assert_eq!(value_of(&workspace, &command).await, Ok(wanted), "{name}");
    }
}

#[tokio::test]
async fn what_it_leaves_running_does_not_hold_up_the_result_and_is_stopped() {
    let (workspace, family) = (Workspace::new(), Family::new());
    let command = format!("{} & echo done", family.sleep());
    assert_eq!(value_of(&workspace, &command).await, Ok(ended(0, "done\n", "")));
    assert!(family.is_gone(), "it is dead before the result is there");
}

#[tokio::test]
async fn what_is_too_long_to_be_shown_is_attached() {
    let workspace = Workspace::new();
    let command = "echo first; seq 1 100000; echo last; echo short >&2";
    let output = run(&workspace, json!({ "command": command })).await.unwrap();
    let numbers = (1..=100_000).map(|number| format!("{number}\n")).collect::<String>();
    let whole = format!("first\n{numbers}last\n");
    let [attachment] = output.attachments.as_slice() else { panic!("{:?}", output.attachments) };
    assert_eq!((attachment.kind, attachment.mime_type), (ArtifactKind::Log, "text/plain; charset=utf-8"));
    assert_eq!(attachment.bytes, whole.as_bytes());
    let half = 8 * 1024;
    let (head, tail) = (&whole[..half], &whole[whole.len() - half..]);
    let mut wanted =
        ended(0, &format!("{head}\n[{} bytes left out]\n{tail}", whole.len() - 2 * half), "short\n");
    wanted["stdout_artifact"] = attachment.id.as_str().into();
    assert_eq!(without_sandbox(output.value), wanted);
}

#[tokio::test(flavor = "multi_thread")]
async fn cancelling_stops_everything_and_says_so() {
    let (workspace, family) = (Workspace::new(), Family::new());
    let (ctx, args) = (workspace.ctx.clone(), object(json!({ "command": family.command() })));
    let running = tokio::spawn(async move { get("run_command").perform(&ctx, &args, Prepared::Ready).await });
    family.wait_for(3);
    workspace.ctx.cancel.cancel();
    let failure = running.await.unwrap().unwrap_err();
    assert_eq!(failure.message, "The command was cancelled and everything that it had started was stopped.");
    assert!(family.is_gone());
}

#[tokio::test(flavor = "multi_thread")]
async fn dropping_the_call_stops_everything() {
    let (workspace, family) = (Workspace::new(), Family::new());
    let (ctx, args) = (workspace.ctx.clone(), object(json!({ "command": family.command() })));
    let running = tokio::spawn(async move { get("run_command").perform(&ctx, &args, Prepared::Ready).await });
    family.wait_for(3);
    running.abort();
    family.all_die();
}

#[tokio::test]
async fn a_command_without_a_guardian_is_not_run() {
    let mut workspace = Workspace::new();
    workspace.ctx.guard.program = workspace.path("absent");
    let message = value_of(&workspace, "touch ran").await.unwrap_err();
    assert!(message.starts_with("The command was not run: its guardian"), "{message}");
    assert!(workspace.names(".").is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_guardian_that_is_killed_leaves_the_end_unknown() {
    let (workspace, family) = (Workspace::new(), Family::new());
    let (ctx, args) = (workspace.ctx.clone(), object(json!({ "command": family.sleep() })));
    let running = tokio::spawn(async move { get("run_command").perform(&ctx, &args, Prepared::Ready).await });
    family.wait_for(1);
    for guardian in own_children(&family) {
        kill(Pid::from_raw(guardian), Signal::SIGKILL).unwrap();
    }
    let failure = tokio::time::timeout(Duration::from_secs(30), running).await.unwrap().unwrap().unwrap_err();
    assert!(failure.message.contains("How the command ended is unknown"), "{failure}");
    family.all_die();
}

/// The guardians of a family: its members that are children of this very process.
fn own_children(family: &Family) -> Vec<i32> {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let pids = processes.filter_map(|process| process.file_name().to_str()?.parse::<i32>().ok());
    let is_ours = |pid: &i32| {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        status.contains(&format!("\nPPid:\t{}\n", std::process::id()))
            && String::from_utf8_lossy(&line).contains(&family.mark)
    };
    pids.filter(is_ours).collect()
}
