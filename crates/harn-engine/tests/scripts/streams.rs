//! An answer that a script reads while it comes: what it has seen stays, and what a restart cuts off says so.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures::{StreamExt, stream};
use harn_core::chat::{ModelRef, ModelRequest, StopReason};
use harn_engine::{Engine, EngineOptions};
use harn_model::{Chunk, Model, ModelStream, Models};

use super::memory::{Point, options};
use super::{runtime, story_with};

/// Speaks so slowly that every piece is read by itself.
#[derive(Default)]
struct Slow {
    asked: AtomicUsize,
}

impl Model for Slow {
    fn reference(&self) -> ModelRef {
        options().model
    }

    fn stream(&self, _: ModelRequest) -> ModelStream {
        self.asked.fetch_add(1, Ordering::SeqCst);
        let words = ["one ", "two ", "three"].map(|word| Chunk::Text(word.into()));
        let chunks = words.into_iter().chain([Chunk::Stop(StopReason::EndTurn)]);
        let slowly = |chunk| async {
            tokio::time::sleep(Duration::from_millis(10)).await;
            Ok(chunk)
        };
        stream::iter(chunks).then(slowly).boxed()
    }
}

#[test]
fn a_stream_stopped_at_every_commit_goes_on_or_says_that_it_was_interrupted() {
    let text =
        "for piece in llm_stream(\"Count.\") { print(piece?.error?.category ?? piece) }\nprintln(\".\")\n";
    let runtime = runtime();
    let slow = Arc::new(Slow::default());
    let models = Models::new(vec![slow.clone()]);
    let engine = Engine::new(EngineOptions { models, ..options() });
    let told = |stop_at| {
        let story = story_with(&engine, &runtime, text, stop_at)?;
        assert_eq!(story.failure, None, "{stop_at:?}");
        assert!(slow.asked.swap(0, Ordering::SeqCst) <= 1, "asked again {stop_at:?}");
        Some(story.shown)
    };
    assert_eq!(told(None).unwrap(), "one two three.\n");
    let mut seen = Vec::new();
    for n in 1.. {
        let cut: Vec<String> =
            [Point::Before, Point::After].into_iter().filter_map(|point| told(Some((point, n)))).collect();
        if cut.is_empty() {
            break;
        }
        seen.extend(cut);
    }
    let ends = ["interrupted.\n", "one interrupted.\n", "one two interrupted.\n", "one two three.\n"];
    for end in ends {
        assert!(seen.iter().any(|told| told == end), "{end} is not in {seen:?}");
    }
    assert!(
        seen.iter().all(|told| ends.contains(&told.as_str()) || told == "one two threeinterrupted.\n"),
        "{seen:?}"
    );
}
