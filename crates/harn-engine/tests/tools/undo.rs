//! Undo: whatever tools and commands did to a workspace, it is put back, and nothing else is touched.

mod random;

use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use bytes::Bytes;
use harn_core::hash::Sha256Hash;
use harn_core::ports::{Restored, WorkspaceFiles};
use harn_core::run::{Change, Node, Stash, WritePlan};
use harn_engine::tools::{ConfinedFiles, Keep, stash};
use serde_json::json;

use crate::kit::Workspace;

#[derive(Clone, Debug, PartialEq, Eq)]
enum Entry {
    File(Vec<u8>, u32),
    Link(String),
    Folder(u32),
}

type Tree = BTreeMap<String, Entry>;

/// Everything below a folder.
fn tree(root: &Path) -> Tree {
    let mut tree = Tree::new();
    let mut folders = vec![String::new()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(root.join(&folder)).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            let path = if folder.is_empty() { name } else { format!("{folder}/{name}") };
            let at = root.join(&path);
            let found = at.symlink_metadata().unwrap();
            let mode = found.permissions().mode() & 0o777;
            let entry = if found.is_symlink() {
                Entry::Link(fs::read_link(at).unwrap().to_str().unwrap().into())
            } else if found.is_dir() {
                folders.push(path.clone());
                Entry::Folder(mode)
            } else {
                Entry::File(fs::read(at).unwrap(), mode)
            };
            tree.insert(path, entry);
        }
    }
    tree
}

fn chmod(path: &Path, mode: u32) -> std::io::Result<()> {
    fs::set_permissions(path, Permissions::from_mode(mode))
}

/// A journal of what happened in a workspace.
struct History {
    workspace: Workspace,
    changes: Vec<Change>,
}

impl History {
    fn new() -> Self {
        Self { workspace: Workspace::new(), changes: Vec::new() }
    }

    fn root(&self) -> &str {
        self.workspace.root().to_str().unwrap()
    }

    fn tree(&self) -> Tree {
        tree(self.workspace.root())
    }

    /// Does something between a stash and a look at what has changed.
    async fn command(&mut self, command: impl FnOnce(&Workspace)) -> Vec<Change> {
        let stash = stash::take(&self.workspace.ctx).await.unwrap();
        command(&self.workspace);
        let changes = stash::changes(&self.workspace.ctx, &stash).await;
        if !changes.iter().any(|change| change.path.ends_with(".gitignore")) {
            let since = ConfinedFiles.changes_since(self.root(), &self.listing(&stash)).unwrap();
            assert_eq!(since, changes, "the listing alone tells the same");
        }
        self.changes.extend(changes.clone());
        changes
    }

    fn listing(&self, stash: &Stash) -> BTreeMap<String, Node> {
        serde_json::from_slice(&self.workspace.blobs.get(&stash.listing).unwrap()).unwrap()
    }

    /// Calls a tool that plans its writes. A refused call changes nothing.
    async fn write(&mut self, tool: &str, args: serde_json::Value) {
        let Ok(harn_engine::tools::Prepared::Write(write)) = self.workspace.prepare(tool, args).await else {
            return;
        };
        let plan = write.plan.clone();
        self.workspace.blobs.keep(write.pre_image.iter().cloned().collect()).await.unwrap();
        if self.workspace.perform(tool, write).await.is_ok() {
            self.changes.extend(plan.changes());
        }
    }

    fn undo(&self) -> Vec<(String, Restored)> {
        let kept = |hash: &str| self.workspace.blobs.get(hash);
        ConfinedFiles.restore(self.root(), &self.changes, &kept).unwrap()
    }
}

fn done(path: &str) -> (String, Restored) {
    (path.into(), Restored::Done)
}

fn refused(path: &str, why: &str) -> (String, Restored) {
    (path.into(), Restored::Refused(why.into()))
}

