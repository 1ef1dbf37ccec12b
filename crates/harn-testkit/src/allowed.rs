//! The departures from the public document that our answers may show, each with its reason and source.
//!
//! Every entry must still fit the document: [`apply`] panics on one whose place has gone, so that
//! the table cannot outlive the flaw that it works around.

use serde_json::{Value, json};

/// One departure: what the document says at `at` (a JSON pointer) is read as `change` says.
#[derive(Debug)]
pub struct Allowance {
    pub at: &'static str,
    pub change: Change,
    pub reason: &'static str,
    pub source: &'static str,
}

#[derive(Debug)]
pub enum Change {
    /// Several alternatives may match at once.
    OneOfIsAnyOf,
    /// An enum has one more value, but only in answers with this HTTP status.
    ExtraValue { value: &'static str, status: u16 },
    /// An answer may also come in this media type, whose content the document does not describe.
    ExtraMediaType(&'static str),
    /// An instance of the public receipt schema is accepted as well.
    OrReceiptSchema,
}

pub const ALLOWED: &[Allowance] = &[
    Allowance {
        at: "/components/schemas/Task/allOf/1/properties/input",
        change: Change::OneOfIsAnyOf,
        reason: "JsonObject matches every object, so a complete Message matches twice and oneOf never holds for it",
        source: "openapi-2026-04-25.yaml, Task.input",
    },
    Allowance {
        at: "/components/schemas/SubmitTaskRequest/properties/input",
        change: Change::OneOfIsAnyOf,
        reason: "JsonObject matches every object, so a MessageInput matches twice and oneOf never holds for it",
        source: "openapi-2026-04-25.yaml, SubmitTaskRequest.input",
    },
    Allowance {
        at: "/components/schemas/Memory/allOf/1/properties/content",
        change: Change::OneOfIsAnyOf,
        reason: "JsonObject matches every object, so an ArtifactRefPart matches twice and oneOf never holds for it",
        source: "openapi-2026-04-25.yaml, Memory.content",
    },
    Allowance {
        at: "/components/schemas/Error/properties/code",
        change: Change::ExtraValue { value: "not_implemented", status: 501 },
        reason: "ours, for the operations of the document that we do not serve yet; the document has no code for that",
        source: "harn-core, ErrorCode::NotImplemented; the conformance client accepts 501",
    },
    Allowance {
        at: "/components/schemas/ReceiptWireEnvelope",
        change: Change::OrReceiptSchema,
        reason: "the envelope is a placeholder that requires schema_version; a complete receipt is closed and has no such field",
        source: "agents-protocol.md 1.8, row `Receipt resource`: spec 001 wins for content",
    },
    Allowance {
        at: "/paths/~1v1~1receipts~1{receipt_id}/get/responses/200/content",
        change: Change::ExtraMediaType("application/vnd.harn.receipt+json"),
        reason: "the bare receipt, when the client asks for it",
        source: "agents-protocol.md 1.8, row `Receipt resource`",
    },
    Allowance {
        at: "/paths/~1v1~1receipts~1{receipt_id}/get/responses/200/content",
        change: Change::ExtraMediaType("application/vnd.harn.receipt+cbor"),
        reason: "the bare receipt as an archive, when the client asks for it",
        source: "agents-protocol.md 1.8, row `Receipt resource`, and 2.8",
    },
];

/// The `$id` by which [`Change::OrReceiptSchema`] refers to the receipt schema.
const RECEIPT_SCHEMA: &str = "https://harnlang.com/schemas/agents-protocol/receipt-2026-04-25.schema.json";

/// Rewrites the document so that everything in the table, as far as it concerns `status`, is accepted.
pub(crate) fn apply(document: &mut Value, status: u16) {
    for allowance in ALLOWED {
        let place = document.pointer_mut(allowance.at).unwrap_or_else(|| stale(allowance));
        match allowance.change {
            Change::OneOfIsAnyOf => {
                let object = place.as_object_mut().unwrap_or_else(|| stale(allowance));
                let alternatives = object.remove("oneOf").unwrap_or_else(|| stale(allowance));
                object.insert("anyOf".into(), alternatives);
            }
            Change::ExtraValue { value, status: only } if only == status => {
                let values = place["enum"].as_array_mut().unwrap_or_else(|| stale(allowance));
                values.push(value.into());
            }
            Change::ExtraValue { .. } => {}
            Change::ExtraMediaType(media_type) => {
                let content = place.as_object_mut().unwrap_or_else(|| stale(allowance));
                content.insert(media_type.into(), json!({}));
            }
            Change::OrReceiptSchema => {
                *place = json!({ "anyOf": [place.take(), { "$ref": RECEIPT_SCHEMA }] });
            }
        }
    }
}

fn stale<T>(allowance: &Allowance) -> T {
    panic!("the public document has changed at {}: revisit this allowance: {allowance:?}", allowance.at)
}
