//! Files and folders.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use crate::kit::Scene;

#[test]
fn what_is_written_is_read_back_in_every_way() {
    let scene = Scene::new();
    scene.put("dos.txt", "one\r\ntwo\r\n");
    let output = scene.run(
        r#"
        println(file_exists("a.txt"))
        println(write_file("a.txt", "one\ntwo\n"))
        append_file("a.txt", "thrée")
        append_file("new.txt", 42)
        println(read_file("a.txt"))
        println("${read_lines("a.txt")} ${read_lines("dos.txt")}")
        println(len(read_file_bytes("a.txt")))
        println(read_file("new.txt"))
        println(file_exists("a.txt"))
        println(read_file_result("a.txt") == Ok(read_file("a.txt")))
        write_file_bytes("b.bin", bytes_from_hex("00ff80"))
        println(bytes_to_hex(read_file_bytes("b.bin")))
        "#,
    );
    assert_eq!(
        output,
        "false\nnil\none\ntwo\nthrée\n[one, two, thrée] [one, two]\n14\n42\ntrue\ntrue\n00ff80\n"
    );
    assert_eq!(fs::read(scene.root().join("b.bin")).unwrap(), [0, 255, 128]);
    assert_eq!(fs::read_dir(scene.root()).unwrap().count(), 4, "nothing else is left behind");
}

#[test]
fn errors_say_what_was_tried_and_where() {
    let scene = Scene::new();
    scene.put("latin", [0xe9]);
    scene.put("file", "x");
    let missing = "No such file or directory (os error 2)";
    let cases = [
        (r#"read_file("no")"#, format!("Failed to read file no: {missing}")),
        (r#"read_lines("no")"#, format!("Failed to read file no: {missing}")),
        (r#"read_file_bytes("no")"#, format!("Failed to read file no: {missing}")),
        (r#"println(read_file_result("no"))"#, format!("Result.Err(Failed to read file no: {missing})\n")),
        (r#"read_file("latin")"#, "Failed to read file latin: stream did not contain valid UTF-8".into()),
        (r#"read_file(7)"#, "read_file: path must be a string, not int".into()),
        (r#"write_file("no/a", "x")"#, format!("Failed to write file no/a: {missing}")),
        (r#"append_file("no/a", "x")"#, format!("Failed to append to file no/a: {missing}")),
        (r#"copy_file(".", "b")"#, "Failed to copy file . to b: Is a directory (os error 21)".into()),
        (r#"write_file("b")"#, "write_file: content is required".into()),
        (r#"write_file_bytes("b", [1, 300])"#, "write_file_bytes: bytes must be bytes, not list".into()),
        (r#"copy_file("no", "b")"#, format!("Failed to copy file no to b: {missing}")),
        (r#"move_file("no", "b")"#, format!("Failed to move file no to b: {missing}")),
        (r#"delete_file("no")"#, format!("Failed to delete file no: {missing}")),
        (r#"mkdir("file/b")"#, "Failed to create directory file/b: Not a directory (os error 20)".into()),
        (r#"list_dir("no")"#, format!("Failed to list directory no: {missing}")),
        (r#"walk_dir("no")"#, format!("Failed to walk directory no: {missing}")),
        (r#"stat("no")"#, format!("Failed to stat no: {missing}")),
        (r#"stat("")"#, "Failed to stat : the path is empty".into()),
        (r#"glob("[")"#, "glob: [: ".into()),
    ];
    for (source, expected) in cases {
        let output = scene.run(source);
        assert!(
            output.starts_with(&expected) && !output.is_empty(),
            "{source}: {output:?} is not {expected:?}"
        );
    }
}

#[test]
fn folders_are_made_listed_walked_and_searched() {
    let scene = Scene::new();
    let output = scene.run(
        r#"
        mkdir("d/e/f")
        mkdir("d/e/f")
        write_file("d/one.rs", "")
        write_file("d/e/two.rs", "")
        write_file("d/e/three.txt", "")
        println(list_dir())
        println(list_dir("d"))
        println(walk_dir("d").map({ found -> "${found.path} ${found.depth} ${found.is_dir} ${found.is_file}" }))
        println(walk_dir("d", {max_depth: 1}).map({ found -> found.path }))
        println(glob("d/*.rs"))
        println(glob("**/*.rs"))
        println(glob("*.rs", "d/e"))
        println(glob("*.rs", {base: "d"}))
        println(glob("none/*"))
        "#,
    );
    let expected = "[d]\n[e, one.rs]\n[d/e 1 true false, d/e/f 2 true false, d/e/three.txt 2 false true, \
                    d/e/two.rs 2 false true, d/one.rs 1 false true]\n[d/e, d/one.rs]\n[d/one.rs]\n\
                    [d/e/two.rs, d/one.rs]\n[d/e/two.rs]\n[d/one.rs]\n[]\n";
    assert_eq!(output, expected);
}

#[test]
fn stat_tells_size_kind_and_time() {
    let scene = Scene::new();
    scene.put("five", "12345");
    let output = scene.run(
        r#"
        let file = stat("five")
        println("${file.size} ${file.is_file} ${file.is_dir} ${file.readonly} ${file.modified > 1.0}")
        println(stat(".").is_dir)
        "#,
    );
    assert_eq!(output, "5 true false false true\ntrue\n");
}

#[test]
fn files_are_copied_moved_and_deleted_and_folders_with_all_that_is_in_them() {
    let scene = Scene::new();
    scene.put("a", "text");
    scene.put("d/e/f", "deep");
    symlink("d", scene.root().join("link")).unwrap();
    let output = scene.run(
        r#"
        copy_file("a", "a")
        copy_file("a", "b")
        move_file("b", "c")
        println("${read_file("a")} ${file_exists("b")} ${read_file("c")}")
        delete_file("link")
        println(file_exists("d/e/f"))
        move_file("d", "g")
        delete_file("g")
        println(list_dir())
        "#,
    );
    assert_eq!(output, "text false text\ntrue\n[a, c]\n");
}

#[test]
fn a_write_keeps_permissions_and_goes_through_links() {
    let scene = Scene::new();
    scene.put("tool.sh", "old");
    let path = scene.root().join("tool.sh");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o750)).unwrap();
    symlink("tool.sh", scene.root().join("link")).unwrap();
    assert_eq!(scene.run(r#"write_file("link", "new")"#), "");
    assert_eq!(scene.text("tool.sh"), "new");
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o750);
    assert!(fs::symlink_metadata(scene.root().join("link")).unwrap().is_symlink());
}

#[test]
fn an_own_script_goes_anywhere() {
    let scene = Scene::new();
    let outside = scene.outside("elsewhere.txt");
    let source = format!(
        r#"
        write_file("{0}", "far")
        println(read_file("../elsewhere.txt"))
        mkdir(".harn")
        write_file(".harn/notes", "own")
        println(list_dir(".harn"))
        println(starts_with(temp_dir(), "/"))
        "#,
        outside.display()
    );
    assert_eq!(scene.run(&source), "far\n[notes]\ntrue\n");
}

#[test]
fn large_files_are_whole() {
    let scene = Scene::new();
    scene.put("large", "x".repeat(12 << 20));
    let output = scene.run(
        r#"
        let text = read_file("large")
        write_file("copy", text + "y")
        println("${len(text)} ${stat("copy").size}")
        "#,
    );
    assert_eq!(output, format!("{0} {1}\n", 12 << 20, (12 << 20) + 1));
}