#[tokio::test]
async fn every_kind_of_change_is_told_and_put_back() {
    let mut history = History::new();
    let workspace = &history.workspace;
    workspace.put("edited", "one");
    workspace.put("deleted", "two");
    workspace.put("mode", "three");
    workspace.put("becomes-folder", "four");
    workspace.put("becomes-link", "five");
    workspace.put("becomes-file/deep/er", "six");
    workspace.put("gone/a", "seven");
    workspace.put("gone/locked/b", "eight");
    symlink("edited", workspace.path("link")).unwrap();
    symlink("nowhere", workspace.path("link-becomes-file")).unwrap();
    chmod(&workspace.path("deleted"), 0o400).unwrap();
    chmod(&workspace.path("gone/locked"), 0o555).unwrap();
    let before = history.tree();
    let changes = history
        .command(|workspace| {
            let at = |path: &str| workspace.path(path);
            fs::write(at("edited"), "ONE").unwrap();
            fs::remove_file(at("deleted")).unwrap();
            chmod(&at("mode"), 0o755).unwrap();
            fs::remove_file(at("becomes-folder")).unwrap();
            workspace.put("becomes-folder/new/file", "x");
            fs::remove_file(at("becomes-link")).unwrap();
            symlink("/etc", at("becomes-link")).unwrap();
            fs::remove_dir_all(at("becomes-file")).unwrap();
            fs::write(at("becomes-file"), "").unwrap();
            chmod(&at("gone/locked"), 0o755).unwrap();
            fs::remove_dir_all(at("gone")).unwrap();
            symlink("..", at("gone")).unwrap();
            fs::remove_file(at("link")).unwrap();
            symlink("mode", at("link")).unwrap();
            fs::remove_file(at("link-becomes-file")).unwrap();
            fs::write(at("link-becomes-file"), "").unwrap();
            workspace.put("made/in/here", "y");
            chmod(&at("made/in"), 0o555).unwrap();
        })
        .await;
    let paths = [
        "becomes-file",
        "becomes-file/deep",
        "becomes-file/deep/er",
        "becomes-folder",
        "becomes-folder/new",
        "becomes-folder/new/file",
        "becomes-link",
        "deleted",
        "edited",
        "gone",
        "gone/a",
        "gone/locked",
        "gone/locked/b",
        "link",
        "link-becomes-file",
        "made",
        "made/in",
        "made/in/here",
        "mode",
    ];
    assert_eq!(changes.iter().map(|change| change.path.as_str()).collect::<Vec<_>>(), paths);
    assert_eq!(history.undo(), paths.map(done));
    assert_eq!(history.tree(), before);
    assert_eq!(history.undo(), paths.map(|path| (path.to_owned(), Restored::Unchanged)));
    assert_eq!(history.tree(), before);
}

#[tokio::test]
async fn what_was_changed_since_is_left_alone() {
    let mut history = History::new();
    for name in ["edited", "removed", "mode", "kind", "deleted"] {
        history.workspace.put(name, "before");
    }
    history
        .command(|workspace| {
            for name in ["edited", "removed", "mode", "kind", "new", "folder/new"] {
                workspace.put(name, "by the command");
            }
            fs::remove_file(workspace.path("deleted")).unwrap();
        })
        .await;
    let workspace = &history.workspace;
    workspace.put("edited", "by a person!!!");
    fs::remove_file(workspace.path("removed")).unwrap();
    chmod(&workspace.path("mode"), 0o700).unwrap();
    fs::remove_file(workspace.path("kind")).unwrap();
    symlink("edited", workspace.path("kind")).unwrap();
    workspace.put("deleted", "again");
    workspace.put("folder/mine", "kept");
    let since = history.tree();
    let answers = [
        refused("deleted", "it was changed since: it was made again"),
        refused("edited", "it was changed since: it has other content"),
        refused("folder", "it holds what is not part of the undo, so it was left"),
        done("folder/new"),
        refused("kind", "it was changed since: it is now a symbolic link"),
        refused("mode", "it was changed since: its mode is now 700"),
        done("new"),
        refused("removed", "it was changed since: it is gone"),
    ];
    assert_eq!(history.undo(), answers);
    let gone = ["folder/new", "new"];
    let expected: Tree = since.into_iter().filter(|(path, _)| !gone.contains(&path.as_str())).collect();
    assert_eq!(history.tree(), expected);
}

