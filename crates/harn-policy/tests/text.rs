//! Commands that would wait at a terminal, secrets in text, and paths in commands.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use std::borrow::Cow;

use harn_core::decision::Access::{self, Mention, Read, Write};
use harn_policy::{interactive, mentions, redact, redact_value};
use proptest::prelude::*;
use serde_json::json;

#[test]
fn commands_that_would_wait_are_told() {
    let waiting = [
        "vim x",
        "nano",
        "less x",
        "git log | less",
        "top",
        "htop",
        "watch ls",
        "tail -f x",
        "tail -F x",
        "passwd",
        "su",
        "sudo ls",
        "ssh host",
        "ssh -p 22 ann@host",
        "python",
        "python3",
        "node",
        "bash",
        "sh",
        "psql",
        "psql db",
        "git rebase -i HEAD~2",
        "git commit",
        "git commit -a",
        "git commit --amend",
        "git add -p",
        "git checkout -p x",
        "cd x && vim y",
        "echo $(python3)",
        "bash -c 'git commit'",
        "timeout 5 git commit",
        "env A=b vim x",
        "bash -i",
        "python3 -i",
        "crontab -e",
        "docker run -it x",
        "mysql",
        "sqlite3 x.db",
        "man ls",
        "(vim x)",
        "true && sudo -u x ls",
    ];
    for command in waiting {
        assert!(interactive(command).is_some(), "{command}");
    }
    let going = [
        "ls",
        "cat x",
        "top -bn1",
        "tail -n 5 x",
        "timeout 5 tail -f x",
        "sudo -n ls",
        "ssh host ls",
        "ssh -N host",
        "python x.py",
        "python3 -c 'x'",
        "python3 -m http.server",
        "cat x | python3",
        "while read l; do echo $l; done < x",
        "python3 < x",
        "python3 <<E\nx\nE",
        "node x.js",
        "node -e x",
        "bash x.sh",
        "bash -c ls",
        "bash -lc 'make'",
        "psql -c 'x'",
        "git rebase main",
        "git commit -m x",
        "git commit -am x",
        "git commit -F x",
        "git commit --amend --no-edit",
        "git add x",
        "git add -A",
        "docker run x",
        "sqlite3 x.db 'select 1'",
        "vim --version",
        "echo vim",
        "grep less x",
        "bash --version",
        "node --version",
        "perl -i -pe s/a/b/ x",
    ];
    for command in going {
        assert_eq!(interactive(command), None, "{command}");
    }
    assert_eq!(
        interactive("cd x && git commit").unwrap(),
        "`git` opens an editor for the message; use `git commit -m 'message'`"
    );
}

#[test]
fn secrets_are_taken_out() {
    let key = "-----BEGIN OPENSSH PRIVATE KEY-----\nb3Blbn\n-----END OPENSSH PRIVATE KEY-----";
    let cut = "-----BEGIN PRIVATE KEY-----\nMIIE";
    let letters = "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0eF3hI6kL9nO2q";
    let table = [
        (key.to_owned(), "[redacted: private key]"),
        (format!("a\n{key}\nb"), "a\n[redacted: private key]\nb"),
        (format!("{{\"k\":\"x\\n{cut}"), "{\"k\":\"x\\n[redacted: private key]"),
        ("id AKIAIOSFODNN7EXAMPLE.".into(), "id [redacted: AWS access key id]."),
        (
            "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY".into(),
            "aws_secret_access_key = [redacted: AWS secret key]",
        ),
        (
            "AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY;".into(),
            "AWS_SECRET_ACCESS_KEY=[redacted: AWS secret key];",
        ),
        (format!("t=ghp_{}", &letters[..36]), "t=[redacted: GitHub token]"),
        (format!("github_pat_{}", letters), "[redacted: GitHub token]"),
        (format!("\"sk-ant-api03-{}\"", letters), "\"[redacted: API key]\""),
        (format!("sk-proj-{}", letters), "[redacted: API key]"),
        ("xoxb-123456789012-abcdef".into(), "[redacted: Slack token]"),
        (format!("AIza{}", &letters[..35]), "[redacted: Google API key]"),
        ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dozjgNryP4J3jVmN".into(), "[redacted: JSON web token]"),
        (format!("harn_{letters}"), "[redacted: Harn API key]"),
        ("Authorization: Bearer abcdef123456".into(), "Authorization: Bearer [redacted: authorization]"),
        (
            "'authorization': 'bearer abcdef123456'".into(),
            "'authorization': 'bearer [redacted: authorization]'",
        ),
    ];
    for (text, expected) in table {
        assert_eq!(redact(&text), expected, "{text}");
    }
    let ordinary = [
        "let task_id = 5;",
        "risk-management-for-everybody-in-here-2024",
        "sk-learn-compatible-estimators-here",
        "3f786850e387550fdab836ed7e6dc881de23001b",
        "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "harn_policy::decide",
        "harn_core",
        "-----BEGIN CERTIFICATE-----\nMIIE\n-----END CERTIFICATE-----",
        "AKIA",
        "AIzaShort",
        "eyJ.x.y",
        "Authorization: Bearer <token>",
        "aws_secret_access_key =",
        "550e8400-e29b-41d4-a716-446655440000",
        "naïve – “text”",
    ];
    for text in ordinary {
        assert!(matches!(redact(text), Cow::Borrowed(same) if same == text), "{text}");
    }
}

