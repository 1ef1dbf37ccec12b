//! Images and documents of a conversation: what counts as one, how much of them a call carries, and their content.
//!
//! A program only ever holds references. Their content is put in right before a call and nowhere else, so neither a
//! journal nor a program grows with what people and tools show.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use harn_core::ArtifactId;
use harn_core::chat::{ChatMessage, Media, MediaSource};
use harn_core::ports::RunPort;

const MIB: u64 = 1024 * 1024;
/// For all media of one call, in base64: providers count what is sent.
const MAX_SENT: u64 = 30 * MIB;
/// How many references one call looks at, the newest first.
const MAX_LOOKED_AT: usize = 100;
/// The type of a reference that does not say what it leads to; its record does.
pub const UNKNOWN: &str = "application/octet-stream";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MediaKind {
    Image,
    Document,
}

impl MediaKind {
    /// The most bytes that one may have.
    pub fn limit(self) -> u64 {
        match self {
            Self::Image => 5 * MIB,
            Self::Document => 20 * MIB,
        }
    }

    /// With its article, for sentences.
    fn one(self) -> &'static str {
        match self {
            Self::Image => "an image",
            Self::Document => "a document",
        }
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Image => "image",
            Self::Document => "document",
        }
    }

    /// What a type that providers take stands for.
    pub fn of(mime_type: &str) -> Option<Self> {
        let essence = mime_type.split(';').next().unwrap_or_default().trim();
        match essence.to_ascii_lowercase().as_str() {
            "image/png" | "image/jpeg" | "image/gif" | "image/webp" => Some(Self::Image),
            "application/pdf" => Some(Self::Document),
            _ => None,
        }
    }
}

/// The type of content by how it begins. Names and declared types can be wrong, and providers check.
pub fn recognise(head: &[u8]) -> Option<(&'static str, MediaKind)> {
    let mime_type = match head {
        [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => "image/png",
        [0xff, 0xd8, 0xff, ..] => "image/jpeg",
        [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => "image/gif",
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => "image/webp",
        [b'%', b'P', b'D', b'F', b'-', ..] => "application/pdf",
        _ => return None,
    };
    MediaKind::of(mime_type).map(|kind| (mime_type, kind))
}

/// The word for a medium in a line of text.
pub fn word(mime_type: &str) -> &'static str {
    match MediaKind::of(mime_type) {
        Some(kind) => kind.as_str(),
        None if mime_type.starts_with("image/") => MediaKind::Image.as_str(),
        None => "artifact",
    }
}

/// The conversation with the content of its media. Older ones give way to newer ones, and one that cannot be shown to
/// a line that says why: the call goes on.
pub async fn fill(port: &dyn RunPort, messages: Arc<Vec<ChatMessage>>) -> Arc<Vec<ChatMessage>> {
    if !messages.iter().any(|message| message.media().iter().any(is_reference)) {
        return messages;
    }
    let mut messages = Arc::unwrap_or_clone(messages);
    let mut room = Room { bytes: MAX_SENT, looks: MAX_LOOKED_AT };
    for message in messages.iter_mut().rev() {
        let (ChatMessage::User { text, media } | ChatMessage::Tool { output: text, media, .. }) = message
        else {
            continue;
        };
        let mut notes = Vec::new();
        let mut shown = Vec::new();
        for medium in std::mem::take(media).into_iter().rev() {
            let MediaSource::Artifact(id) = &medium.source else {
                shown.push(medium);
                continue;
            };
            match content(port, id, &medium.mime_type, &mut room).await {
                Ok(medium) => shown.extend(medium),
                Err(why) => notes.push(format!(
                    "[{} {id} is not available: {}]",
                    word(&medium.mime_type),
                    why.sentence()
                )),
            }
        }
        shown.reverse();
        *media = shown;
        for note in notes.iter().rev() {
            if !text.is_empty() {
                text.push('\n');
            }
            text.push_str(note);
        }
    }
    Arc::new(messages)
}

fn is_reference(medium: &Media) -> bool {
    matches!(medium.source, MediaSource::Artifact(_))
}

/// What is left for older media.
struct Room {
    bytes: u64,
    looks: usize,
}

/// Why a medium is not shown.
enum Unavailable {
    NotSeen,
    Empty,
    Unreadable,
    TooLarge { kind: MediaKind, size: u64 },
    Unknown,
    NoRoom,
}

impl Unavailable {
    fn sentence(&self) -> String {
        match self {
            Self::NotSeen => "there is no such artifact in this run's workspace".into(),
            Self::Empty => "nothing was uploaded to it".into(),
            Self::Unreadable => "it could not be read just now".into(),
            Self::TooLarge { kind, size } => {
                format!("it has {size} bytes, and {} may have at most {}", kind.one(), kind.limit())
            }
            Self::Unknown => "its content is not PNG, JPEG, GIF, WebP or PDF".into(),
            Self::NoRoom => "newer images and documents have taken the room of this call".into(),
        }
    }
}

/// The medium with its content; none for an artifact of another type, which nobody promised to show.
async fn content(
    port: &dyn RunPort,
    id: &ArtifactId,
    declared: &str,
    room: &mut Room,
) -> Result<Option<Media>, Unavailable> {
    room.looks = room.looks.checked_sub(1).ok_or(Unavailable::NoRoom)?;
    let record = port.artifact_record(id).await.map_err(|_| Unavailable::Unreadable)?;
    let record = record.ok_or(Unavailable::NotSeen)?;
    let expected = MediaKind::of(&record.mime_type);
    if expected.is_none() && declared == UNKNOWN {
        return Ok(None);
    }
    let size = record.size_bytes.ok_or(Unavailable::Empty)?;
    fits(expected.unwrap_or(MediaKind::Document), size, room)?;
    let bytes = port.artifact(id).await.map_err(|_| Unavailable::Unreadable)?.ok_or(Unavailable::Empty)?;
    let (mime_type, kind) = recognise(&bytes).ok_or(Unavailable::Unknown)?;
    fits(kind, bytes.len() as u64, room)?;
    let data = STANDARD.encode(&bytes);
    room.bytes = room.bytes.saturating_sub(data.len() as u64);
    Ok(Some(Media { mime_type: mime_type.to_owned(), source: MediaSource::Data(data) }))
}

fn fits(kind: MediaKind, size: u64, room: &Room) -> Result<(), Unavailable> {
    if size > kind.limit() {
        return Err(Unavailable::TooLarge { kind, size });
    }
    if size.div_ceil(3) * 4 > room.bytes {
        return Err(Unavailable::NoRoom);
    }
    Ok(())
}
