//! What calls cost, and what is reserved for them.

use harn_core::budget::Price;

use super::super::{Catalog, ModelEntry, TokenCounts};
use super::with;

fn row(selector: &str) -> ModelEntry {
    Catalog::builtin().resolve(selector).unwrap().unwrap().entry.unwrap().clone()
}

#[test]
fn a_call_costs_the_sum_of_its_classes_rounded_up() {
    let none = TokenCounts::default();
    let cases = [
        ("opus", none, Some(0)),
        ("opus", TokenCounts { input: 1_000_000, ..none }, Some(4_000_000)),
        ("opus", TokenCounts { output: 1_000, thinking: 500, ..none }, Some(30_000)),
        ("opus", TokenCounts { cached_input: 1_000_000, ..none }, Some(200_000)),
        ("opus", TokenCounts { cache_write: 10, cache_write_long: 10, ..none }, Some(130)),
        // 1 × 0.1 and 1 × 0.01 of a millionth are one millionth, not two.
        ("haiku", TokenCounts { input: 1, cached_input: 1, ..none }, Some(1)),
        // The whole call has the price of a long prompt, the answer too; exactly at the border it does not.
        ("haiku", TokenCounts { input: 100_000, output: 10, ..none }, Some(10_005)),
        ("haiku", TokenCounts { input: 50_000, cached_input: 50_001, output: 10, ..none }, Some(27_526)),
        // No price for cached input is no discount; no price for a write is unknown.
        ("devstral", TokenCounts { input: 5, cached_input: 5, ..none }, Some(4)),
        ("devstral", TokenCounts { input: 5, cache_write: 1, ..none }, None),
        // Prompts over 272,000 tokens cost more, and nobody knows here how much.
        ("terra", TokenCounts { input: 272_000, ..none }, Some(272_000)),
        ("terra", TokenCounts { input: 272_001, ..none }, None),
        ("gpt-5.6-sol", none, None),
        ("ollama:qwen3", TokenCounts { input: 5, ..none }, None),
        (
            "opus",
            TokenCounts { input: u64::MAX, output: u64::MAX, cached_input: u64::MAX, ..none },
            Some(u64::MAX),
        ),
    ];
    for (selector, tokens, expected) in cases {
        assert_eq!(row(selector).cost(&tokens), expected, "{selector} {tokens:?}");
    }
}

#[test]
fn thinking_may_have_a_price_of_its_own() {
    let catalog = with(
        "[[models]]\nprovider = \"vllm\"\nid = \"m\"\nprices = { input = 1, output = 2_000_000, thinking = 5_000_000 }",
    );
    let entry = catalog.model("vllm", "m").unwrap();
    let tokens = TokenCounts { output: 1, thinking: 2, ..TokenCounts::default() };
    assert_eq!(entry.cost(&tokens), Some(12));
    assert_eq!(entry.reservation(0), Some(Price { input: 1, output: 5_000_000 }));
}

#[test]
fn what_is_reserved_is_never_less_than_what_a_call_can_cost() {
    let sizes = [0, 1, 99_999, 100_000, 100_001, 200_001, 272_000, 272_001, 900_000];
    for entry in Catalog::builtin().models() {
        for prompt in sizes {
            let Some(price) = entry.reservation(prompt) else { continue };
            let reserved = price.cost(prompt, 1_000);
            let answer = TokenCounts { output: 400, thinking: 600, ..TokenCounts::default() };
            for tokens in [
                TokenCounts { input: prompt, ..answer },
                TokenCounts { cached_input: prompt, ..answer },
                TokenCounts { cache_write: prompt, ..answer },
                TokenCounts { input: prompt / 2, ..answer },
            ] {
                let cost = entry.cost(&tokens).unwrap_or(0);
                assert!(cost <= reserved, "{} {tokens:?}: {cost} > {reserved}", entry.selector());
            }
        }
    }
}

#[test]
fn a_reservation_has_the_price_of_the_prompt_that_it_is_for() {
    let luna = row("luna");
    let short = Price { input: 125_000, output: 500_000 };
    let long = Price { input: 250_000, output: 750_000 };
    let cases = [(0, Some(short)), (272_000, Some(short)), (272_001, Some(long))];
    for (prompt, expected) in cases {
        assert_eq!(luna.reservation(prompt), expected, "{prompt}");
    }
    assert_eq!(row("gpt-5.6-sol").reservation(1), None);
    assert_eq!(row("terra").reservation(272_001), None);
}
