//! The sandbox: what a command cannot reach, by each layer alone, and that ordinary work still works.

#![allow(clippy::print_stdout)]

use std::fs;
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};

use harn_engine::sandbox::probe;
use serde_json::{Value, json};

use crate::command::{ended, run, value_of};
use crate::kit::Workspace;

/// A workspace whose commands are run with these options of the guardian.
fn with(options: &[&str]) -> Workspace {
    let mut workspace = Workspace::new();
    workspace.ctx.guard.args = options.iter().map(Into::into).collect();
    workspace
}

/// Whether this machine has every layer. Where it has not, these tests show nothing, and must not pass in CI.
fn complete() -> bool {
    let found = probe(&Workspace::new().ctx.guard);
    if !found.complete() {
        println!("skipped: the sandbox is not complete here: {found:?}");
        assert!(std::env::var_os("CI").is_none(), "{found:?}");
    }
    found.complete()
}

async fn stdout(workspace: &Workspace, command: &str) -> String {
    let value = value_of(workspace, command).await.unwrap();
    value["stdout"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn the_state_of_the_harness_can_neither_be_read_nor_written() {
    if !complete() {
        return;
    }
    let workspace = Workspace::new();
    workspace.put(".harn/log.db", "secret");
    workspace.put(".harn/keys/key", "secret");
    workspace.put("harn.toml", "tier = \"ask\"\n");
    workspace.put("hidden/state", "secret");
    let mut elsewhere = Workspace::new();
    elsewhere.ctx.root = Some(workspace.root().to_owned());
    elsewhere.ctx.guard.args.push(format!("--hide={}", workspace.path("hidden").display()).into());
    let cases = [
        ("cat .harn/log.db", false),
        ("cat ./x/../.harn/log.db", false),
        ("cat $PWD/.harn/keys/key", false),
        ("test -z \"$(ls -A .harn)\"", true),
        ("echo > .harn/log.db", false),
        ("rm -r .harn", false),
        ("mv .harn aside", false),
        ("umount .harn", false),
        ("cat /proc/1/root$PWD/.harn/log.db", false),
        ("cat harn.toml > /dev/null", true),
        ("echo x >> harn.toml", false),
        ("rm -f harn.toml", false),
        ("echo x > new; mv new harn.toml", false),
        ("cat hidden/state", false),
    ];
    for (command, works) in cases {
        let value = value_of(&elsewhere, command).await.unwrap();
        assert_eq!(value["exit_code"] == 0, works, "{command}: {value}");
    }
    assert_eq!(workspace.text(".harn/log.db"), "secret");
    assert_eq!(workspace.text(".harn/keys/key"), "secret");
    assert_eq!(workspace.text("harn.toml"), "tier = \"ask\"\n");
}

#[tokio::test]
async fn files_outside_of_the_workspace_are_out_of_reach() {
    if !complete() {
        return;
    }
    for options in [vec![], vec!["--without=namespaces"], vec!["--without=namespaces", "--without=seccomp"]] {
        let workspace = with(&options);
        fs::write(workspace.outside("secret"), "secret").unwrap();
        std::os::unix::fs::symlink(workspace.outside("secret"), workspace.path("link")).unwrap();
        for command in [
            "cat ../secret",
            "cat link",
            "echo x > link",
            "echo x > ../new",
            "mkdir ../folder",
            "rm ../secret",
            "ln ../secret linked",
            "mv ../secret here",
            "touch /usr/x",
            "touch /etc/x",
            "touch ~/x",
            "mknod device b 1 1",
            "cat /etc/shadow",
        ] {
            let value = value_of(&workspace, command).await.unwrap();
            assert!(!value.to_string().contains("\"secret"), "{options:?} {command}: {value}");
            // The workspace is in `/tmp`: with namespaces what is beside it is a private folder, to be written at will.
            assert!(options.is_empty() || value["exit_code"] != 0, "{options:?} {command}: {value}");
        }
        assert_eq!(crate::kit::names_in(&workspace.outside(".")), ["secret", "workspace"], "{options:?}");
        assert_eq!(fs::read_to_string(workspace.outside("secret")).unwrap(), "secret", "{options:?}");
    }
}

#[tokio::test]
async fn of_the_home_folder_tools_can_be_read_and_secrets_cannot() {
    if !complete() {
        return;
    }
    for options in [vec![], vec!["--without=namespaces"]] {
        let mut workspace = Workspace::new();
        let home = workspace.outside("home");
        let guard = &mut workspace.ctx.guard;
        // `env` stands before the guardian and gives it another home.
        let program = std::mem::replace(&mut guard.program, "/usr/bin/env".into());
        guard.args = vec![format!("HOME={}", home.display()).into(), program.into()];
        guard.args.extend(options.iter().map(Into::into));
        let cases = [
            (".ssh/id_ed25519", false),
            (".aws/credentials", false),
            (".gnupg/secring", false),
            (".config/gh/hosts.yml", false),
            (".config/git/credentials", false),
            (".cargo/credentials.toml", false),
            (".npmrc", false),
            (".netrc", false),
            ("letter", false),
            (".cargo/registry/index", true),
            (".cargo/config.toml", true),
            (".rustup/settings.toml", true),
            (".config/git/config", true),
            (".gitconfig", true),
            (".npm/cache", true),
        ];
        for (file, _) in cases {
            let path = home.join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "content").unwrap();
        }
        for (file, readable) in cases {
            let read = value_of(&workspace, &format!("cat ~/{file}")).await.unwrap();
            let expected = if readable { json!("content") } else { json!("") };
            assert_eq!(read["stdout"], expected, "{options:?} {file}: {read}");
            value_of(&workspace, &format!("echo x >> ~/{file}; rm -f ~/{file}")).await.unwrap();
            assert_eq!(fs::read_to_string(home.join(file)).unwrap(), "content", "{options:?} {file}");
        }
    }
}

#[tokio::test]
async fn the_network_is_closed_unless_it_is_granted() {
    if !complete() {
        return;
    }
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let command = format!("bash -c 'exec 3<>/dev/tcp/127.0.0.1/{port}' && echo connected");
    let closed = [vec![], vec!["--without=seccomp"], vec!["--without=namespaces"]];
    for options in closed {
        let workspace = with(&options);
        let output = run(&workspace, json!({ "command": command })).await.unwrap().value;
        assert_eq!(
            (&output["stdout"], &output["sandbox"]["network"]),
            (&json!(""), &json!("closed")),
            "{options:?}"
        );
    }
    let workspace = with(&[]);
    let output = run(&workspace, json!({ "command": command, "network": true })).await.unwrap().value;
    assert_eq!(
        (&output["stdout"], &output["sandbox"]["network"]),
        (&json!("connected\n"), &json!("open")),
        "{output}"
    );
    let local = "python3 -c 'import socket; socket.socketpair(); socket.socket(socket.AF_UNIX)' && echo fine";
    assert_eq!(stdout(&workspace, local).await, "fine\n", "sockets within the machine are no network");
}

#[tokio::test]
async fn what_leads_out_of_a_sandbox_is_refused() {
    if !complete() {
        return;
    }
    for options in [vec![], vec!["--without=namespaces", "--without=landlock"]] {
        let workspace = with(&options);
        for command in [
            "unshare --user true",
            "unshare --mount true",
            "unshare --pid --fork true",
            "nsenter --target 1 --mount true",
            "mount -t tmpfs none .",
            "chroot . true",
            "date --set=2001-01-01",
        ] {
            let value = value_of(&workspace, command).await.unwrap();
            assert_ne!(value["exit_code"], 0, "{options:?} {command}: {value}");
        }
    }
}

/// A process that has nothing to do with any command.
struct Other(Child);

impl Drop for Other {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

#[tokio::test]
async fn processes_outside_are_out_of_reach() {
    if !complete() {
        return;
    }
    let other =
        Other(Command::new("sleep").arg("1000").stdin(Stdio::null()).stdout(Stdio::null()).spawn().unwrap());
    let pid = other.0.id();
    for options in [vec![], vec!["--without=namespaces"]] {
        let value = value_of(&with(&options), &format!("kill -9 {pid}")).await.unwrap();
        assert_ne!(value["exit_code"], 0, "{options:?}: {value}");
        assert!(
            fs::read_to_string(format!("/proc/{pid}/status")).unwrap().contains("State:\tS"),
            "{options:?}"
        );
    }
    let value = value_of(&with(&[]), &format!("cat /proc/{pid}/environ")).await.unwrap();
    assert_ne!(value["exit_code"], 0, "{value}");
    // With a process namespace there is nothing to be seen but the command and its guard.
    // The shell counts by itself: a second program might not have been started yet when the first looks.
    assert_eq!(stdout(&with(&[]), "set -- /proc/[0-9]*; echo $#").await, "2\n", "the first process and sh");
}

async fn sandbox_of(options: &[&str]) -> Result<Value, String> {
    run(&with(options), json!({ "command": "true" })).await.map(|output| output.value["sandbox"].clone())
}

#[tokio::test]
async fn the_result_says_what_held() {
    if !complete() {
        return;
    }
    let cases = [
        (vec![], Ok(json!({ "files": "landlock", "network": "closed", "namespaces": true }))),
        (
            vec!["--without=namespaces"],
            Ok(json!({
                "files": "landlock", "network": "closed", "namespaces": false,
                "notes": ["`.harn` is protected by rules only, and `/tmp` is shared: no namespaces, they were not wanted."],
            })),
        ),
        (
            vec!["--without=landlock"],
            Ok(json!({
                "files": "none", "network": "closed", "namespaces": true,
                "notes": ["It could write outside of the workspace: it was not wanted."],
            })),
        ),
        (
            vec!["--sandbox=off"],
            Ok(json!({
                "files": "none", "network": "not enforced", "namespaces": false,
                "notes": ["The sandbox is switched off by HARN_SANDBOX=off."],
            })),
        ),
        (vec!["--sandbox=required"], Ok(json!({ "files": "landlock", "network": "closed", "namespaces": true }))),
        (
            vec!["--sandbox=required", "--without=seccomp"],
            Err("The command was not run: HARN_SANDBOX=required, and the sandbox is not complete here: Dangerous \
                 system calls were allowed: it was not wanted."
                .to_owned()),
        ),
        (
            vec!["--sandbox=perhaps"],
            Err("The command was not run: HARN_SANDBOX must be `auto`, `required` or `off`, not `perhaps`.".to_owned()),
        ),
    ];
    for (options, held) in cases {
        assert_eq!(sandbox_of(&options).await, held, "{options:?}");
    }
}

#[tokio::test]
async fn without_namespaces_commands_are_run_all_the_same() {
    // One more namespace is refused within a sandbox, so a guardian in it has to do without.
    let guardian = crate::kit::guard_program();
    let outer = with(&[&format!("--read={}", guardian.parent().unwrap().display())]);
    let command = format!("{} 'echo inside' < /dev/zero", guardian.display());
    assert_eq!(value_of(&outer, &command).await, Ok(ended(0, "inside\n", "")));
}

#[tokio::test]
async fn root_can_work_in_a_workspace_of_somebody_else() {
    if !complete() || !nix::unistd::geteuid().is_root() {
        return;
    }
    let workspace = Workspace::new();
    std::os::unix::fs::chown(workspace.root(), Some(65534), Some(65534)).unwrap();
    let output = run(&workspace, json!({ "command": "touch written" })).await.unwrap().value;
    let note = "`.harn` is protected by rules only, and `/tmp` is shared: no namespaces, Harn runs as root, and the \
                workspace belongs to user 65534.";
    let sandbox = json!({ "files": "landlock", "network": "closed", "namespaces": false, "notes": [note] });
    assert_eq!((&output["exit_code"], &output["sandbox"]), (&json!(0), &sandbox));
    assert_eq!(workspace.names("."), ["written"]);
}

#[tokio::test]
async fn ordinary_work_works() {
    let has = |program: &str| Command::new(program).arg("--version").stdout(Stdio::null()).status().is_ok();
    let cases = [
        (
            "git",
            "git init -q . && git -c user.name=a -c user.email=a@b add -A && git -c user.name=a -c user.email=a@b \
                 commit -qm first && git status --short && git log --oneline | wc -l",
            "1\n",
        ),
        ("python3", "python3 -m unittest -q 2>/dev/null test_it.py && echo passed", "passed\n"),
        ("npm", "npm test --silent", "tested\n"),
        ("cargo", "cargo test --offline -q > /dev/null && echo built", "built\n"),
        ("make", "make -s all", "made\n"),
    ];
    for options in [vec![], vec!["--without=namespaces"]] {
        let workspace = with(&options);
        workspace.put("test_it.py", "import unittest, tempfile\nclass T(unittest.TestCase):\n    def test(self):\n        tempfile.mkdtemp()\n");
        workspace
            .put("package.json", r#"{"name": "a", "version": "1.0.0", "scripts": {"test": "echo tested"}}"#);
        workspace.put("Cargo.toml", "[package]\nname = \"small\"\nversion = \"0.1.0\"\nedition = \"2021\"\n");
        workspace.put("src/lib.rs", "#[test]\nfn adds() { assert_eq!(1 + 1, 2); }\n");
        workspace.put("Makefile", "all:\n\t@echo made\n");
        workspace.put(".gitignore", "target\n");
        for (program, command, wanted) in cases.iter().filter(|(program, ..)| has(program)) {
            let value = value_of(&workspace, command).await.unwrap();
            assert_eq!(value["stdout"], *wanted, "{options:?} {program}: {value}");
        }
    }
}

#[test]
fn the_probe_says_in_words_what_works() {
    if !complete() {
        return;
    }
    let mut guard = Workspace::new().ctx.guard;
    let found = probe(&guard);
    assert_eq!(
        found.words(),
        [
            "Files: commands write only in their workspace (Landlock).",
            "Network: closed unless a call is granted it.",
            "System calls: dangerous ones are refused (seccomp).",
            "Namespaces: commands see their own processes, a private /tmp, and no .harn.",
        ]
    );
    guard.args.push("--without=namespaces".into());
    let partial = probe(&guard);
    assert!(!partial.complete());
    assert_eq!(partial.words()[3], "Namespaces: none; `.harn` is protected by rules only.");
    guard.program = "/absent".into();
    assert!(probe(&guard).words()[0].starts_with("No command can be run: the guardian `/absent`"));
}
