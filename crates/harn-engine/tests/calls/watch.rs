//! Watching files for changes.

use crate::kit::Scene;

#[test]
fn every_change_is_told_once() {
    let scene = Scene::new();
    scene.put("d/old", "1");
    scene.put("d/gone", "1");
    let output = scene.run(
        r#"
        let watcher = fs_watch(["d"], {interval_ms: 20})
        println(fs_watch_next(watcher, 0))
        write_file("d/new", "1")
        write_file("d/old", "changed")
        delete_file("d/gone")
        for n in range(3) {
          let change = fs_watch_next(watcher, 10s)
          println("${change.kind} ${change.path}")
        }
        println(fs_watch_next(watcher, 50))
        println("${fs_watch_close(watcher)} ${fs_watch_close(watcher)}")
        "#,
    );
    assert_eq!(output, "nil\nremoved d/gone\ncreated d/new\nmodified d/old\nnil\ntrue false\n");
}

#[test]
fn a_change_that_comes_later_ends_the_waiting() {
    let scene = Scene::new();
    let output = scene.run(
        r#"
        let watcher = fs_watch("late", {interval_ms: 20})
        let waiting = spawn { fs_watch_next(watcher) }
        write_file("late", "")
        println(await(waiting))
        "#,
    );
    assert_eq!(output, "{kind: created, path: late}\n");
}

#[test]
fn a_watcher_that_is_not_open_is_an_error() {
    let scene = Scene::new();
    let output = scene.run(r#"try { fs_watch_next("watch-1") } catch (e) { println(error_category(e)) }"#);
    assert_eq!(output, "interrupted\n");
    assert_eq!(scene.run("fs_watch([])"), "fs_watch: paths must be a path or a list of paths");
}
