//! Where a script runs, its input, and keys.

use crate::kit::Scene;

#[test]
fn a_script_learns_where_it_is() {
    let mut scene = Scene::new();
    scene.file = "scripts/deep/main.harn";
    scene.put("scripts/harn.toml", "");
    scene.put("scripts/deep/x", "");
    let output = scene.run(
        r#"
        let root = cwd()
        println(execution_root() == root)
        for path in [source_dir(), asset_root(), project_root()] { println(path.replace(root, "")) }
        for entry in runtime_paths() { println("${entry.key} ${entry.value.replace(root, "")}") }
        "#,
    );
    let expected = "true\n/scripts/deep\n/scripts/deep\n/scripts\nasset_root /scripts/deep\nexecution_root \n\
                    project_root /scripts\nsource_dir /scripts/deep\nstate_root /scripts/.harn\n";
    assert_eq!(output, expected);
    assert_eq!(scene.run("println(cwd())"), format!("{}\n", scene.root().display()));
}

#[test]
fn a_script_learns_about_its_machine() {
    let output = Scene::new().run(
        r#"
        println(pid() > 0)
        println("${platform()} ${arch()}")
        println([hostname(), username(), home_dir()].all({ text -> len(text) > 0 }))
        "#,
    );
    assert_eq!(output, format!("true\n{} {}\ntrue\n", std::env::consts::OS, std::env::consts::ARCH));
}

#[test]
fn variables_of_the_place_stand_before_those_of_the_process() {
    let mut scene = Scene::new();
    scene.variables = vec![("PATH".into(), "mine".into()), ("EMPTY".into(), String::new())];
    let output = scene.run(
        r#"
        println("${env("PATH")} ${env("NO_SUCH_VARIABLE")} [${env("EMPTY")}]")
        println("${env_or("NO_SUCH_VARIABLE", 7)} ${env_or("PATH", 7)} ${env("HOME") != nil}")
        "#,
    );
    assert_eq!(output, "mine nil []\n7 mine true\n");
}

#[test]
fn without_a_terminal_there_is_no_input() {
    let output = Scene::new().run(
        r#"
        println([read_line(), read_stdin(), prompt_user("name? ")])
        println([is_stdin_tty(), is_stdout_tty(), is_stderr_tty()])
        mock_stdin("one\ntwo\n")
        println([read_line(), read_stdin()])
        "#,
    );
    assert_eq!(output, "[nil, nil, nil]\n[false, false, false]\n[one, two\n]\n");
}

#[test]
fn new_keys_sign_and_agree() {
    let output = Scene::new().run(
        r#"
        let keys = ed25519_keypair()
        println(ed25519_verify(keys.public, "text", ed25519_sign(keys.private, "text")))
        println(keys.private != ed25519_keypair().private)
        let mine = x25519_keypair()
        let yours = x25519_keypair()
        println(x25519_agree(mine.private, yours.public) == x25519_agree(yours.private, mine.public))
        "#,
    );
    assert_eq!(output, "true\ntrue\ntrue\n");
}
