//! Programs that scripts run.

use crate::kit::Scene;

#[test]
fn a_program_gets_its_arguments_as_they_are() {
    let scene = Scene::new();
    let output = scene.run(
        r#"
        let done = __exec(nil, "printf", ["%s|", "a b", "it's", "$HOME", "", "*"])
        println(done.stdout)
        println("${done.status} ${done.success} [${done.stderr}] ${done.combined == done.stdout}")
        "#,
    );
    assert_eq!(output, "a b|it's|$HOME||*|\n0 true [] true\n");
}

#[test]
fn a_command_line_has_a_status_and_both_outputs() {
    let scene = Scene::new();
    let output = scene.run(
        r#"
        let done = __shell(nil, "echo out; echo err >&2; exit 3")
        println("${done.stdout}${done.stderr}${done.combined}${done.status} ${done.success}")
        println(__shell(nil, "kill -9 $$").status)
        println(__exec(nil, "sh", ["-c", "kill -15 $$"]).status)
        "#,
    );
    assert_eq!(output, "out\nerr\nout\nerr\n3 false\n137\n143\n");
}

#[test]
fn it_runs_where_it_was_told_with_the_environment_of_the_script() {
    let mut scene = Scene::new();
    scene.put("sub/here", "");
    scene.variables = vec![("GREETING".into(), "hello".into())];
    let output = scene.run(
        r#"
        println(__shell("sub", "ls; echo $GREETING").stdout)
        println(__exec("sub", "ls", []).stdout)
        println(__shell(nil, "pwd").stdout == cwd() + "\n")
        println(__shell(nil, "f=$(mktemp) && test -e $f && echo $f").stdout != "")
        "#,
    );
    assert_eq!(output, "here\nhello\n\nhere\n\ntrue\ntrue\n");
}

#[test]
fn what_cannot_be_run_is_an_error() {
    let scene = Scene::new();
    scene.put("plain", "no program");
    let cases = [
        (r#"__exec(nil, "", [])"#, "exec: command is required"),
        (r#"__exec(nil, nil, [])"#, "exec: command is required"),
        (r#"__shell(nil, " ")"#, "shell: command is required"),
        (r#"__exec(nil, "no-such-program", [])"#, "exec: no-such-program: there is no such program"),
        (r#"__exec(nil, "./plain", [])"#, "exec: ./plain: permission denied: the file is not executable"),
        (r#"__exec("no", "true", [])"#, "exec_at: no: No such file or directory (os error 2)"),
        (r#"__shell("plain", "true")"#, "shell_at: plain: Not a directory (os error 20)"),
    ];
    for (source, expected) in cases {
        assert_eq!(scene.run(source), expected, "{source}");
    }
}

#[test]
fn large_output_is_whole() {
    let scene = Scene::new();
    let output = scene.run(r#"println(len(__shell(nil, "head -c 20000000 /dev/zero | tr '\\0' x").stdout))"#);
    assert_eq!(output, "20000000\n");
}

#[test]
fn what_a_command_leaves_running_ends_with_it() {
    let scene = Scene::new();
    let output = scene.run(
        r#"
        let pid = trim(__shell(nil, "sleep 1000 >/dev/null 2>&1 & echo $!").stdout)
        println(__shell(nil, "kill -0 ${pid} 2>/dev/null").success)
        "#,
    );
    assert_eq!(output, "false\n");
}

#[test]
fn a_deadline_stops_a_command() {
    let scene = Scene::new();
    let output = scene.run(
        r#"
        try {
          deadline 200ms { __shell(nil, "touch started; sleep 1000; touch finished") }
        } catch (e) { println("stopped") }
        "#,
    );
    assert_eq!(output, "stopped\n");
    assert!(!scene.root().join("finished").exists());
}

#[test]
fn a_script_of_somebody_else_runs_commands_in_the_sandbox() {
    let mut scene = Scene::judged();
    scene.permissions = "[permissions]\nauto_approve = [\"shell\", \"exec\"]\n".to_owned();
    let output = scene
        .run(r#"println(__shell(nil, "echo x > inside; cat inside; env | grep -c CARGO_MANIFEST").stdout)"#);
    assert_eq!(output, "x\n0\n\n");
    scene.put("sub/here", "");
    let output = scene.run(r#"println(__exec("sub", "ls", []).stdout + __shell("sub", "ls ..").stdout)"#);
    assert_eq!(output, "here\ninside\nsub\n\n");
    let outside = scene.run(r#"__shell("..", "ls")"#);
    assert!(outside.contains("outside of the workspace"), "{outside}");
}

#[test]
fn rules_for_commands_see_every_command_of_a_line() {
    let script = r#"
        host_mock("process", "exec", {status: 0})
        fn passes(call) { return try { host_call("process.exec", call).status == 0 } catch (e) { false } }
        let hidden = [
          "if true; then rm x; fi", "{ rm x; }", "! rm x", "time rm x", "command rm x", "env rm x", "eval rm x",
          "\\rm x", "'rm' x", ">/dev/null rm x", "echo x | xargs rm", "sh -c 'rm x'", "$X y", "echo 'x",
        ]
        let plain = ["echo hi 2>&1", "echo 'a; b'", "echo a # x; y", "X=1; echo $X", "f() { echo 1; }; f"]
        for policy in [{deny: ["rm"]}, {allow: ["echo", "true"]}] {
          command_policy_push(policy)
          println(hidden.filter({ line -> passes({command: line}) }))
          println(plain.filter({ line -> !passes({command: line}) }))
          println([passes({argv: ["env", "rm"]}), passes({argv: ["echo", "a; rm b"]})])
          command_policy_pop()
        }
    "#;
    assert_eq!(Scene::new().run(script), "[]\n[]\n[false, true]\n".repeat(2));
}
