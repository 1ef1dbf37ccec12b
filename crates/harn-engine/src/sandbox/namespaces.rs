//! Namespaces: the command's own view of processes, of the network, of `/tmp`, and of `.harn`.
//!
//! It takes two processes. The first enters new namespaces and starts the second, which is then the first process of
//! the new process namespace; with its end the kernel ends all others. The second arranges the mounts, and then enters
//! one more user namespace, in which the command has no power over the mounts.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};
use nix::sys::statvfs::{FsFlags, statvfs};
use nix::unistd::{getegid, geteuid};
use serde::{Deserialize, Serialize};

use super::paths::Lists;
use crate::guard::Network;

/// Who we are outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Ids {
    pub(crate) user: u32,
    group: u32,
}

impl Ids {
    pub(crate) fn current() -> Self {
        Self { user: geteuid().as_raw(), group: getegid().as_raw() }
    }
}

/// The folders that a command gets in place of the machine's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Rooms {
    pub(crate) tmp: PathBuf,
    pub(crate) run: PathBuf,
}

/// Enters new namespaces. The next process that is started is the first of the new process namespace. Once this has
/// failed, this process is of no use any more.
pub(crate) fn enter(network: Network, ids: Ids) -> Result<(), String> {
    knows_owner(ids)?;
    let mut flags = CloneFlags::CLONE_NEWUSER
        | CloneFlags::CLONE_NEWNS
        | CloneFlags::CLONE_NEWPID
        | CloneFlags::CLONE_NEWIPC;
    if network == Network::Closed {
        flags |= CloneFlags::CLONE_NEWNET;
    }
    unshare(flags).map_err(|error| format!("new namespaces were refused: {}", error.desc()))?;
    // As root of the namespace, so that the rights to mount outlast the start of the next program.
    become_user(Ids { user: 0, group: 0 }, ids)
}

/// In a namespace that knows one user, root has no power over the files of others. In a workspace that is theirs, such
/// as one of the host in a container, it could not write.
fn knows_owner(ids: Ids) -> Result<(), String> {
    let owner = fs::metadata(".").map_err(|error| format!("the workspace cannot be found: {error}"))?.uid();
    if ids.user == 0 && owner != 0 {
        return Err(format!("Harn runs as root, and the workspace belongs to user {owner}"));
    }
    Ok(())
}

fn become_user(inside: Ids, outside: Ids) -> Result<(), String> {
    let maps = [
        ("setgroups", "deny".to_owned()),
        ("uid_map", format!("{} {} 1", inside.user, outside.user)),
        ("gid_map", format!("{} {} 1", inside.group, outside.group)),
    ];
    for (file, map) in maps {
        let path = format!("/proc/self/{file}");
        fs::write(&path, map)
            .map_err(|error| format!("a user namespace cannot be set up: {path}: {error}"))?;
    }
    Ok(())
}

/// What a command is to see.
pub(crate) struct View<'a> {
    pub(crate) root: &'a Path,
    pub(crate) rooms: &'a Rooms,
    /// Folders that look empty, besides `.harn`.
    pub(crate) hidden: &'a [PathBuf],
    pub(crate) lists: &'a Lists,
}

/// Arranges the mounts and gives up the power over them. Gives the folder for temporary files and what could not be
/// arranged. An error means that nothing may be run here.
pub(crate) fn arrange(view: &View<'_>, threads: u64, ids: Ids) -> Result<(PathBuf, Vec<String>), String> {
    let mut notes = Vec::new();
    mount_at(None, Path::new("/"), None, MsFlags::MS_REC | MsFlags::MS_PRIVATE, None)?;
    let temporary = view.private_folders(&mut notes)?;
    // Where we are is still the folder under the old mounts.
    std::env::set_current_dir(view.root).map_err(|error| failed("enter", view.root, &error))?;
    view.protect_state()?;
    let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC;
    match mount_at(Some("proc"), Path::new("/proc"), Some("proc"), flags, None) {
        Ok(()) => limit_threads(threads),
        Err(why) => notes.push(format!("Processes outside of the sandbox can be listed: {why}.")),
    }
    unshare(CloneFlags::CLONE_NEWUSER)
        .map_err(|error| format!("a second user namespace was refused: {}", error.desc()))?;
    become_user(ids, Ids { user: 0, group: 0 })?;
    Ok((temporary, notes))
}

impl View<'_> {
    /// `/tmp`, `/run` and `/dev/shm` of its own. Gives the folder for temporary files.
    fn private_folders(&self, notes: &mut Vec<String>) -> Result<PathBuf, String> {
        let keep = self.kept();
        let mut temporary = self.rooms.tmp.clone();
        let mut places = [("/run", &self.rooms.run), ("/tmp", &self.rooms.tmp)];
        // What the rooms themselves are in comes last, or the other room would not be found.
        places.sort_by_key(|(target, room)| room.starts_with(target));
        for (target, room) in places {
            if Path::new(target).starts_with(self.root) {
                notes.push(format!("`{target}` is in the workspace, so it is not private."));
            } else if replace(Path::new(target), room, &keep)? && target == "/tmp" {
                temporary = PathBuf::from(target);
            }
        }
        let memory = Path::new("/dev/shm");
        if memory.is_dir() && !memory.starts_with(self.root) && !self.root.starts_with(memory) {
            let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV;
            mount_at(Some("tmpfs"), memory, Some("tmpfs"), flags, Some("size=256m,mode=1777"))?;
        }
        Ok(temporary)
    }

    /// What stays in its place. Rules for files cannot close again what is below a folder that they have opened, such
    /// as `/tmp`; mounts can.
    fn kept(&self) -> Vec<Kept<'_>> {
        let Lists { read, write, .. } = self.lists;
        let writable = |path: &PathBuf| write.iter().any(|open| path.starts_with(open));
        let closed = read.iter().filter(|path| !writable(path)).map(|path| Kept::ReadOnly(path));
        write.iter().map(|path| Kept::Writable(path)).chain(closed).collect()
    }

    fn protect_state(&self) -> Result<(), String> {
        for folder in [self.root.join(".harn")].iter().chain(self.hidden).filter(|folder| folder.is_dir()) {
            empty(folder)?;
        }
        let settings = self.root.join("harn.toml");
        if !settings.is_file() {
            return Ok(());
        }
        bind(&settings, &settings)?;
        close(&settings)
    }
}