#[tokio::test]
async fn a_folder_that_is_refused_keeps_its_mode() {
    let mut history = History::new();
    history.workspace.put("was-file", "before");
    history
        .command(|workspace| {
            fs::remove_file(workspace.path("was-file")).unwrap();
            for folder in ["was-file", "held", "opened"] {
                workspace.put(&format!("{folder}/in"), "by the command");
                chmod(&workspace.path(folder), 0o500).unwrap();
            }
        })
        .await;
    for (folder, mode) in [("was-file", 0o500), ("held", 0o500), ("opened", 0o711)] {
        chmod(&history.workspace.path(folder), 0o700).unwrap();
        history.workspace.put(&format!("{folder}/mine"), "by a person");
        chmod(&history.workspace.path(folder), mode).unwrap();
    }
    let held = "it holds what is not part of the undo, so it was left";
    let answers = [
        refused("held", held),
        done("held/in"),
        refused("opened", "it was changed since: its mode is now 711"),
        done("opened/in"),
        refused("was-file", held),
        done("was-file/in"),
    ];
    assert_eq!(history.undo(), answers);
    let mine = Entry::File(b"by a person".into(), 0o644);
    let modes = [("held", 0o500), ("opened", 0o711), ("was-file", 0o500)];
    let expected: Tree = modes
        .into_iter()
        .flat_map(|(path, mode)| [(path.into(), Entry::Folder(mode)), (format!("{path}/mine"), mine.clone())])
        .collect();
    assert_eq!(history.tree(), expected);
}

#[tokio::test]
async fn the_oldest_state_counts_and_the_newest_is_compared() {
    let mut history = History::new();
    history.workspace.put("file", "0");
    chmod(&history.workspace.path("file"), 0o600).unwrap();
    let before = history.tree();
    history.write("write_file", json!({ "path": "file", "content": "1" })).await;
    history.write("write_file", json!({ "path": "new/in/a", "content": "1" })).await;
    history.command(|workspace| drop(fs::write(workspace.path("file"), "2"))).await;
    history.command(|workspace| drop(chmod(&workspace.path("new/in/a"), 0o755))).await;
    history.write("edit_file", json!({ "path": "file", "old_text": "2", "new_text": "3" })).await;
    assert_eq!(history.undo(), ["file", "new", "new/in", "new/in/a"].map(done));
    assert_eq!(history.tree(), before);
}

#[tokio::test]
async fn content_that_is_not_kept_is_refused_and_the_rest_is_done() {
    let mut history = History::new();
    let large = vec![b'x'; 8 * 1024 * 1024 + 1];
    history.workspace.put("large", &large);
    history.workspace.put("lost", "lost");
    history.workspace.put("wrong", "wrong");
    history.workspace.put("fine", "fine");
    history
        .command(|workspace| {
            for name in ["large", "lost", "wrong", "fine"] {
                workspace.put(name, "changed");
            }
            workspace.put("large-new", &large);
        })
        .await;
    let lost = Sha256Hash::of(b"lost").prefixed();
    let wrong = Sha256Hash::of(b"wrong").prefixed();
    let kept = |hash: &str| match hash {
        hash if hash == lost => None,
        hash if hash == wrong => Some(Bytes::from_static(b"something else")),
        hash => history.workspace.blobs.get(hash),
    };
    let answers = ConfinedFiles.restore(history.root(), &history.changes, &kept).unwrap();
    let expected = [
        done("fine"),
        refused("large", "it was not kept: it is larger than 8 MiB"),
        done("large-new"),
        refused("lost", "its content from before is no longer kept"),
        refused("wrong", "its content from before is no longer kept"),
    ];
    assert_eq!(answers, expected);
    assert_eq!(history.workspace.text("fine"), "fine");
    assert_eq!(history.workspace.text("lost"), "changed");
    assert_eq!(history.workspace.names("."), ["fine", "large", "lost", "wrong"]);
}

