//! What one command may use up before it is stopped.

use std::fs;

use serde::{Deserialize, Serialize};

const MIB: u64 = 1024 * 1024;
const GIB: u64 = 1024 * MIB;

/// The limits of one command, with everything that it starts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Caps {
    /// Processes at the same time.
    pub processes: u64,
    /// Bytes of memory: the resident sizes of all its processes, added up.
    pub memory: u64,
    /// Bytes on standard output and standard error together.
    pub output: u64,
    /// Bytes in one file.
    pub file_size: u64,
    /// Open files of one process.
    pub open_files: u64,
    /// Bytes that stay free on the file systems of the workspace and of the private folder; none for the smaller of
    /// 256 MiB and 1 % of the file system.
    pub min_free: Option<u64>,
}

impl Default for Caps {
    fn default() -> Self {
        Self {
            processes: 512,
            memory: total_memory().map_or(8 * GIB, |total| (total / 4 * 3).min(8 * GIB)),
            output: 64 * MIB,
            file_size: 4 * GIB,
            open_files: 16 * 1024,
            min_free: None,
        }
    }
}

impl Caps {
    /// What the system allows.
    pub(crate) fn unlimited() -> Self {
        Self {
            processes: u64::MAX,
            memory: u64::MAX,
            output: u64::MAX,
            file_size: u64::MAX,
            open_files: u64::MAX,
            min_free: Some(0),
        }
    }

    /// The kernel counts threads, of which a process may well have several. This is where it refuses to start more,
    /// for a command that is faster than the guardian's looks.
    pub(crate) fn threads(&self) -> u64 {
        self.processes.saturating_mul(8)
    }

    /// A file system of this size keeps so much free. One that is nearly full already may be filled to half of what
    /// is left, or nothing could be run on it, not even what clears it up.
    pub(crate) fn floor(&self, size: u64, free_at_start: u64) -> u64 {
        self.min_free.unwrap_or((size / 100).min(256 * MIB).min(free_at_start / 2))
    }
}

/// Which of them a command went beyond.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stopped {
    Processes,
    Memory,
    Output,
    Disk,
    Time,
}

/// The memory of this machine, in bytes.
fn total_memory() -> Option<u64> {
    let info = fs::read_to_string("/proc/meminfo").ok()?;
    let line = info.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_free_space_that_stays_depends_on_the_file_system() {
        let caps = Caps::default();
        let cases = [
            ("large", 1000 * GIB, 500 * GIB, 256 * MIB),
            ("small", 10 * GIB, 5 * GIB, 10 * GIB / 100),
            ("nearly full", 1000 * GIB, 100 * MIB, 50 * MIB),
            ("full", 1000 * GIB, 0, 0),
        ];
        for (name, size, free, floor) in cases {
            assert_eq!(caps.floor(size, free), floor, "{name}");
        }
        let injected = Caps { min_free: Some(3 * GIB), ..caps };
        assert_eq!(injected.floor(1000 * GIB, 500 * GIB), 3 * GIB);
    }
}
