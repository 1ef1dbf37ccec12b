//! Any text, through `fuzzing::formatter`.
#![no_main]

#[path = "../../crates/harn-lang/tests/fuzzing/mod.rs"]
#[allow(dead_code, reason = "each target uses its part")]
mod fuzzing;

libfuzzer_sys::fuzz_target!(|text: &str| fuzzing::formatter(text));
