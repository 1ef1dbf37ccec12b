//! Programs made of bytes, through `fuzzing::machine`.
#![no_main]

#[path = "../../crates/harn-lang/tests/fuzzing/mod.rs"]
#[allow(dead_code, reason = "each target uses its part")]
mod fuzzing;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzzing::machine(bytes));
