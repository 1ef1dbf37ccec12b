//! Where a path leads: followed link by link, nothing opened.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use harn_core::ports::{Located, WorkspaceFiles};
use harn_engine::tools::ConfinedFiles;
use nix::sys::stat::Mode;
use nix::unistd::mkfifo;

use crate::kit::Workspace;

#[derive(Clone, Copy)]
enum Links {
    None,
    Followed,
}

fn inside(path: &str, links: Links) -> Located {
    let through_link = matches!(links, Links::Followed);
    Located { workspace_path: Some(path.into()), host_path: None, through_link }
}

fn outside(path: impl AsRef<Path>, links: Links) -> Located {
    let host_path = Some(path.as_ref().to_str().unwrap().to_owned());
    Located { workspace_path: None, host_path, through_link: matches!(links, Links::Followed) }
}

fn nowhere(links: Links) -> Located {
    Located { workspace_path: None, host_path: None, through_link: matches!(links, Links::Followed) }
}

fn workspace() -> Workspace {
    let workspace = Workspace::new();
    workspace.put("sub/file", "");
    fs::create_dir(workspace.outside("beside")).unwrap();
    mkfifo(&workspace.path("pipe"), Mode::S_IRWXU).unwrap();
    let link = |to: &str, at: &str| symlink(to, workspace.path(at)).unwrap();
    link("sub", "in");
    link("../sub/file", "sub/around");
    link("../beside", "out");
    link("/etc", "etc");
    link("missing/deep", "dangling");
    link("loop-b", "loop-a");
    link("loop-a", "loop-b");
    link("self/x", "self");
    link(".", "here");
    symlink(workspace.root(), workspace.path("absolute")).unwrap();
    symlink(workspace.root(), workspace.outside("alias")).unwrap();
    workspace
}

#[test]
fn paths_lead_where_the_kernel_would_go() {
    let workspace = workspace();
    let root = workspace.root().to_str().unwrap();
    let beside = workspace.outside("beside");
    let alias = format!("{}/sub/file", workspace.outside("alias").display());
    let long_name = format!("sub/{}", "n".repeat(300));
    let many = "here/".repeat(41);
    let cases = [
        (".", inside(".", Links::None)),
        ("sub", inside("sub", Links::None)),
        ("./sub//file/", inside("sub/file", Links::None)),
        ("sub/../sub/./file", inside("sub/file", Links::None)),
        ("new/deep/../er", inside("new/er", Links::None)),
        ("sub/file/below", inside("sub/file/below", Links::None)),
        ("pipe", inside("pipe", Links::None)),
        ("pipe/x", inside("pipe/x", Links::None)),
        (".harn/x", inside(".harn/x", Links::None)),
        ("~name", inside("~name", Links::None)),
        ("sub/~", inside("sub/~", Links::None)),
        ("in/file", inside("sub/file", Links::Followed)),
        ("in/..", inside(".", Links::Followed)),
        ("sub/around", inside("sub/file", Links::Followed)),
        ("absolute/sub", inside("sub", Links::Followed)),
        ("dangling/x", inside("missing/deep/x", Links::Followed)),
        // What does not exist yet may exist tomorrow, so the link behind it counts.
        ("missing/../in/file", inside("sub/file", Links::Followed)),
        (root, inside(".", Links::None)),
        (&format!("{root}/sub"), inside("sub", Links::None)),
        (&format!("{root}/../workspace/sub"), inside("sub", Links::None)),
        (&alias, inside("sub/file", Links::Followed)),
        ("..", outside(workspace.root().parent().unwrap(), Links::None)),
        ("../beside", outside(&beside, Links::None)),
        ("../workspace2", outside(workspace.outside("workspace2"), Links::None)),
        ("out/x", outside(beside.join("x"), Links::Followed)),
        ("out/../workspace/sub", inside("sub", Links::Followed)),
        ("/", outside("/", Links::None)),
        ("/absent/../../x", outside("/x", Links::None)),
        ("etc/absent", outside(Path::new("/etc").canonicalize().unwrap().join("absent"), Links::Followed)),
        ("", nowhere(Links::None)),
        ("a\0b", nowhere(Links::None)),
        ("loop-a", nowhere(Links::Followed)),
        ("self", nowhere(Links::Followed)),
        (&long_name, nowhere(Links::None)),
        (&"x/".repeat(2049), nowhere(Links::None)),
        (&many, nowhere(Links::Followed)),
        (&many[5..], inside(".", Links::Followed)),
    ];
    for (path, expected) in cases {
        assert_eq!(ConfinedFiles.locate(root, path), expected, "{path:?}");
    }
}

#[test]
fn a_tilde_is_the_home_of_this_process() {
    let workspace = workspace();
    let root = workspace.root().to_str().unwrap();
    let located = |path: &str| ConfinedFiles.locate(root, path);
    match std::env::var("HOME").ok().filter(|home| home.starts_with('/')) {
        Some(home) => {
            assert_eq!(located("~"), located(&home));
            assert_eq!(located("~/"), located(&home));
            assert_eq!(located("~//x/../y"), located(&format!("{home}/y")));
            assert!(located("~/x").host_path.is_some());
        }
        None => assert_eq!(located("~/x"), nowhere(Links::None)),
    }
}

proptest::proptest! {
    #[test]
    fn no_path_is_too_strange(path in "(~|/|\\.|\\.\\.|in|out|self|loop-a|sub|file|\\PC|\\x00| ){0,12}") {
        let workspace = workspace();
        let located = ConfinedFiles.locate(workspace.root().to_str().unwrap(), &path);
        assert!(located.workspace_path.is_none() || located.host_path.is_none());
    }
}
