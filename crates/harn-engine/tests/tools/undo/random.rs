//! Random trees, random tools and commands, and then undo: everything is as it was.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::os::unix::fs::symlink;

use harn_core::ports::Restored;
use serde_json::json;

use super::{Entry, History, Tree, chmod, tree};
use crate::kit::Workspace;

/// A small generator, so that a failing scenario is known by its number.
struct Dice(u64);

impl Dice {
    fn below(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 16) as usize % sides
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }

    fn content(&mut self) -> String {
        let length = self.pick(&[0, 1, 7, 40]);
        (0..length).map(|_| self.pick(&['0', '1', '2', '\n', 'é'])).collect()
    }

    fn file_mode(&mut self) -> u32 {
        self.pick(&[0o644, 0o755, 0o600, 0o444])
    }

    /// A path that may or may not exist, in a folder that may or may not.
    fn path(&mut self, workspace: &Workspace) -> String {
        const NAMES: [&str; 8] = ["a", "b", "c d", ".hidden", "e.log", "ü", "a-b", "f"];
        let tree = tree(workspace.root());
        let folders = tree.iter().filter(|(_, entry)| matches!(entry, Entry::Folder(_)));
        let mut folders = folders.map(|(path, _)| format!("{path}/")).collect::<Vec<_>>();
        folders.push(String::new());
        let folder = self.below(folders.len());
        format!("{}{}", folders[folder], self.pick(&NAMES))
    }

    fn existing(&mut self, workspace: &Workspace) -> Option<String> {
        let tree = tree(workspace.root());
        if tree.is_empty() {
            return None;
        }
        let at = self.below(tree.len());
        tree.into_keys().nth(at)
    }
}

fn is_ignored(path: &str) -> bool {
    path.split('/').any(|name| name.ends_with(".log"))
}

/// What the file system does not allow simply does not happen.
fn mutate(workspace: &Workspace, dice: &mut Dice) {
    let new = workspace.path(&dice.path(workspace));
    let Some(old) = dice.existing(workspace) else { return };
    let old = workspace.path(&old);
    let content = dice.content();
    let _ = match dice.below(11) {
        0 => fs::write(new, content),
        1 => fs::OpenOptions::new().append(true).open(old).and_then(|mut file| file.write_all(b"more")),
        2 => fs::remove_file(old),
        3 if old.is_symlink() => Ok(()),
        3 if old.is_dir() => chmod(&old, dice.pick(&[0o755, 0o700, 0o555])),
        3 => chmod(&old, dice.file_mode()),
        4 => fs::create_dir(new),
        5 => fs::remove_dir_all(old),
        6 => fs::rename(old, new),
        7 => symlink(dice.pick(&["a", "../b", "/etc/hostname", "."]), new),
        8 => fs::remove_file(&old)
            .and_then(|()| fs::create_dir(&old))
            .and_then(|()| fs::write(old.join("in"), content)),
        9 => fs::remove_dir_all(&old).and_then(|()| fs::write(&old, content)),
        _ => fs::write(old, content),
    };
}

fn plant(workspace: &Workspace, dice: &mut Dice) {
    workspace.put(".gitignore", "*.log\n");
    for _ in 0..14 {
        let path = workspace.path(&dice.path(workspace));
        if path.symlink_metadata().is_ok() {
            continue;
        }
        match dice.below(5) {
            0 => symlink(dice.pick(&["a", "../a", "/", "missing"]), path).unwrap(),
            1 | 2 => fs::create_dir(path).unwrap(),
            _ => {
                fs::write(&path, dice.content()).unwrap();
                chmod(&path, dice.file_mode()).unwrap();
            }
        }
    }
    for (path, entry) in tree(workspace.root()) {
        if let Entry::Folder(_) = entry {
            chmod(&workspace.path(&path), dice.pick(&[0o755, 0o755, 0o700, 0o555])).unwrap();
        }
    }
}

async fn scenario(seed: u64) {
    let mut dice = Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let mut history = History::new();
    plant(&history.workspace, &mut dice);
    let before = history.tree();
    for _ in 0..1 + dice.below(6) {
        match dice.below(4) {
            0 => {
                let path = dice.path(&history.workspace);
                let path = if dice.below(3) == 0 { format!("{path}x/deep/er") } else { path };
                history.write("write_file", json!({ "path": path, "content": dice.content() })).await;
            }
            1 => {
                let Some(path) = dice.existing(&history.workspace) else { continue };
                let Ok(text) = fs::read_to_string(history.workspace.path(&path)) else { continue };
                let args = json!({ "path": path, "old_text": text, "new_text": dice.content() });
                history.write("edit_file", args).await;
            }
            _ => {
                let steps = 1 + dice.below(6);
                history.command(|workspace| (0..steps).for_each(|_| mutate(workspace, &mut dice))).await;
            }
        }
    }
    let answers = history.undo();
    let after = history.tree();
    assert_as_before(seed, &before, &after, &answers);
    let again = history.undo();
    assert_eq!(history.tree(), after, "scenario {seed}: the second undo changes nothing");
    for (path, answer) in again {
        let expected = match answers.iter().find(|(known, _)| *known == path) {
            Some((_, Restored::Refused(why))) => Restored::Refused(why.clone()),
            _ => Restored::Unchanged,
        };
        assert_eq!(answer, expected, "scenario {seed}: {path}");
    }
    // So that the folder can be removed by an ordinary user too.
    for (path, entry) in after {
        if let Entry::Folder(_) = entry {
            chmod(&history.workspace.path(&path), 0o755).unwrap();
        }
    }
}

/// Ignored files are where the commands put them, and so are folders that hold them.
fn assert_as_before(seed: u64, before: &Tree, after: &Tree, answers: &[(String, Restored)]) {
    let mut held = BTreeSet::new();
    for (path, answer) in answers {
        match answer {
            // A tool may write there; what a command then does to it is not seen.
            Restored::Refused(_) if is_ignored(path) => {}
            Restored::Refused(why) => {
                assert!(why.starts_with("it holds"), "scenario {seed}: {path}: {why}");
                let below = format!("{path}/");
                let holds = after.keys().any(|known| known.starts_with(&below) && is_ignored(known));
                assert!(holds, "scenario {seed}: {path} holds nothing");
                held.insert(path.clone());
            }
            Restored::Done | Restored::Unchanged => {}
        }
    }
    let compared = |tree: &Tree| -> Tree {
        let mut tree = tree.clone();
        tree.retain(|path, _| !is_ignored(path) && !held.contains(path));
        tree
    };
    assert_eq!(compared(after), compared(before), "scenario {seed}: {answers:#?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whatever_happened_is_undone() {
    let scenarios = (0..250).map(|seed| tokio::spawn(scenario(seed)));
    for scenario in scenarios.collect::<Vec<_>>() {
        scenario.await.unwrap();
    }
}
