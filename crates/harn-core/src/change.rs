//! What a run does to files: described before it happens, recorded when it has, enough to be undone.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::resource::ArtifactKind;
use crate::{ArtifactId, SessionId, TaskId};

/// What is known before an effect begins, for reconciliation and for undo.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Plan {
    Write(WritePlan),
    Stash(Stash),
}

/// A file write, described before it happens: the bytes before (kept as a blob) and the hash after.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WritePlan {
    pub path: String,
    /// Hash of the pre-image, also its blob; none when the file did not exist.
    pub before: Option<String>,
    pub after: String,
    /// Permission bits of the file before; none when it did not exist.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<u32>,
    /// Folders that the write makes, outermost first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub new_folders: Vec<String>,
}

impl WritePlan {
    /// What the write changes, once it is done: the folders that it makes, then the file.
    pub fn changes(&self) -> Vec<Change> {
        let folders = self.new_folders.iter().map(|path| Change {
            path: path.clone(),
            before: None,
            after: Some(Node::Folder { mode: ANY_MODE }),
        });
        let mode = self.mode.unwrap_or(ANY_MODE);
        let before = self.before.clone().map(|hash| Node::File { hash, mode, size: 0 });
        let after = Some(Node::File { hash: self.after.clone(), mode: ANY_MODE, size: 0 });
        folders.chain([Change { path: self.path.clone(), before, after }]).collect()
    }
}

/// Permission bits that a plan does not know: neither compared nor put back, and never journaled.
pub const ANY_MODE: u32 = u32::MAX;

/// The workspace before a command: everything that is not ignored, up to a size.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stash {
    /// Hash of the blob that lists it: a JSON object from path to [`Node`].
    pub listing: String,
    pub entries: u64,
    /// What was left out and why, in words; the listing has each such path as [`Node::NotKept`] where it is known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<String>,
}

/// What was at a path: enough to put it back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Node {
    /// `hash` is also the blob of its bytes, if it is a node from before.
    File {
        hash: String,
        mode: u32,
        size: u64,
    },
    Symlink {
        target: String,
    },
    Folder {
        mode: u32,
    },
    /// There, but its content is not in our hands. `size` and `modified_ns` tell whether it changed.
    NotKept {
        why: String,
        mode: u32,
        size: u64,
        modified_ns: i64,
    },
}

/// What happened to one path of the workspace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    pub path: String,
    pub before: Option<Node>,
    pub after: Option<Node>,
}

/// Content that is too large for a result, or no text. It becomes an artifact of the task.
#[derive(Clone, Debug, PartialEq)]
pub struct Attachment {
    pub id: ArtifactId,
    pub kind: ArtifactKind,
    pub mime_type: &'static str,
    pub bytes: bytes::Bytes,
}

/// The write-capable side of a run, in spec 000's words: what groups its changes for audit and undo.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MutationSession {
    pub session_id: SessionId,
    pub parent_session_id: Option<SessionId>,
    pub run_id: TaskId,
    pub worker_id: Option<String>,
    pub execution_kind: String,
    pub mutation_scope: MutationScope,
    pub approval_policy: Value,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MutationScope {
    ReadOnly,
    ApplyWorkspace,
}
