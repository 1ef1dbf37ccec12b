//! What a stash does not hold, counted and put into words.

use std::collections::BTreeMap;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Why {
    Large,
    Total,
    TooMany,
    Unread,
    Special,
    NameNotText,
    TargetNotText,
}

#[derive(Debug, Default)]
pub(super) struct LeftOut(BTreeMap<Why, (u64, String)>);

impl LeftOut {
    pub(super) fn add(&mut self, why: Why, path: &str) {
        let (count, _) = self.0.entry(why).or_insert_with(|| (0, path.to_owned()));
        *count += 1;
    }

    /// One sentence per reason, each with the first path as an example.
    pub(super) fn in_words(&self) -> Vec<String> {
        self.0.iter().map(|(why, (count, first))| sentence(*why, *count, first)).collect()
    }
}

fn sentence(why: Why, count: u64, first: &str) -> String {
    let of = |one: &str, many: &str| match count {
        1 => format!("1 {one}: `{first}`."),
        _ => format!("{count} {many}, the first is `{first}`."),
    };
    match why {
        Why::Large => of("file larger than 8 MiB", "files larger than 8 MiB"),
        Why::Total => of("file beyond 256 MiB in all", "files beyond 256 MiB in all"),
        Why::TooMany => format!("Everything after 100,000 entries, from `{first}` on."),
        Why::Unread => of("entry that could not be read", "entries that could not be read"),
        Why::Special => of("pipe, socket or device", "pipes, sockets or devices"),
        Why::NameNotText => match count {
            1 => format!("1 entry whose name is not UTF-8, in `{first}`."),
            _ => format!("{count} entries whose names are not UTF-8, the first in `{first}`."),
        },
        Why::TargetNotText => of("link whose target is not UTF-8", "links whose targets are not UTF-8"),
    }
}
