//! Runs and messages as the agent loop is given them.

use std::sync::Arc;

use harn_core::chat::{ModelRef, Thinking};
use harn_core::message::{Message, MessageInput};
use harn_core::run::{Limits, Manifest, RunRecord};
use harn_core::{AutonomyTier, MessageTag, Timestamp};
use harn_engine::agent::{PROGRAM, SEMANTICS};
use harn_engine::tools::Registry;

/// A run of the model `m`, with every tool and without fallbacks.
pub fn record(max_model_calls: u32, context_window: u64, history: Vec<Message>) -> RunRecord {
    let budget = Default::default();
    let manifest = Manifest {
        program: PROGRAM.into(),
        semantics: SEMANTICS,
        model: ModelRef { provider: "test".into(), model: "m".into() },
        tier: AutonomyTier::ActAuto,
        limits: Limits { max_model_calls, max_output_tokens: 100, context_window, budget },
        seed: 1,
        root: None,
        system_prompt: String::new(),
        tools: String::new(),
        history_up_to: 0,
        compacted: None,
        prices: None,
        thinking: Thinking::Auto,
        chosen_by: Default::default(),
        fallbacks: Vec::new(),
        fallback_on: Vec::new(),
        mutation: None,
        trust: Default::default(),
        script: None,
        narrowing: Default::default(),
    };
    RunRecord {
        task_id: "task_1".into(),
        session_id: "session_1".into(),
        manifest,
        system_prompt: Arc::from("s"),
        tools: Registry::builtin().specs(),
        script: None,
        summary: None,
        history,
        journal: Vec::new(),
    }
}

pub fn message(MessageInput { role, parts, metadata }: MessageInput) -> Message {
    Message {
        id: "message_1".into(),
        object: MessageTag::Tag,
        created_at: Timestamp::from_millis(0),
        updated_at: Timestamp::from_millis(0),
        metadata,
        session_id: None,
        task_id: None,
        role,
        parts,
    }
}
