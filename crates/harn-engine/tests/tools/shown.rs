//! Images and documents: shown by what they are, whatever they are called, up to a size.

use harn_core::ArtifactKind;
use harn_core::chat::{Media, MediaSource};
use harn_engine::tools::{Prepared, ToolOutput};
use serde_json::json;

use crate::kit::{Workspace, get, object};

const MIB: usize = 1024 * 1024;

async fn read(workspace: &Workspace, path: &str) -> Result<ToolOutput, String> {
    let args = object(json!({ "path": path }));
    let read = get("read_file").perform(&workspace.ctx, &args, Prepared::Ready).await;
    read.map_err(|failure| failure.message)
}

fn beginning(head: &[u8], size: usize) -> Vec<u8> {
    let mut bytes = head.to_vec();
    bytes.resize(size, 0xff);
    bytes
}

#[tokio::test]
async fn an_image_or_a_document_is_attached_and_shown() {
    let workspace = Workspace::new();
    let cases: [(&[u8], usize, &str, &str); 6] = [
        (b"\x89PNG\r\n\x1a\n", 40, "image/png", "image"),
        (b"\xff\xd8\xff\xe0", 40, "image/jpeg", "image"),
        (b"GIF87a", 40, "image/gif", "image"),
        (b"GIF89a", 5 * MIB, "image/gif", "image"),
        (b"RIFF\x10\0\0\0WEBPVP8 ", 40, "image/webp", "image"),
        (b"%PDF-1.7\n%", 20 * MIB, "application/pdf", "document"),
    ];
    for (head, size, mime_type, word) in cases {
        let bytes = beginning(head, size);
        workspace.put("notes.txt", &bytes);
        let output = read(&workspace, "notes.txt").await.unwrap();
        let [attached] = output.attachments.as_slice() else { panic!("one attachment: {mime_type}") };
        let kind = if word == "image" { ArtifactKind::Image } else { ArtifactKind::File };
        assert_eq!((attached.kind, attached.mime_type), (kind, mime_type));
        assert!(attached.bytes == bytes, "{mime_type} is attached as it is");
        let value = json!({
            "path": "notes.txt",
            "content": format!("[{word} shown with this result: {mime_type}, {size} bytes]"),
            "content_artifact": attached.id,
        });
        let source = MediaSource::Artifact(attached.id.clone());
        assert_eq!(output.value, value);
        assert_eq!(output.media, [Media { mime_type: mime_type.into(), source }]);
        assert_eq!(output.changes, []);
    }
}

#[tokio::test]
async fn words_that_begin_like_an_image_are_words() {
    let workspace = Workspace::new();
    for text in ["GIF89a is a format.", "%PDF-1.7 as text é", "RIFF1234WEBP", ""] {
        workspace.put("a.gif", text);
        let output = read(&workspace, "a.gif").await;
        assert_eq!(output, Ok(json!({ "path": "a.gif", "content": text }).into()));
    }
    // A character that is cut in two where the head ends.
    let long = format!("%PDF-{}é and more", "x".repeat(8 * 1024 - 6));
    workspace.put("a.pdf", &long);
    assert_eq!(read(&workspace, "a.pdf").await, Ok(json!({ "path": "a.pdf", "content": long }).into()));
}

#[tokio::test]
async fn what_is_too_large_is_refused_with_a_way_to_make_it_smaller() {
    let workspace = Workspace::new();
    workspace.put("big.png", beginning(b"\x89PNG\r\n\x1a\n", 5 * MIB + 1));
    workspace.put("big.pdf", beginning(b"%PDF-1.7\n%", 20 * MIB + 1));
    let cases = [
        (
            "big.png",
            "`big.png` is an image of 5242881 bytes, and at most 5242880 can be shown. Make a smaller copy, for \
             example with `magick IN -resize 1600x1600 OUT`, and read that.",
        ),
        (
            "big.pdf",
            "`big.pdf` is a PDF of 20971521 bytes, and at most 20971520 can be shown. Read a part of it: take out \
             pages, for example with `qpdf IN --pages . 1-20 -- OUT`, or its text with `pdftotext IN OUT`.",
        ),
    ];
    for (path, message) in cases {
        assert_eq!(read(&workspace, path).await, Err(message.to_owned()));
    }
}