#[test]
fn secrets_are_taken_out_of_values() {
    let mut value = json!({ "a": ["AKIAIOSFODNN7EXAMPLE", 1], "AKIAIOSFODNN7EXAMPLE": { "b": "x" } });
    redact_value(&mut value);
    assert_eq!(
        value,
        json!({ "a": ["[redacted: AWS access key id]", 1], "[redacted: AWS access key id]": { "b": "x" } })
    );
}

proptest! {
    #[test]
    fn redacting_any_text_ends_and_is_done_once(text in "\\PC{0,300}") {
        let once = redact(&text).into_owned();
        prop_assert_eq!(redact(&once).into_owned(), once);
    }

    #[test]
    fn any_command_is_taken_apart(text in "\\PC{0,120}") {
        let args = json!({ "command": text }).as_object().cloned().unwrap();
        mentions(&support::spec("run_command"), &args);
        interactive(&text);
        support::run(&harn_policy::Policy::default(), harn_core::AutonomyTier::ActAuto, &text);
    }
}

#[test]
fn paths_of_commands_are_found() {
    let table: &[(&str, &[(&str, Access)])] = &[
        ("ls", &[]),
        ("cat a b/c", &[("a", Mention), ("b/c", Mention)]),
        ("make > out 2> err < in", &[("err", Write), ("in", Read), ("out", Write)]),
        ("make all", &[]),
        ("cargo run -- src/x", &[("src/x", Mention)]),
        (
            "gcc -I/usr/include -o../x --sysroot=/y",
            &[("../x", Mention), ("/usr/include", Mention), ("/y", Mention)],
        ),
        ("dd if=/dev/zero of=disk.img", &[("/dev/zero", Mention)]),
        ("cat ~/x $HOME/y ~ann/z", &[("$HOME/y", Mention), ("~/x", Mention), ("~ann/z", Mention)]),
        ("cat $X/.env", &[("…/.env", Mention)]),
        ("curl https://example.com/a/b -d @/etc/x", &[("/etc/x", Mention)]),
        ("cat file:///etc/x", &[("/etc/x", Mention)]),
        ("grep a/b src", &[("src", Mention)]),
        ("rg a/b", &[(".", Mention)]),
        ("find src lib -name '*.rs'", &[("lib", Mention), ("src", Mention)]),
        ("cd a && cat b", &[("a", Mention), ("a/b", Mention), ("b", Mention)]),
        ("git show HEAD:a :0:b", &[("0:b", Mention), ("HEAD:a", Mention), ("a", Mention), ("b", Mention)]),
        ("python3 -c 'open(\"/etc/x\")'", &[("/etc/x", Mention)]),
        (
            "docker run -v ./a:/b --mount type=bind,source=/c,target=/d x",
            &[("./a", Mention), ("/c", Mention)],
        ),
        (
            "tool -xC/a --b=c=/d e:/f",
            &[
                ("/a", Mention),
                ("/d", Mention),
                ("/f", Mention),
                ("C/a", Mention),
                ("c=/d", Mention),
                ("e:/f", Mention),
            ],
        ),
        ("grep a/b src/x", &[("src/x", Mention)]),
        ("sed s/a/b/ x/y", &[("x/y", Mention)]),
        ("git commit -m 'fix /etc/x'", &[]),
        ("./run.sh", &[("./run.sh", Mention)]),
        ("/usr/bin/ls", &[]),
        ("sh -c 'cat a; cat b'", &[("a", Mention), ("b", Mention)]),
        ("for f in a/b c/d; do cat \"$f\"; done", &[("a/b", Mention), ("c/d", Mention), ("…", Mention)]),
        ("scp host:/etc/x y", &[("y", Mention)]),
        ("echo a/b", &[]),
    ];
    for (command, expected) in table {
        let args = json!({ "command": command }).as_object().cloned().unwrap();
        let found = mentions(&support::spec("run_command"), &args);
        let expected: Vec<(String, Access)> =
            expected.iter().map(|(text, access)| ((*text).to_owned(), *access)).collect();
        assert_eq!(found, expected, "{command}");
    }
}
