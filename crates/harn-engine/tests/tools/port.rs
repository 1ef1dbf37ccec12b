//! The workspace files as the harness sees them, with the error codes of spec 001.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;

use harn_core::ports::{FileContent, FileEntry, FileKind, FileWritten, WorkspaceFiles};
use harn_core::{Code, Error};
use harn_engine::tools::ConfinedFiles;

use crate::kit::Workspace;

fn fault(error: Error) -> (Code, Option<String>) {
    (error.code, error.param)
}

fn entry(name: &str, path: &str, kind: FileKind, size: u64) -> FileEntry {
    FileEntry { name: name.into(), path: path.into(), kind, size }
}

#[test]
fn files_are_written_read_and_listed() {
    let workspace = Workspace::new();
    let root = workspace.root().to_str().unwrap();
    let written = |before: Option<&'static str>, bytes| FileWritten {
        path: "sub/a.txt".into(),
        before: before.map(Into::into),
        bytes,
    };
    assert_eq!(ConfinedFiles.write(root, "sub/a.txt", "one"), Ok(written(None, 3)));
    assert_eq!(ConfinedFiles.write(root, "sub/../sub/a.txt", "three"), Ok(written(Some("one"), 5)));
    assert_eq!(ConfinedFiles.read(root, "sub/a.txt"), Ok(FileContent::File { text: "three".into() }));

    fs::create_dir(workspace.path("sub/deep")).unwrap();
    fs::create_dir(workspace.path(".harn")).unwrap();
    symlink("a.txt", workspace.path("sub/link")).unwrap();
    symlink("/etc", workspace.path("sub/out")).unwrap();
    let below = vec![
        entry("a.txt", "sub/a.txt", FileKind::File, 5),
        entry("deep", "sub/deep", FileKind::Directory, 0),
        entry("link", "sub/link", FileKind::File, 5),
    ];
    assert_eq!(ConfinedFiles.read(root, "sub"), Ok(FileContent::Directory { entries: below }));
    let top = vec![entry("sub", "sub", FileKind::Directory, 0)];
    assert_eq!(ConfinedFiles.read(root, "."), Ok(FileContent::Directory { entries: top }));
}

#[test]
fn refusals_have_the_codes_of_the_specification() {
    let workspace = Workspace::new();
    let root = workspace.root().to_str().unwrap();
    workspace.put("binary", [0xff]);
    workspace.put("large", "x".repeat(8 * 1024 * 1024 + 1));
    symlink("/etc", workspace.path("out")).unwrap();
    let path = || Some("path".to_owned());
    let cases = [
        ("../x", Code::InvalidRequest),
        ("/etc/passwd", Code::InvalidRequest),
        ("out/passwd", Code::InvalidRequest),
        ("", Code::InvalidRequest),
        ("binary", Code::InvalidRequest),
        ("absent", Code::ResourceNotFound),
        (".harn/x", Code::PermissionDenied),
        ("large", Code::PayloadTooLarge),
    ];
    for (asked, code) in cases {
        assert_eq!(fault(ConfinedFiles.read(root, asked).unwrap_err()), (code, path()), "{asked:?}");
    }
    for asked in ["../x", "/etc/x", "out/x", ".harn/x", "out"] {
        assert!(ConfinedFiles.write(root, asked, "x").is_err(), "{asked}");
    }
}

#[test]
fn a_root_is_an_existing_folder_in_its_true_spelling() {
    let workspace = Workspace::new();
    let root = workspace.root().to_str().unwrap();
    workspace.put("file", "");
    symlink(workspace.root(), workspace.outside("alias")).unwrap();
    let alias = workspace.outside("alias");
    assert_eq!(ConfinedFiles.canonical_root(alias.to_str().unwrap()), Ok(root.to_owned()));

    let invalid = (Code::InvalidRequest, Some("root".to_owned()));
    for wrong in [format!("{root}/file"), format!("{root}/absent"), "relative".into(), "harn://x".into()] {
        assert_eq!(fault(ConfinedFiles.canonical_root(&wrong).unwrap_err()), invalid, "{wrong}");
    }
    let absent = format!("{root}/absent");
    assert_eq!(fault(ConfinedFiles.read(&absent, "a").unwrap_err()), invalid);
    assert_eq!(fault(ConfinedFiles.restore(&absent, &[], &|_| None).unwrap_err()), invalid);
    assert_eq!(fault(ConfinedFiles.changes_since(&absent, &BTreeMap::new()).unwrap_err()), invalid);
}
