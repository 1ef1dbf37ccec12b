//! What is kept from run to run.

use crate::kit::Scene;

#[test]
fn the_store_is_there_in_the_next_run() {
    let scene = Scene::new();
    let first = r#"
        println(store_get("a"))
        store_set("a", {list: [1, 2.5, nil], when: 5s, raw: bytes_from_hex("ff")})
        store_set("b", 2)
        store_set("c", 3)
        store_delete("c")
        store_delete("none")
        store_save()
    "#;
    assert_eq!(scene.run(first), "nil\n");
    let second = r#"
        println(store_list())
        let a = store_get("a")
        println("${a.list} ${a.when} ${type_of(a.raw)} ${type_of(a.list[1])}")
        store_clear()
        println(store_list())
    "#;
    assert_eq!(scene.run(second), "[a, b]\n[1, 2.5, nil] 5s bytes float\n[]\n");
    assert_eq!(scene.text(".harn/store.json"), "{}\n");
}

#[test]
fn many_tasks_change_the_store_at_once() {
    let scene = Scene::new();
    let output = scene.run(
        r#"
        parallel each range(20) { n -> store_set("key${n}", n) }
        println(len(store_list()))
        "#,
    );
    assert_eq!(output, "20\n");
}

#[test]
fn checkpoints_belong_to_one_script() {
    let mut scene = Scene::new();
    let first = r#"
        println(checkpoint_exists("stage"))
        checkpoint("stage", {done: true})
        checkpoint("nothing", nil)
        checkpoint("old", 1)
        checkpoint_delete("old")
        println("${checkpoint_list()} ${checkpoint_get("stage").done} ${checkpoint_get("none")}")
        println(checkpoint_exists("nothing"))
    "#;
    assert_eq!(scene.run(first), "false\n[nothing, stage] true nil\ntrue\n");
    assert!(scene.text(".harn/checkpoints/main.json").contains("stage"));
    scene.file = "other.harn";
    assert_eq!(scene.run("println(checkpoint_list())"), "[]\n");
    scene.file = "main.harn";
    assert_eq!(scene.run("checkpoint_clear(); println(checkpoint_list())"), "[]\n");
}

#[test]
fn a_broken_store_is_an_error_and_stays_as_it_is() {
    let scene = Scene::new();
    scene.put(".harn/store.json", "{ not json");
    for call in [r#"store_get("a")"#, r#"store_set("a", 1)"#] {
        let output = scene.run(call);
        assert!(output.starts_with("Failed to read ") && output.contains("store.json"), "{call}: {output}");
    }
    assert_eq!(scene.text(".harn/store.json"), "{ not json");
}

#[test]
fn the_notes_about_folders_are_inherited_and_grow_old() {
    let scene = Scene::new();
    scene.put("src/inner/a.rs", "one");
    scene.put("docs/b.md", "two");
    let noted = r#"
        metadata_set(".", "style", {indent: 2, tone: "plain"})
        metadata_set("src/", "style", {indent: 4})
        metadata_set("docs", "words", {language: "en"})
        println(metadata_get("src", "style"))
        println(metadata_get("src/inner"))
        println(metadata_resolve("./src/inner", "style"))
        println(metadata_resolve("src").style.tone)
        println(metadata_entries("style").map({ entry -> "${entry.dir} ${entry.data.indent} ${entry.stale}" }))
        println(metadata_stale("."))
        println(metadata_status())
        metadata_save()
    "#;
    let expected = "{indent: 4}\n{}\n{indent: 4, tone: plain}\nplain\n[. 2 false, src 4 false]\n\
                    {any_stale: false, directories: []}\n\
                    {directories: 3, namespaces: [style, words], stale: 0, stale_directories: []}\n";
    assert_eq!(scene.run(noted), expected);
    scene.put("src/inner/a.rs", "changed");
    let later = r#"
        println(metadata_stale(".").directories)
        println(metadata_stale("docs").any_stale)
        metadata_refresh_hashes()
        println(metadata_stale(".").any_stale)
        invalidate_facts("docs")
        println(metadata_status("words").stale)
    "#;
    assert_eq!(scene.run(later), "[., src]\nfalse\nfalse\n1\n");
}

#[test]
fn a_folder_is_scanned_and_hashed() {
    let scene = Scene::new();
    scene.put("d/a.rs", "one");
    scene.put("d/e/b.txt", "three");
    scene.put("d/.git/x", "");
    let output = scene.run(
        r#"
        let shown = { found -> "${found.path} ${found.size} ${found.modified > 1.0}" }
        println(scan_directory("d").map(shown))
        println(scan_directory("d", "*.txt").map(shown))
        println(scan_directory("d", {max_depth: 1}).map(shown))
        let before = compute_content_hash("d")
        println("${len(before)} ${before == compute_content_hash("d")}")
        write_file("d/.git/y", "")
        println(before == compute_content_hash("d"))
        move_file("d/a.rs", "d/c.rs")
        println(before == compute_content_hash("d"))
        "#,
    );
    let expected =
        "[d/a.rs 3 true, d/e/b.txt 5 true]\n[d/e/b.txt 5 true]\n[d/a.rs 3 true]\n64 true\ntrue\nfalse\n";
    assert_eq!(output, expected);
    let missing = scene.run(r#"compute_content_hash("no")"#);
    assert_eq!(missing, "Failed to compute the hash of no: No such file or directory (os error 2)");
    let missing = scene.run(r#"scan_directory("no")"#);
    assert_eq!(missing, "Failed to scan directory no: No such file or directory (os error 2)");
}

#[test]
fn a_damaged_file_can_be_cleared() {
    let script = r#"
        mkdir(".harn")
        write_file(".harn/store.json", "{bad")
        println(try { store_list() } catch (e) { "damaged" })
        store_clear()
        println(store_list())
    "#;
    assert_eq!(Scene::new().run(script), "damaged\n[]\n");
}
