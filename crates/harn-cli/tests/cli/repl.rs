//! `harn repl`, in pipes and in a terminal.

use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::sync::mpsc::channel;
use std::time::Duration;

use portable_pty::{CommandBuilder, PtySize, native_pty_system};

use crate::kit::{HARN, Project};
use crate::scripts::{fed, project};

/// What the entries print, errors apart.
fn told(entries: &str) -> (String, String) {
    let output = fed(&Project::new(), &["repl"], entries);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap())
}

#[test]
fn entries_build_on_each_other_and_run_once() {
    let cases = [
        ("1 + 1\n", "2\n"),
        ("\"a\" + \"b\"\n", "\"ab\"\n"),
        ("nil\nlet x = 5\n", ""),
        ("println(\"once\")\n1\n2\n", "once\n1\n2\n"),
        ("var n = 1\nn = n + 1\nn\n", "2\n"),
        ("let x = 2\nfn f(a) { return a * x }\nf(3)\nlet x = 10\nf(3)\n", "6\n30\n"),
        ("fn f() { return 1 }\nfn f() { return 2 }\nf()\n", "2\n"),
        ("fn fact(n) {\n  if n < 2 { return 1 }\n  return n * fact(n - 1)\n}\nfact(10)\n", "3628800\n"),
        ("let f = { a -> a + 1 }\nvar g = f\n[1, 2].map(g)\n", "[2, 3]\n"),
        (
            "enum Light { Red, Green }\nlet l = Light.Red\nmatch l {\n  Light.Red -> { \"stop\" }\n  Light.Green -> { \"go\" }\n}\n",
            "\"stop\"\n",
        ),
        (
            "struct P { a: int }\nimpl P {\n  fn twice(self) { return self.a * 2 }\n}\nP { a: 4 }.twice()\n",
            "8\n",
        ),
        ("let c = channel(\"c\", 2)\nsend(c, 1)\nreceive(c)\n", "true\n1\n"),
        ("let s = \"\"\"\nline\n\"\"\"\nlen(s) > 0\n", "true\n"),
        ("var all = []\nfor i in range(3) {\n  all = all + [i]\n}\nall\n", "[0, 1, 2]\n"),
        ("let [a, b] = [1, 2]\na + b\n", "3\n"),
        ("let t = spawn {\n  sleep(5)\n  \"slept\"\n}\n1\nawait(t)\n", "1\n\"slept\"\n"),
        (":type 1.5\n:type \"a\"\n", "float\nstring\n"),
        ("mock_stdin(\"typed\")\nread_line()\n", "\"typed\"\n"),
        ("1\n:quit\n2\n", "1\n"),
    ];
    for (entries, expected) in cases {
        let (out, errors) = told(entries);
        assert_eq!((out.as_str(), errors.as_str()), (expected, ""), "{entries}");
    }
}

#[test]
fn errors_end_nothing_and_leave_what_was_there() {
    let project =
        project(&[("lib.harn", "let base = 40\npub fn answer() { return base + 2 }\nprintln(\"set up\")\n")]);
    let entries = "let kept = 1\nlet a = )\nkept.missing.field\nthrow \"bad\"\nkept = 2\n:nothing\n:load nowhere\nkept\n\
                   import { answer } from \"lib\"\nanswer()\nimport { answer } from \"lib\"\nanswer()\nlet open = [1,\n";
    let output = fed(&project, &["repl"], entries);
    let text = format!(
        "{}---\n{}",
        String::from_utf8(output.stdout).unwrap(),
        String::from_utf8(output.stderr).unwrap()
    );
    insta::assert_snapshot!(text);
    assert_eq!(fed(&project, &["repl"], "exit(7)\n1\n").status.code(), Some(7));
    let loaded = fed(&project, &["repl"], ":load lib.harn\nbase\nanswer()\n:help\n");
    let loaded = String::from_utf8(loaded.stdout).unwrap();
    assert!(loaded.starts_with("set up\n40\n42\nAn entry is"), "{loaded}");
}

#[test]
fn in_a_terminal_ctrl_c_drops_a_line_or_stops_what_runs() {
    let project = Project::new();
    let pair = native_pty_system().openpty(PtySize { rows: 24, cols: 80, ..PtySize::default() }).unwrap();
    let mut command = CommandBuilder::new(HARN);
    command.arg("repl");
    command.cwd(project.path());
    command.env("XDG_STATE_HOME", project.path());
    command.env("TERM", "xterm");
    let mut child = pair.slave.spawn_command(command).unwrap();
    drop(pair.slave);
    let (tell, hear) = channel();
    let mut reader = pair.master.try_clone_reader().unwrap();
    std::thread::spawn(move || {
        let mut bytes = [0; 1024];
        while let Ok(count @ 1..) = reader.read(&mut bytes) {
            tell.send(String::from_utf8_lossy(&bytes[..count]).into_owned()).unwrap();
        }
    });
    let mut writer = pair.master.take_writer().unwrap();
    let mut seen = String::new();
    let mut wait_for = |text: &str| {
        while !seen.contains(text) {
            seen.push_str(
                &hear.recv_timeout(Duration::from_secs(30)).unwrap_or_else(|_| panic!("{text}: {seen}")),
            );
        }
        seen.drain(..seen.find(text).unwrap() + text.len());
    };
    let mut type_in = |text: &str| writer.write_all(text.as_bytes()).unwrap();
    wait_for("harn> ");
    type_in("let dropped = [\r");
    wait_for("... ");
    type_in("\u{3}");
    wait_for("harn> ");
    type_in("println(\"at \" + \"work\"); sleep(1h)\r");
    wait_for("at work");
    type_in("\u{3}");
    wait_for("interrupted");
    wait_for("harn> ");
    type_in("40 + 2\r");
    wait_for("\r\n42\r\n");
    wait_for("harn> ");
    type_in("\u{4}");
    assert_eq!(child.wait().unwrap().exit_code(), 0);
    let history = project.path().join("harn/repl_history");
    assert!(std::fs::read_to_string(&history).unwrap().contains("40 + 2"));
    assert_eq!(history.metadata().unwrap().permissions().mode() & 0o777, 0o600);
}
