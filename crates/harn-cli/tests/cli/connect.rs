//! `harn connect`, and a secret on its way from there to a server and nowhere else.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};

use crate::kit::Project;
use crate::scripts::{fed_by, project};
use crate::terminal::converse;
use crate::web::Web;

const VALUE: &str = "v4lue-nobody-sees";

/// A command with a store of its own.
fn command(project: &Project, args: &[&str]) -> Command {
    let mut command = project.command(args);
    command.env("HARN_SECRETS", "file").env("XDG_CONFIG_HOME", project.path().join("config"));
    command.env_remove("HARN_SECRETS_KEY");
    command
}

fn run(project: &Project, args: &[&str], input: &str) -> Output {
    fed_by(command(project, args), input)
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

#[test]
fn secrets_are_kept_listed_and_removed() {
    let project = Project::new();
    let told = |args: &[&str], input: &str| {
        let output = run(&project, args, input);
        (output.status.code().unwrap(), said(&output))
    };
    let none = "No secrets. `harn connect api-key NAME --host HOST` keeps one.\n";
    assert_eq!(told(&["connect", "list"], ""), (0, none.into()));
    let hosts = ["--host", "a.test", "--host", "*.b.test", "--program", "gh"];
    let kept = told(&[["connect", "api-key", "k"].as_slice(), &hosts].concat(), "v4lue\n");
    assert_eq!(kept, (0, "Kept k in an encrypted file.\n".into()));
    let (code, nowhere) = told(&["connect", "api-key", "idle"], "other");
    assert_eq!(code, 0);
    assert!(
        nowhere.contains("warning: it may go nowhere yet; say where with --host HOST or --program PROGRAM"),
        "{nowhere}"
    );
    let (_, listed) = told(&["connect", "list"], "");
    assert!(listed.contains("a.test, *.b.test, gh (program)") && listed.contains("nowhere"), "{listed}");
    let listed: serde_json::Value =
        serde_json::from_str(&told(&["connect", "list", "--json"], "").1).unwrap();
    assert_eq!(listed["data"][1]["name"], "k");
    assert_eq!(listed["data"][1]["hosts"], serde_json::json!(["a.test", "*.b.test"]));
    assert_eq!(listed["data"][1]["programs"], serde_json::json!(["gh"]));
    assert!(!listed.to_string().contains("v4lue"));
    assert_eq!(told(&["connect", "remove", "k"], ""), (0, "Removed k.\n".into()));
    let (code, gone) = told(&["connect", "remove", "k"], "");
    assert!(code == 1 && gone.contains("there is no secret `k`"), "{gone}");
}

#[test]
fn what_is_no_name_no_host_or_no_value_is_refused() {
    let project = Project::new();
    let cases: [(&[&str], &str, &str); 6] = [
        (
            &["connect", "api-key", "k", "--host", "https://a.test/x"],
            "v",
            "--host https://a.test/x: that is no host",
        ),
        (&["connect", "api-key", "k", "--program", "gh api"], "v", "--program gh api: that is no program"),
        (&["connect", "api-key", "k"], "abc", "the value of `k` is too short"),
        (&["connect", "api-key", "k", "--host", "a.test"], "\n", "the value is empty, so nothing was kept"),
        (&["connect", "api-key", "k"], &"x".repeat(70_000), "the value is longer than 64 KiB"),
        (&["connect", "api-key", "a b", "--host", "a.test"], "v", "a name has letters, digits"),
    ];
    for (args, input, expected) in cases {
        let output = run(&project, args, input);
        assert!(!output.status.success() && said(&output).contains(expected), "{args:?}: {}", said(&output));
    }
    assert!(!project.path().join("config/harn/secrets.age").exists());
}

/// Whether a file below the folder has these bytes.
fn is_below(folder: &Path, text: &str) -> bool {
    fs::read_dir(folder).unwrap().flatten().any(|entry| match entry.file_type().unwrap().is_dir() {
        true => is_below(&entry.path(), text),
        false => fs::read(entry.path())
            .is_ok_and(|bytes| bytes.windows(text.len()).any(|part| part == text.as_bytes())),
    })
}

#[test]
fn a_secret_reaches_its_server_and_neither_output_nor_journal() {
    let web = Web::saying(&format!("you sent {VALUE}"));
    let code = format!(
        "let key = secret_get(\"k\")
println(key)
let answer = http_get(\"{0}/x\", {{headers: {{Authorization: \"Bearer \" + key}}}})
println(answer.body)
println(try {{ http_get(\"{1}/x\", {{headers: {{Authorization: key}}}}) }} catch (e) {{ e }})
",
        web.url,
        web.url.replace("127.0.0.1", "localhost")
    );
    let project = project(&[("send.harn", &code)]);
    let kept = run(&project, &["connect", "api-key", "k", "--host", "127.0.0.1"], VALUE);
    assert!(kept.status.success(), "{}", said(&kept));
    for (n, args) in
        [["run", "send.harn"].as_slice(), &["run", "--durable", "send.harn"]].into_iter().enumerate()
    {
        let output = said(&run(&project, args, ""));
        assert!(!output.contains(VALUE), "{output}");
        assert!(output.contains("you sent {{harn:secret:k}}"), "{output}");
        assert!(output.contains("the secret `k` may not go to localhost"), "{output}");
        let asked = web.asked();
        assert_eq!(asked.len(), n + 1);
        assert!(asked[n].to_lowercase().contains(&format!("authorization: bearer {VALUE}")), "{}", asked[n]);
    }
    assert!(project.path().join(".harn").is_dir());
    assert!(!is_below(project.path(), VALUE));
}

#[test]
fn a_secret_reaches_its_program_and_neither_output_nor_journal() {
    let code = r#"
let env = {TOKEN: secret_get("k")}
let done = host_call("process.exec", {argv: ["./tool"], env: env})
println(done.stdout)
println(done.stderr)
println(try { host_call("process.exec", {argv: ["./other"], env: env}) } catch (e) { e })
println(try { shell("echo " + env.TOKEN) } catch (e) { e })
log(done.combined)
throw done.stdout
"#;
    let tool = "#!/bin/sh\necho \"out $TOKEN\"\necho \"error $TOKEN\" >&2\nprintf %s \"$TOKEN\" | wc -c\n";
    let project = project(&[("give.harn", code), ("tool", tool), ("other", tool)]);
    for name in ["tool", "other"] {
        fs::set_permissions(project.path().join(name), PermissionsExt::from_mode(0o755)).unwrap();
    }
    let kept = run(&project, &["connect", "api-key", "k", "--program", "./tool"], VALUE);
    assert!(kept.status.success(), "{}", said(&kept));
    for args in [["run", "give.harn"].as_slice(), &["run", "--durable", "give.harn"]] {
        let output = said(&run(&project, args, ""));
        for expected in [
            "out {{harn:secret:k}}",
            &format!("{}", VALUE.len()),
            "error {{harn:secret:k}}",
            "the secret `k` may not go to the program `./other`",
            "the secret `k` may not go to the words of a command",
        ] {
            assert!(output.contains(expected), "{expected}: {output}");
        }
        assert!(!output.contains(VALUE), "{output}");
    }
    assert!(project.path().join(".harn").is_dir());
    assert!(!is_below(project.path(), VALUE));
}

#[test]
fn a_key_that_is_typed_in_is_not_shown() {
    let web = Web::saying("fine");
    let code = format!("http_get(\"{}\", {{headers: {{Authorization: secret_get(\"k\")}}}})\n", web.url);
    let project = project(&[("send.harn", &code)]);
    let config = project.path().join("config");
    let variables = [("HARN_SECRETS", "file"), ("XDG_CONFIG_HOME", config.to_str().unwrap())];
    let typing = |typed: &str| {
        let args = ["connect", "api-key", "k", "--host", "127.0.0.1"];
        converse(&project, &args, &variables, "Value of k: ", typed)
    };
    // Who changes their mind has a terminal as it was.
    let interrupted = typing("half of it\u{3}");
    assert!(!interrupted.is_success && interrupted.shows_typing, "{}", interrupted.screen);
    assert!(!interrupted.screen.contains("half"), "{}", interrupted.screen);
    let done = typing(&format!("{VALUE}\n"));
    assert_eq!(done.screen, "Value of k: \r\nKept k in an encrypted file.\r\n");
    assert!(done.is_success && done.shows_typing);
    assert!(run(&project, &["run", "send.harn"], "").status.success());
    assert!(web.asked()[0].to_lowercase().contains(&format!("authorization: {VALUE}")), "{:?}", web.asked());
}
