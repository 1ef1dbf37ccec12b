//! The processes below this one, as `/proc` shows them.

use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::process;

/// A living process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Process {
    pub(super) pid: i32,
    /// Its process group. All members of a group are in one session.
    pub(super) group: i32,
}

/// Every living descendant of this process. Exact but for what forks while we look, at the price of a look at every
/// process of the machine.
pub(super) fn descendants() -> Vec<Process> {
    let mut children: HashMap<i32, Vec<Process>> = HashMap::new();
    for (process, parent) in running_processes() {
        children.entry(parent).or_default().push(process);
    }
    let mut found = Vec::new();
    let mut next = vec![own_pid()];
    while let Some(parent) = next.pop() {
        let below = children.remove(&parent).unwrap_or_default();
        next.extend(below.iter().map(|process| process.pid));
        found.extend(below);
    }
    found
}

fn own_pid() -> i32 {
    process::id().cast_signed()
}

/// Every process with its parent, but for those that are dead and wait to be reaped: their children have been handed
/// on already.
fn running_processes() -> impl Iterator<Item = (Process, i32)> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| {
        let pid = entry.file_name().to_str()?.parse().ok()?;
        let stat = Stat::of(pid)?;
        Some((Process { pid, group: stat.group }, stat.parent))
    })
}

/// What the descendants of this process use together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Usage {
    pub(super) processes: u64,
    /// Pages of memory, counted for each process that has them.
    pub(super) pages: u64,
    /// The process groups that were seen.
    pub(super) groups: BTreeSet<i32>,
}

/// Follows the lists of children where the kernel has them, which costs nothing for the rest of the machine. It may
/// miss what is born or dies meanwhile; the next look finds it. It stops looking at `enough` processes. Those that are
/// dead and wait to be reaped count too: they are what a fork bomb mostly consists of.
pub(super) fn usage(enough: u64) -> Usage {
    let mut usage = Usage::default();
    let Some(mut next) = children_of(own_pid()) else {
        let found = descendants();
        let pages = found.iter().filter_map(|process| Stat::of(process.pid)).map(|stat| stat.pages).sum();
        let groups = found.iter().map(|process| process.group).collect();
        return Usage { processes: found.len() as u64, pages, groups };
    };
    usage.processes = next.len() as u64;
    while let Some(pid) = next.pop() {
        if usage.processes > enough {
            break;
        }
        if let Some(stat) = Stat::of(pid) {
            usage.pages += stat.pages;
            usage.groups.insert(stat.group);
        }
        let children = children_of(pid).unwrap_or_default();
        usage.processes += children.len() as u64;
        next.extend(children);
    }
    usage
}

/// The children of all threads of a process; none where the kernel does not list them.
fn children_of(pid: i32) -> Option<Vec<i32>> {
    let mut children = Vec::new();
    for thread in fs::read_dir(format!("/proc/{pid}/task")).ok()?.flatten() {
        let list = fs::read_to_string(thread.path().join("children")).ok()?;
        children.extend(list.split_ascii_whitespace().filter_map(|pid| pid.parse::<i32>().ok()));
    }
    Some(children)
}

/// How many threads a user runs, in all processes.
pub(super) fn threads_of(user: u32) -> u64 {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let theirs = entries.filter(|entry| entry.metadata().is_ok_and(|found| found.uid() == user));
    theirs.filter_map(|entry| Some(Stat::of(entry.file_name().to_str()?.parse().ok()?)?.threads)).sum()
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stat {
    parent: i32,
    group: i32,
    threads: u64,
    pages: u64,
}

impl Stat {
    fn of(pid: i32) -> Option<Self> {
        let line = fs::read(format!("/proc/{pid}/stat")).ok()?;
        Self::parse(&String::from_utf8_lossy(&line))
    }

    /// A line of `/proc/PID/stat`. The name in it may contain anything, also blanks and brackets.
    fn parse(line: &str) -> Option<Self> {
        let (_, rest) = line.rsplit_once(')')?;
        let mut fields = rest.split_ascii_whitespace();
        fields.next().filter(|state| *state != "Z")?;
        let parent = fields.next()?.parse().ok()?;
        let group = fields.next()?.parse().ok()?;
        // The group was the fifth field; these are the 20th and the 24th.
        let threads = fields.nth(14)?.parse().ok()?;
        let pages = fields.nth(3)?.parse().ok()?;
        Some(Self { parent, group, threads, pages })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fields_are_found_behind_any_name() {
        let rest = "7 12 12 0 -1 4 1 0 0 0 0 0 0 0 20 0 5 0 99 4096 321 18446744073709551615";
        let found = Some(Stat { parent: 7, group: 12, threads: 5, pages: 321 });
        let cases = [
            (format!("12 (sh) S {rest}"), found),
            (format!("12 (a) b) R {rest}"), found),
            (format!("12 (dead) Z {rest}"), None),
            ("12 (short) S 7 12".to_owned(), None),
            ("12 (cut".to_owned(), None),
        ];
        for (line, stat) in cases {
            assert_eq!(Stat::parse(&line), stat, "{line}");
        }
    }
}