/// The numbers of processes are counted for each namespace since Linux 6.14, and before for the whole machine, where
/// they are none of our business.
fn limit_threads(threads: u64) {
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    if version(&release) >= Some((6, 14)) {
        // The kernel wants more than 300. Where it is refused, the guardian's looks are what there is.
        let _ = fs::write("/proc/sys/kernel/pid_max", threads.clamp(512, 4_194_304).to_string());
    }
}

/// The first two numbers of a release such as `6.14.0-rc1`.
fn version(release: &str) -> Option<(u32, u32)> {
    let mut numbers = release.trim().split(|sign: char| !sign.is_ascii_digit());
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

enum Kept<'a> {
    Writable(&'a Path),
    ReadOnly(&'a Path),
}

/// Puts `room` in the place of a folder of the system, with those of `keep` in it that were there before. Says
/// whether there was something to replace.
fn replace(target: &Path, room: &Path, keep: &[Kept<'_>]) -> Result<bool, String> {
    if !target.is_dir() || target.is_symlink() {
        return Ok(false);
    }
    for kept in keep {
        let (Kept::Writable(path) | Kept::ReadOnly(path)) = kept;
        let Ok(below) = path.strip_prefix(target) else { continue };
        if !path.exists() {
            continue;
        }
        let place = room.join(below);
        make_place(path, &place).map_err(|error| failed("make", &place, &error))?;
        bind(path, &place)?;
        if let Kept::ReadOnly(_) = kept {
            close(&place)?;
        }
    }
    bind(room, target)?;
    Ok(true)
}

/// Something of the same kind to mount over; it may be there from a folder that was kept before.
fn make_place(like: &Path, place: &Path) -> io::Result<()> {
    if like.is_dir() {
        return fs::create_dir_all(place);
    }
    place.parent().map_or(Ok(()), fs::create_dir_all)?;
    fs::OpenOptions::new().create(true).append(true).open(place).map(drop)
}

fn bind(source: &Path, target: &Path) -> Result<(), String> {
    mount(Some(source), target, None::<&str>, MsFlags::MS_BIND | MsFlags::MS_REC, None::<&str>)
        .map_err(|error| failed("mount", target, &error.into()))
}

/// Covers a folder with one that is empty and cannot be written.
fn empty(folder: &Path) -> Result<(), String> {
    let flags = MsFlags::MS_RDONLY | MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC;
    mount_at(Some("tmpfs"), folder, Some("tmpfs"), flags, Some("size=4k,mode=555"))
}

/// Takes from a mount the right to write.
fn close(file: &Path) -> Result<(), String> {
    // What the mount had refused before cannot be allowed by a namespace, so it has to be said again.
    let had = statvfs(file).map_err(|error| failed("look at", file, &error.into()))?.flags();
    let again = [
        (FsFlags::ST_NOSUID, MsFlags::MS_NOSUID),
        (FsFlags::ST_NODEV, MsFlags::MS_NODEV),
        (FsFlags::ST_NOEXEC, MsFlags::MS_NOEXEC),
        (FsFlags::ST_NOATIME, MsFlags::MS_NOATIME),
        (FsFlags::ST_NODIRATIME, MsFlags::MS_NODIRATIME),
        (FsFlags::ST_RELATIME, MsFlags::MS_RELATIME),
    ];
    let kept = again.iter().filter(|(flag, _)| had.contains(*flag)).map(|(_, flag)| *flag);
    let flags =
        kept.fold(MsFlags::MS_BIND | MsFlags::MS_REMOUNT | MsFlags::MS_RDONLY, |all, flag| all | flag);
    mount_at(None, file, None, flags, None)
}

fn mount_at(
    source: Option<&str>,
    target: &Path,
    kind: Option<&str>,
    flags: MsFlags,
    options: Option<&str>,
) -> Result<(), String> {
    mount(source, target, kind, flags, options).map_err(|error| failed("mount", target, &error.into()))
}

fn failed(what: &str, path: &Path, error: &io::Error) -> String {
    format!("the sandbox could not {what} `{}`: {error}", path.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_of_the_kernel_is_read_from_its_release() {
        let cases = [
            ("6.18.44-fc\n", Some((6, 18))),
            ("5.4", Some((5, 4))),
            ("6", None),
            ("", None),
            ("next-2025", None),
        ];
        for (release, found) in cases {
            assert_eq!(version(release), found, "{release}");
        }
    }
}
