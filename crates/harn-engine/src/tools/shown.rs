//! Files that are shown rather than read: images and PDF documents, told by how they begin.

use std::io::{Read, Seek};

use cap_std::fs::File;
use harn_core::ArtifactId;
use harn_core::chat::{Media, MediaSource};
use harn_core::resource::ArtifactKind;
use harn_core::run::Attachment;
use serde_json::json;

use super::confined::{Refusal, read_whole};
use super::{ToolFailure, ToolOutput};
use crate::media::{MediaKind, recognise};

/// So much of a file tells what it is.
const HEAD: u64 = 8 * 1024;

/// The result of showing a file; none for one that is text or nothing that can be shown, which is then at its
/// beginning again.
pub(super) fn show_medium(path: &str, file: &mut File) -> Result<Option<ToolOutput>, ToolFailure> {
    let mut head = Vec::new();
    file.by_ref().take(HEAD).read_to_end(&mut head).map_err(Refusal::io(path))?;
    file.rewind().map_err(Refusal::io(path))?;
    let Some((_, kind)) = recognise(&head).filter(|_| !is_text(&head)) else { return Ok(None) };
    let size = file.metadata().map_err(Refusal::io(path))?.len();
    if size > kind.limit() {
        return Err(too_large(path, kind, size));
    }
    let again = file.try_clone().map_err(Refusal::io(path))?;
    let bytes = read_whole(again, path, kind.limit())?;
    // It may have been written to since.
    let (mime_type, kind) = recognise(&bytes).ok_or_else(|| Refusal::NotText { path: path.to_owned() })?;
    let id = ArtifactId::generate();
    let content = format!("[{} shown with this result: {mime_type}, {} bytes]", kind.as_str(), bytes.len());
    let media = vec![Media { mime_type: mime_type.into(), source: MediaSource::Artifact(id.clone()) }];
    let value = json!({ "path": path, "content": content, "content_artifact": id });
    let kind = match kind {
        MediaKind::Image => ArtifactKind::Image,
        MediaKind::Document => ArtifactKind::File,
    };
    let attachments = vec![Attachment { id, kind, mime_type, bytes: bytes.into() }];
    Ok(Some(ToolOutput { attachments, media, ..value.into() }))
}

/// Words that happen to begin like an image or a PDF are read as words, and so stay under redaction.
fn is_text(head: &[u8]) -> bool {
    // A character that the end of the head cuts in two is no fault.
    str::from_utf8(head).err().is_none_or(|fault| fault.error_len().is_none())
}

fn too_large(path: &str, kind: MediaKind, size: u64) -> ToolFailure {
    let limit = kind.limit();
    ToolFailure::new(match kind {
        MediaKind::Image => format!(
            "`{path}` is an image of {size} bytes, and at most {limit} can be shown. Make a smaller copy, for example \
             with `magick IN -resize 1600x1600 OUT`, and read that."
        ),
        MediaKind::Document => format!(
            "`{path}` is a PDF of {size} bytes, and at most {limit} can be shown. Read a part of it: take out pages, \
             for example with `qpdf IN --pages . 1-20 -- OUT`, or its text with `pdftotext IN OUT`."
        ),
    })
}