#[test]
fn undo_stays_below_the_root_and_out_of_the_closed_folder() {
    let workspace = Workspace::new();
    let root = workspace.root().to_str().unwrap();
    fs::write(workspace.outside("victim"), "outside").unwrap();
    workspace.put(".harn/state", "ours");
    symlink("..", workspace.path("out")).unwrap();
    let content =
        |hash: &[u8]| Some(Node::File { hash: Sha256Hash::of(hash).prefixed(), mode: 0o644, size: 0 });
    let plain = "its path is not a plain path below the workspace root";
    let closed = "it is in `.harn`, which belongs to the harness";
    let absolute = workspace.outside("victim").to_str().unwrap().to_owned();
    let cases = [
        ("../victim", plain),
        (absolute.as_str(), plain),
        ("a//b", plain),
        ("", "its path is empty"),
        (".harn/state", closed),
        ("sub/.harn/x", closed),
        ("a\0b", "its path has a NUL character"),
        // Behind a link there is nothing of this workspace, so it is neither as before nor as after.
        ("out/victim", "it was changed since: it is gone"),
    ];
    for (path, why) in cases {
        let after = if path == ".harn/state" { content(b"ours") } else { content(b"outside") };
        let change = Change { path: path.into(), before: content(b"before"), after };
        let answers = ConfinedFiles.restore(root, &[change], &|_| Some(Bytes::from_static(b"before")));
        assert_eq!(answers, Ok(vec![refused(path, why)]));
    }
    // What was deleted behind what is now a link is not written through it.
    let change = Change { path: "out/victim2".into(), before: content(b"before"), after: None };
    let answers = ConfinedFiles.restore(root, &[change], &|_| Some(Bytes::from_static(b"before")));
    assert_eq!(answers, Ok(vec![refused("out/victim2", "its folder `out` is not there")]));
    assert_eq!(fs::read(workspace.outside("victim")).unwrap(), b"outside");
    assert!(!workspace.outside("victim2").exists());
    assert_eq!(workspace.text(".harn/state"), "ours");
}

#[test]
fn a_plan_that_knows_no_modes_leaves_them_alone() {
    let workspace = Workspace::new();
    let root = workspace.root().to_str().unwrap();
    workspace.put("file", "after");
    chmod(&workspace.path("file"), 0o640).unwrap();
    let plan = WritePlan {
        path: "file".into(),
        before: Some(Sha256Hash::of(b"before").prefixed()),
        after: Sha256Hash::of(b"after").prefixed(),
        mode: None,
        new_folders: vec![],
    };
    let kept = |_: &str| Some(Bytes::from_static(b"before"));
    assert_eq!(ConfinedFiles.restore(root, &plan.changes(), &kept), Ok(vec![done("file")]));
    let expected = Tree::from([("file".into(), Entry::File(b"before".into(), 0o640))]);
    assert_eq!(tree(workspace.root()), expected);
}

#[tokio::test]
async fn ignored_files_are_never_taken_for_new_ones() {
    let mut history = History::new();
    history.workspace.put(".gitignore", "secret\n*.log\n");
    history.workspace.put("secret", "ignored, and there before");
    history.workspace.put("sub/.gitignore", "*\n");
    history.workspace.put("sub/own", "ignored by a rule that ignores itself");
    let before = history.tree();
    let stash = stash::take(&history.workspace.ctx).await.unwrap();
    history.workspace.put(".gitignore", "");
    fs::remove_file(history.workspace.path("sub/.gitignore")).unwrap();
    history.workspace.put("new", "by the command");
    let changes = stash::changes(&history.workspace.ctx, &stash).await;
    let paths = changes.iter().map(|change| change.path.as_str()).collect::<Vec<_>>();
    assert_eq!(paths, [".gitignore", "new", "sub/.gitignore"]);

    // With the listing alone nobody knows what was ignored, so what is not listed may have been there.
    let since = ConfinedFiles.changes_since(history.root(), &history.listing(&stash)).unwrap();
    let kept = |hash: &str| history.workspace.blobs.get(hash);
    let why = "it was not kept: what was ignored before is not known, so it may have been there before";
    let answers = ConfinedFiles.restore(history.root(), &since, &kept).unwrap();
    let expected = [
        done(".gitignore"),
        refused("new", why),
        refused("secret", why),
        done("sub/.gitignore"),
        refused("sub/own", why),
    ];
    assert_eq!(answers, expected);
    history.changes = changes;
    assert_eq!(
        history.undo(),
        [
            (".gitignore".to_owned(), Restored::Unchanged),
            done("new"),
            ("sub/.gitignore".to_owned(), Restored::Unchanged)
        ]
    );
    assert_eq!(history.tree(), before);
}
