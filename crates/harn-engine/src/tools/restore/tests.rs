//! Undo that is killed between any two of its steps, and done again.

use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use bytes::Bytes;
use harn_core::ports::Restored;
use harn_core::run::{Change, Node};
use tempfile::TempDir;

use super::super::confined::Confined;
use super::super::stash::{changes_since, listed};
use super::hands::STEPS_LEFT;
use super::restore;

/// A workspace after a command that did one of everything.
struct Scene {
    root: TempDir,
    before: BTreeMap<String, Node>,
    blobs: BTreeMap<String, Bytes>,
    changes: Vec<Change>,
}

fn chmod(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

impl Scene {
    fn new() -> Self {
        let root = TempDir::new().unwrap();
        let at = |path: &str| root.path().join(path);
        fs::create_dir_all(at("becomes-file/deep")).unwrap();
        fs::create_dir_all(at("gone/locked")).unwrap();
        fs::create_dir(at("folder-mode")).unwrap();
        let files = [
            "edited",
            "deleted",
            "mode",
            "becomes-folder",
            "becomes-link",
            "becomes-file/deep/er",
            "gone/locked/a",
        ];
        files.iter().for_each(|path| fs::write(at(path), path).unwrap());
        symlink("edited", at("link")).unwrap();
        chmod(&at("gone/locked"), 0o555);
        let workspace = Confined::open(root.path()).unwrap();
        let (before, blobs) = listed(&workspace);

        fs::write(at("edited"), "other").unwrap();
        fs::remove_file(at("deleted")).unwrap();
        chmod(&at("mode"), 0o755);
        chmod(&at("folder-mode"), 0o500);
        fs::remove_file(at("becomes-folder")).unwrap();
        fs::create_dir_all(at("becomes-folder/new")).unwrap();
        fs::write(at("becomes-folder/new/file"), "new").unwrap();
        chmod(&at("becomes-folder/new"), 0o500);
        fs::remove_file(at("becomes-link")).unwrap();
        symlink("/etc", at("becomes-link")).unwrap();
        fs::remove_dir_all(at("becomes-file")).unwrap();
        symlink("edited", at("becomes-file")).unwrap();
        chmod(&at("gone/locked"), 0o755);
        fs::remove_dir_all(at("gone")).unwrap();
        fs::write(at("gone"), "now a file").unwrap();
        fs::remove_file(at("link")).unwrap();
        fs::create_dir(at("link")).unwrap();
        let changes = changes_since(&workspace, &before).unwrap();
        Self { root, before, blobs, changes }
    }

    fn workspace(&self) -> Confined {
        Confined::open(self.root.path()).unwrap()
    }

    fn undo(&self) -> Vec<(String, Restored)> {
        restore(&self.workspace(), &self.changes, &|hash| self.blobs.get(hash).cloned())
    }
}

#[test]
fn undo_that_was_killed_anywhere_is_finished_by_the_next_one() {
    let mut survived = 0;
    for steps in 0.. {
        let scene = Scene::new();
        STEPS_LEFT.set(steps);
        let first = scene.undo();
        STEPS_LEFT.set(u64::MAX);
        let second = scene.undo();
        let is_refused = |(_, restored): &(String, Restored)| matches!(restored, Restored::Refused(_));
        assert!(!second.iter().any(is_refused), "killed after {steps} steps: {second:#?}");
        let (after, _) = listed(&scene.workspace());
        assert_eq!(after, scene.before, "killed after {steps} steps");
        if !first.iter().any(is_refused) {
            break;
        }
        survived += 1;
    }
    assert!(survived > 30, "only {survived} steps were tried");
}
