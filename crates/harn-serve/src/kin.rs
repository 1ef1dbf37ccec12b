//! Who is at the other end of the local socket. Whoever may open its file may use it, except for commands that an
//! agent runs: they have the same rights as we do, and would answer their own requests.

use std::fs;
use std::process;

use tokio::net::UnixStream;

/// More generations than any honest process has.
const MAX_GENERATIONS: usize = 256;

/// Whether a connection comes from a process that descends from this one. A peer that cannot be traced counts as one.
pub fn is_descendant(stream: &UnixStream) -> bool {
    let ourselves = process::id();
    let Some(peer) = stream.peer_cred().ok().and_then(|peer| peer.pid()) else { return true };
    let Ok(mut pid) = u32::try_from(peer) else { return true };
    // This process itself may connect: it is nobody's agent.
    if pid == ourselves {
        return false;
    }
    for _ in 0..MAX_GENERATIONS {
        match parent(pid) {
            // Beyond init, or in a parent namespace that we cannot see.
            Some(0) => return false,
            Some(found) if found == ourselves => return true,
            Some(found) => pid = found,
            None => return true,
        }
    }
    true
}

/// The parent in `/proc/PID/stat`. The name in it may contain anything, also blanks and brackets.
fn parent(pid: u32) -> Option<u32> {
    let stat = fs::read(format!("/proc/{pid}/stat")).ok()?;
    let stat = String::from_utf8_lossy(&stat);
    let (_, rest) = stat.rsplit_once(')')?;
    rest.split_ascii_whitespace().nth(1)?.parse().ok()
}
