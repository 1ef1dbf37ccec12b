//! How much a Gemini model is told to think, by family and by what is known of it.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use harn_core::chat::{ChatMessage, ModelRequest, Thinking};
use harn_model::providers::gemini::GeminiCodec;
use harn_model::{Auth, Codec, Target, ThinkingKind};
use serde_json::{Value, json};

fn target(model: &str) -> Target {
    Target::new("google", model, "https://example.invalid", Auth::None)
}

fn told(wanted: Thinking, max_output_tokens: u32, target: &Target) -> Value {
    let hello = support::request(vec![ChatMessage::user("hi")]);
    let request = ModelRequest { thinking: wanted, max_output_tokens, ..hello };
    GeminiCodec.call(&request, target).unwrap().body["generationConfig"]["thinkingConfig"].clone()
}

#[test]
fn thinking_is_told_in_the_way_of_each_family() {
    use Thinking::{Medium, Off};
    let shown = || json!({"includeThoughts": true});
    let budget = |tokens: u32| json!({"thinkingBudget": tokens, "includeThoughts": true});
    let level = |word: &str| json!({"thinkingLevel": word, "includeThoughts": true});
    let off = || json!({"thinkingBudget": 0});
    let free = || json!({"thinkingBudget": -1, "includeThoughts": true});
    let null = || Value::Null;
    let effort = |levels: &[Thinking]| ThinkingKind::Effort { levels: levels.to_vec() };
    let unknown = || ThinkingKind::Unknown;
    // Per case what is told for auto, off, minimal, low, medium, high, xhigh.
    let flash = [free(), off(), budget(1), budget(2048), budget(8192), budget(16_384), budget(24_576)];
    let cases: Vec<(&str, ThinkingKind, [Value; 7])> = vec![
        ("gemini-2.5-flash", unknown(), flash.clone()),
        ("models/gemini-2.5-flash-preview-09-2025", ThinkingKind::Switch, flash.clone()),
        (
            "gemini-2.5-pro",
            unknown(),
            [free(), budget(128), budget(128), budget(2048), budget(8192), budget(16_384), budget(32_768)],
        ),
        (
            "gemini-2.5-flash-lite",
            unknown(),
            [null(), off(), budget(512), budget(2048), budget(8192), budget(16_384), budget(24_576)],
        ),
        (
            "gemini-3-pro-preview",
            unknown(),
            [shown(), level("LOW"), level("LOW"), level("LOW"), level("LOW"), level("HIGH"), level("HIGH")],
        ),
        (
            "gemini-3.1-pro-preview",
            unknown(),
            [
                shown(),
                level("LOW"),
                level("LOW"),
                level("LOW"),
                level("MEDIUM"),
                level("HIGH"),
                level("HIGH"),
            ],
        ),
        (
            "gemini-3-flash-preview",
            unknown(),
            [
                shown(),
                level("MINIMAL"),
                level("MINIMAL"),
                level("LOW"),
                level("MEDIUM"),
                level("HIGH"),
                level("HIGH"),
            ],
        ),
        (
            "gemini-3.1-flash-lite",
            unknown(),
            [
                null(),
                level("MINIMAL"),
                level("MINIMAL"),
                level("LOW"),
                level("MEDIUM"),
                level("HIGH"),
                level("HIGH"),
            ],
        ),
        ("gemini-2.0-flash", unknown(), [(); 7].map(|()| null())),
        ("gemini-2.5-flash-image", unknown(), [(); 7].map(|()| null())),
        ("gemma-3-27b-it", unknown(), [(); 7].map(|()| null())),
        ("gemini-3-pro-preview", ThinkingKind::Never, [(); 7].map(|()| null())),
        ("gemini-3-pro-preview", ThinkingKind::PromptTag, [(); 7].map(|()| null())),
        ("x-9", ThinkingKind::Always, [(); 7].map(|()| shown())),
        (
            "x-9",
            effort(&[Off, Medium]),
            [
                shown(),
                off(),
                level("MEDIUM"),
                level("MEDIUM"),
                level("MEDIUM"),
                level("MEDIUM"),
                level("MEDIUM"),
            ],
        ),
        (
            "x-9",
            ThinkingKind::Budget { least: 4096 },
            [free(), off(), budget(4096), budget(4096), budget(8192), budget(16_384), budget(24_576)],
        ),
    ];
    for (model, kind, expected) in cases {
        let mut target = target(model);
        target.capabilities.thinking = kind.clone();
        for (wanted, expected) in Thinking::ALL.into_iter().zip(expected) {
            assert_eq!(told(wanted, 65_536, &target), expected, "{model} {kind:?} {wanted}");
        }
    }
}

#[test]
fn thoughts_leave_half_of_the_output_to_the_answer() {
    let budget = |tokens: u32| json!({"thinkingBudget": tokens, "includeThoughts": true});
    let pro = target("gemini-2.5-pro");
    assert_eq!(told(Thinking::High, 4000, &pro), budget(2000));
    assert_eq!(told(Thinking::High, 100, &pro), budget(128));
}

#[test]
fn thoughts_are_not_asked_for_where_nobody_wants_them() {
    let cases = [
        ("gemini-2.5-pro", Thinking::Auto, Value::Null),
        ("gemini-2.5-pro", Thinking::Low, json!({"thinkingBudget": 2048})),
        ("gemini-3-pro-preview", Thinking::Auto, Value::Null),
        ("gemini-3-pro-preview", Thinking::Low, json!({"thinkingLevel": "LOW"})),
    ];
    for (model, wanted, expected) in cases {
        let mut target = target(model);
        target.options.insert("include_thoughts".into(), json!(false));
        assert_eq!(told(wanted, 65_536, &target), expected, "{model} {wanted}");
    }
}
