//! What calls of the models in the catalog cost, and what is reserved for them.

use harn_core::chat::Usage;
use harn_core::price::Prices;

use super::super::Catalog;
use super::with;

fn prices(selector: &str) -> Option<Prices> {
    Catalog::builtin().resolve(selector).unwrap().unwrap().entry.unwrap().prices
}

#[test]
fn a_call_costs_the_sum_of_its_classes_rounded_up() {
    let used = Usage::new;
    let cases = [
        ("opus", used(0, 0), Some(0)),
        ("opus", used(1_000_000, 0), Some(4_000_000)),
        ("opus", Usage { thinking_tokens: 500, ..used(0, 1_500) }, Some(30_000)),
        ("opus", Usage { cached_tokens: 1_000_000, ..used(1_000_000, 0) }, Some(200_000)),
        ("opus", Usage { cache_write_tokens: 10, ..used(10, 0) }, Some(50)),
        // 1 × 0.1 and 1 × 0.01 of a millionth are one millionth, not two.
        ("haiku", Usage { cached_tokens: 1, ..used(2, 0) }, Some(1)),
        // The whole call has the price of a long prompt, the answer too; exactly at the border it does not.
        ("haiku", used(100_000, 10), Some(10_005)),
        ("haiku", Usage { cached_tokens: 50_001, ..used(100_001, 10) }, Some(27_526)),
        // No price for cached input is no discount; no price for a write is unknown.
        ("devstral", Usage { cached_tokens: 5, ..used(10, 0) }, Some(4)),
        ("devstral", Usage { cache_write_tokens: 1, ..used(6, 0) }, None),
        // Prompts over 272,000 tokens cost more, and nobody knows here how much.
        ("terra", used(272_000, 0), Some(272_000)),
        ("terra", used(272_001, 0), None),
        ("gpt-5.6-sol", used(0, 0), None),
        ("opus", used(u64::MAX, u64::MAX), Some(u64::MAX)),
    ];
    for (selector, usage, expected) in cases {
        let cost = prices(selector).and_then(|prices| prices.cost(&usage));
        assert_eq!(cost, expected, "{selector} {usage:?}");
    }
}

#[test]
fn thinking_may_have_a_price_of_its_own() {
    let catalog = with(
        "[[models]]\nprovider = \"vllm\"\nid = \"m\"\nprices = { input = 1, output = 2_000_000, thinking = 5_000_000 }",
    );
    let prices = catalog.model("vllm", "m").unwrap().prices.unwrap();
    assert_eq!(prices.cost(&Usage { thinking_tokens: 2, ..Usage::new(0, 3) }), Some(12));
    assert_eq!(prices.reserve(0, 3), Some(15));
}

#[test]
fn what_is_reserved_is_never_less_than_what_a_call_can_cost() {
    let sizes = [0, 1, 99_999, 100_000, 100_001, 200_001, 272_000, 272_001, 900_000];
    for entry in Catalog::builtin().models() {
        let Some(prices) = entry.prices else { continue };
        for prompt in sizes {
            let Some(reserved) = prices.reserve(prompt, 1_000) else { continue };
            let answer = Usage { thinking_tokens: 600, ..Usage::new(prompt, 1_000) };
            for usage in [
                answer,
                Usage { cached_tokens: prompt, ..answer },
                Usage { cache_write_tokens: prompt, ..answer },
                Usage { input_tokens: prompt / 2, ..answer },
            ] {
                let cost = prices.cost(&usage).unwrap_or(0);
                assert!(cost <= reserved, "{} {usage:?}: {cost} > {reserved}", entry.selector());
            }
        }
    }
}

#[test]
fn a_reservation_has_the_price_of_the_prompt_that_it_is_for() {
    let luna = prices("luna").unwrap();
    let cases = [(0, 500), (272_000, 34_500), (272_001, 68_751)];
    for (prompt, expected) in cases {
        assert_eq!(luna.reserve(prompt, 1_000), Some(expected), "{prompt}");
    }
    assert_eq!(prices("gpt-5.6-sol"), None);
    assert_eq!(prices("terra").unwrap().reserve(272_001, 0), None);
}
