//! Scripts that are not their owner's own: they stay in the workspace, and rules decide.

use std::fs;
use std::os::unix::fs::symlink;

use crate::kit::{Scene, denied};

#[test]
fn a_script_works_on_files_of_the_workspace_as_an_own_one_does() {
    let scene = Scene::judged();
    let output = scene.run(
        r#"
        mkdir("d/e")
        write_file("d/a", "one")
        append_file("d/a", " two")
        copy_file("d/a", "d/b")
        move_file("d/b", "d/e/c")
        println(read_file("d/e/c"))
        println(walk_dir("d").map({ found -> found.path }))
        println(glob("**/c"))
        println(stat("d/a").size)
        println(stat("d").is_dir)
        delete_file("d/e")
        println(list_dir("d"))
        println(file_exists("d/e/c"))
        "#,
    );
    assert_eq!(output, "one two\n[d/a, d/e, d/e/c]\n[d/e/c]\n7\ntrue\n[a]\nfalse\n");
}

#[test]
fn nothing_leads_out_of_the_workspace() {
    let scene = Scene::judged();
    fs::write(scene.outside("secret"), "secret").unwrap();
    symlink("../secret", scene.root().join("link")).unwrap();
    symlink("..", scene.root().join("up")).unwrap();
    scene.put("file", "inside");
    let outside = scene.outside("secret").display().to_string();
    let calls = [
        r#"read_file("../secret")"#.to_owned(),
        format!(r#"read_file("{outside}")"#),
        r#"read_file("link")"#.to_owned(),
        r#"read_file("up/secret")"#.to_owned(),
        r#"list_dir("up")"#.to_owned(),
        r#"walk_dir("..")"#.to_owned(),
        r#"glob("../*")"#.to_owned(),
        r#"glob("*", "..")"#.to_owned(),
        r#"glob("*", {base: ".."})"#.to_owned(),
        r#"write_file("../new", "x")"#.to_owned(),
        r#"write_file("link", "x")"#.to_owned(),
        r#"append_file("up/secret", "x")"#.to_owned(),
        r#"copy_file("../secret", "stolen")"#.to_owned(),
        r#"copy_file("file", "../new")"#.to_owned(),
        r#"move_file("file", "../new")"#.to_owned(),
        r#"move_file("up/secret", "stolen")"#.to_owned(),
        r#"delete_file("../secret")"#.to_owned(),
        r#"delete_file("up/secret")"#.to_owned(),
        r#"mkdir("../new")"#.to_owned(),
        r#"scan_directory("..")"#.to_owned(),
        r#"compute_content_hash("..")"#.to_owned(),
        r#"fs_watch("..")"#.to_owned(),
        r#"render("../secret")"#.to_owned(),
    ];
    for call in calls {
        let output = scene.run(&format!("println({call})"));
        assert!(!output.is_empty() && !output.contains("secret\n"), "{call}: {output}");
        assert!(!output.ends_with('\n'), "{call} gave something: {output}");
    }
    assert_eq!(fs::read_to_string(scene.outside("secret")).unwrap(), "secret");
    assert!(!scene.outside("new").exists() && !scene.root().join("stolen").exists());
}

#[test]
fn a_link_is_removed_and_not_what_it_leads_to() {
    let scene = Scene::judged();
    scene.put("d/file", "stays");
    symlink("d", scene.root().join("link")).unwrap();
    assert_eq!(scene.run(r#"delete_file("link"); println(list_dir() + list_dir("d"))"#), "[d, file]\n");
}

#[test]
fn what_belongs_to_the_harness_is_closed() {
    let scene = Scene::judged();
    scene.put(".harn/store.json", "{}");
    scene.put("sub/.harn/x", "");
    let calls = [
        r#"read_file(".harn/store.json")"#,
        r#"write_file(".harn/store.json", "{\"a\": 1}")"#,
        r#"delete_file(".harn")"#,
        r#"delete_file("sub")"#,
        r#"move_file("sub", "other")"#,
        r#"mkdir(".harn/new")"#,
    ];
    for call in calls {
        let output = scene.run(call);
        assert!(output.contains(".harn"), "{call}: {output:?}");
    }
    assert_eq!(scene.run("println(list_dir())"), "[sub]\n");
    assert!(scene.root().join("sub/.harn/x").exists());
}

#[test]
fn a_path_that_policy_let_out_is_reached() {
    let mut scene = Scene::judged();
    let folder = scene.outside("shared");
    fs::create_dir(&folder).unwrap();
    scene.permissions = format!("[permissions]\nexternal_roots = [\"{}\"]\n", folder.display());
    let path = folder.join("note").display().to_string();
    let output = scene.run(&format!(r#"write_file("{path}", "out"); println(read_file("{path}"))"#));
    assert_eq!(output, "out\n");
    symlink(&folder, scene.root().join("link")).unwrap();
    let through = scene.run(r#"read_file("link/note")"#);
    assert!(through.contains("leads out of the workspace"), "{through}");
}

#[test]
fn a_rule_of_the_owner_holds_for_an_own_script_too() {
    let mut scene = Scene::new();
    scene.permissions = r#"
        [[permissions.rules]]
        id = "no-keys"
        action = "deny"
        match = { path = "keys/**" }

        [[permissions.rules]]
        id = "no-curl"
        action = "deny"
        match = { command = "curl*" }

        [[permissions.rules]]
        id = "no-deletes"
        action = "deny"
        match = { tool = "delete_file" }
    "#
    .to_owned();
    scene.put("keys/one", "secret");
    scene.put("main.tpl", "{{ include \"keys/one\" }}");
    let calls = [
        r#"read_file("keys/one")"#,
        r#"read_file("./x/../keys/one")"#,
        r#"write_file("keys/one", "")"#,
        r#"copy_file("keys/one", "two")"#,
        r#"delete_file("main.tpl")"#,
        r#"render("keys/one")"#,
        r#"render("main.tpl")"#,
        r#"__shell(nil, "true; curl example.org")"#,
        r#"__exec(nil, "curl", ["example.org"])"#,
        r#"host_call("process.exec", {argv: ["curl", "example.org"], env: {A: "1"}})"#,
        r#"host_call("process.exec", {command: "true; curl example.org", env: {A: "1"}})"#,
    ];
    for call in calls {
        let output = scene.run(&format!("println({call})"));
        let denied = output.contains("Denied") || output.contains("policy does not let");
        assert!(denied, "{call}: {output}");
    }
    let caught = scene.run(r#"try { read_file("keys/one") } catch (e) { println(error_category(e)) }"#);
    assert_eq!(caught, "permission_denied\n");
    assert_eq!(scene.text("keys/one"), "secret");
}

#[test]
fn a_script_of_somebody_else_sees_no_secrets_of_the_environment() {
    // Every test process of cargo has this one.
    let source = r#"println(env("CARGO_MANIFEST_DIR") == nil); println(env("PATH") == nil)"#;
    assert_eq!(Scene::judged().run(source), "true\nfalse\n");
    assert_eq!(Scene::new().run(source), "false\nfalse\n");
}

#[test]
fn what_policy_denies_is_neither_listed_nor_read_on_the_way() {
    for mut scene in [Scene::new(), Scene::judged()] {
        scene.put("vault/s", "one");
        scene.put("open/s", "open");
        let script = r#"
            println(walk_dir(".").filter({ found -> found.is_file }).map({ found -> found.path }))
            println(glob("**/s"))
            println(try { glob("*", "vault") } catch (e) { "denied" })
            println(scan_directory(".").map({ found -> found.path }))
            println(try { list_dir("vault") } catch (e) { "denied" })
            println(compute_content_hash("."))
        "#;
        let before = scene.run(script);
        assert!(before.starts_with("[./open/s, ./vault/s]\n[open/s, vault/s]\n[vault/s]\n"), "{before}");
        scene.permissions = denied("path = \"vault/**\"");
        let seen = scene.run(script);
        let rest = seen.strip_prefix("[./open/s]\n[open/s]\ndenied\n[./open/s]\ndenied\n");
        let hash = rest.unwrap_or_else(|| panic!("{seen}"));
        assert_ne!(before.lines().last(), hash.lines().last());
        scene.put("vault/s", "two");
        assert_eq!(scene.run(script), seen);
    }
}

#[test]
fn a_call_that_is_allowed_alone_sees_what_it_looks_at() {
    let mut scene = Scene::judged();
    scene.put("a/s", "x");
    scene.permissions = denied("tool = \"read_file\"");
    assert_eq!(scene.run(r#"println(glob("**/s"))"#), "[a/s]\n");
}
