//! Secrets in what scripts send and start: only where they may go, and never as a name in their place.

use std::io::Write;
use std::net::TcpStream;

use crate::kit::Scene;
use crate::server::{Server, head};

const VALUE: &str = "s3cr3t-v4lue";

/// Tells what it was asked.
fn echo(mut stream: TcpStream) {
    let told = head(&mut stream);
    let length = told.len();
    let _ = stream.write_all(
        format!("HTTP/1.1 200 OK\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{told}").as_bytes(),
    );
}

/// A script whose `print_key` tells what it has in `KEY`, in hexadecimal and as it is.
fn scene(scene: Scene) -> Scene {
    scene.secret("key", VALUE, &["127.0.0.1"], &["./print_key"]);
    scene.put(
        "print_key",
        "#!/bin/sh\necho \"has $KEY\"\nprintf %s \"$KEY\" | od -An -tx1 | tr -d ' \\n'\necho \"$KEY\" >&2\n",
    );
    let path = scene.root().join("print_key");
    std::fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    scene
}

const GIVES: &str = r#"
    let done = host_call("process.exec", {argv: ["./print_key"], env: {KEY: secret_get("key")}})
    println(done.stdout + done.stderr + done.combined)
"#;

fn expected() -> String {
    let hex: String = VALUE.bytes().map(|byte| format!("{byte:02x}")).collect();
    let name = "{{harn:secret:key}}\n";
    let (out, err) = (format!("has {name}{hex}"), name);
    format!("{out}{err}{out}{err}\n")
}

#[test]
fn a_program_that_may_have_a_secret_has_it_in_its_environment() {
    assert_eq!(scene(Scene::new()).run(GIVES), expected());
}

#[test]
fn so_has_one_that_a_script_of_somebody_else_starts_and_could_not_change() {
    let mut scene = scene(Scene::judged());
    scene.permissions = "[permissions]\nauto_approve = [\"exec\", \"secret\"]\n".to_owned();
    scene.secret("key", VALUE, &[], &["printenv", "sh", "./print_key"]);
    let given = |argv: &str, more: &str| {
        scene.run(&format!(
            r#"
            let env = {{KEY: secret_get("key"){more}}}
            let done = try {{ host_call("process.exec", {{argv: {argv}, env: env}}) }} catch (e) {{ {{stdout: to_string(e)}} }}
            println(done.stdout)
            "#
        ))
    };
    assert_eq!(given(r#"["printenv", "KEY"]"#, ""), "{{harn:secret:key}}\n\n");
    assert_eq!(given(r#"["sh", "-c", "printf %s $KEY | wc -c"]"#, ""), format!("{}\n\n", VALUE.len()));
    let changed = given(r#"["printenv", "KEY"]"#, r#", LD_PRELOAD: "./evil.so""#);
    assert!(changed.contains("`LD_PRELOAD` may not be set for a program that gets a secret"), "{changed}");
    let own = given(r#"["./print_key"]"#, "");
    assert!(own.contains("`./print_key` is in the workspace, where no program gets a secret"), "{own}");
}

#[test]
fn a_secret_and_its_name_go_to_no_other_program_and_to_no_other_place() {
    let scene = scene(Scene::new());
    let calls = [
        (r#"host_call("process.exec", {argv: ["printenv"], env: {KEY: key}})"#, "the program `printenv`"),
        (r#"host_call("process.exec", {command: "./print_key", env: {KEY: key}})"#, "the program `sh`"),
        (r#"exec("./print_key", key)"#, "the words of a command"),
        (r#"shell("echo " + key)"#, "the words of a command"),
        (r#"host_call("process.exec", {command: "cat", stdin: key})"#, "the words of a command"),
        (r#"host_call("editor.show", {text: [key]})"#, "the host"),
        (r#"host_tool_call("login", {token: key})"#, "the host"),
        (r#"http_get("http://127.0.0.1:1/", {proxy: "http://u:" + key + "@127.0.0.1:1"})"#, "a proxy"),
        (r#"http_get("http://localhost:1/?key=" + key)"#, "localhost"),
    ];
    for (call, place) in calls {
        let script =
            format!(r#"let key = secret_get("key"); println(try {{ {call} }} catch (e) {{ to_string(e) }})"#);
        let output = scene.run(&script);
        assert!(output.contains(&format!("the secret `key` may not go to {place}")), "{call}: {output}");
        assert!(!output.contains(VALUE), "{call}: {output}");
    }
}

#[test]
fn variables_are_given_to_a_program_or_a_line_without_secrets_too() {
    let scene = Scene::new();
    let output = scene.run(
        r#"
        let env = {GREETING: "it's me", N: 3}
        println(host_call("process.exec", {argv: ["printenv", "GREETING", "N"], env: env}).stdout)
        println(host_call("process.exec", {command: "echo $GREETING; exit 3", env: env}).stdout)
        println(try { host_call("process.exec", {argv: ["true"], env: {"a b": "c"}}) } catch (e) { e })
        println(shell("echo [$GREETING]").stdout)
        println(try { host_call("process.exec", {command: "true", env: ["A"]}) } catch (e) { e })
        "#,
    );
    let refused =
        "exec: `a b` is no variable that could be set\n[]\n\nprocess.exec: env must be a dict, got list\n";
    assert_eq!(output, format!("it's me\n3\n\nit's me\n\n{refused}"));
}

#[test]
fn a_secret_is_found_in_an_address_a_password_and_a_form() {
    let server = Server::start(echo);
    let scene = scene(Scene::new());
    let url = server.url("http", "/");
    let output = scene.run(&format!(
        r#"
        let key = secret_get("key")
        let sent = http_get("{url}?a=1", {{auth: {{api_key: key, in: "query", name: "k"}}}})
        println(sent.body.split("\n")[0])
        let basic = http_get("{url}", {{auth: {{basic: {{username: "me", password: key}}}}}})
        let header = basic.body.split("\n").find({{ line -> line.contains("authorization") }})
        println(header.contains("basic"))
        println(http_get("{url}", {{headers: {{"x-key": url_encode(key)}}}}).body.contains("x-key: " + key))
        "#
    ));
    assert_eq!(output, "get /?a=1&k={{harn:secret:key}} http/1.1\r\ntrue\ntrue\n");
}

#[test]
fn a_secret_that_a_server_tells_back_is_in_no_download() {
    let server = Server::start(echo);
    let scene = scene(Scene::new());
    let url = server.url("http", "/");
    let output = scene.run(&format!(
        r#"
        let given = http_download("{url}", "got", {{headers: {{"x-key": secret_get("key")}}}})
        println(given)
        println(read_file("got").contains("x-key: {{{{harn:secret:key}}}}"))
        "#
    ));
    assert!(output.ends_with("true\n") && !output.contains(VALUE), "{output}");
    assert!(!scene.text("got").contains(VALUE));
}
