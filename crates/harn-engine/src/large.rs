//! Results that are too large to be shown: the model sees their beginning and end, and the whole becomes an artifact.

use harn_core::ArtifactKind;
use harn_core::run::Attachment;
use serde_json::{Map, Value};

/// What a model is shown of one field. More would crowd out the conversation.
const SHOWN: usize = 48 * 1024;
/// How much of that is the beginning; people and programs put first what matters, and last how it ended.
const HEAD: usize = 36 * 1024;

/// Shortens the large fields of a result. Each leaves a sibling `<field>_artifact` with the id of the whole.
pub fn shorten(value: &mut Value, attachments: &mut Vec<Attachment>) {
    let Value::Object(fields) = value else { return };
    let large: Vec<String> =
        fields.iter().filter(|(_, field)| size(field) > SHOWN).map(|(name, _)| name.clone()).collect();
    for name in large {
        if let Some(id) = shorten_field(fields, &name, attachments) {
            fields.insert(format!("{name}_artifact"), id.into());
        }
    }
}

fn shorten_field(
    fields: &mut Map<String, Value>,
    name: &str,
    attachments: &mut Vec<Attachment>,
) -> Option<String> {
    let field = fields.get_mut(name)?;
    let (kind, mime_type, bytes) = match field {
        Value::String(text) => {
            let whole = std::mem::take(text);
            *text = middle_cut(&whole, HEAD, SHOWN - HEAD);
            (ArtifactKind::Log, "text/plain; charset=utf-8", whole.into_bytes())
        }
        Value::Array(items) => {
            let whole = serde_json::to_vec(items).ok()?;
            let mut room = SHOWN;
            let kept = items.iter().take_while(|item| {
                let fits = size(item) <= room;
                room = room.saturating_sub(size(item));
                fits
            });
            let kept = kept.count();
            let left_out = items.len() - kept;
            items.truncate(kept);
            items.push(format!("[{left_out} more left out]").into());
            (ArtifactKind::Dataset, "application/json", whole)
        }
        _ => return None,
    };
    let id = harn_core::ArtifactId::generate();
    let shown = id.to_string();
    attachments.push(Attachment { id, kind, mime_type, bytes: bytes.into() });
    Some(shown)
}

/// At most so many bytes of the beginning and of the end, and how many are missing between them.
pub fn middle_cut(text: &str, head: usize, tail: usize) -> String {
    if text.len() <= head.saturating_add(tail) {
        return text.to_owned();
    }
    let head = text.floor_char_boundary(head);
    let tail = text.ceil_char_boundary(text.len() - tail);
    format!("{}\n[{} bytes left out]\n{}", &text[..head], tail - head, &text[tail..])
}

fn size(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(size).sum(),
        Value::Object(fields) => fields.iter().map(|(name, field)| name.len() + size(field) + 6).sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) => 8,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_fits_is_left_alone_and_what_does_not_is_kept_whole() {
        let mut small = json!({ "path": "a", "content": "é".repeat(SHOWN / 2), "lines": [1, 2] });
        let (before, mut attachments) = (small.clone(), Vec::new());
        shorten(&mut small, &mut attachments);
        assert_eq!((small, attachments.len()), (before, 0));

        let text = format!("{}{}", "é".repeat(SHOWN), "z");
        let items: Vec<Value> = (0..2000).map(|n| json!({ "line": n, "text": "x".repeat(50) })).collect();
        let mut large = json!({ "path": "a", "content": text, "lines": items });
        shorten(&mut large, &mut attachments);
        let content = large["content"].as_str().unwrap();
        assert!(content.len() < SHOWN + 100 && content.starts_with('é') && content.ends_with('z'));
        assert!(content.contains("bytes left out"), "{}", &content[HEAD - 10..HEAD + 60]);
        let lines = large["lines"].as_array().unwrap();
        assert!(lines.last().unwrap().as_str().unwrap().ends_with("more left out]"), "{:?}", lines.last());
        let whole = |field: &str| {
            let id = large[field].as_str().unwrap();
            attachments.iter().find(|attachment| attachment.id.as_str() == id).unwrap().bytes.clone()
        };
        assert_eq!(whole("content_artifact"), text.as_bytes());
        assert_eq!(serde_json::from_slice::<Vec<Value>>(&whole("lines_artifact")).unwrap(), items);
    }
}
