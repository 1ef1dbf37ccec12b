//! How an overlay that cannot be used is refused: with its file, its line, the cause, and what to do.

use proptest::prelude::*;

use super::super::OverlayKind;
use super::overlaid;

const MODEL: &str = "[[models]]\nprovider = 'openai'\nid = 'x'\n";
const PROVIDER: &str = "[[providers]]\nid = 'p'\nwire = 'gemini'\nlocation = 'local'\n";

/// The text behind `before`, and the error that it gives: its line, then what it says.
#[track_caller]
fn refused(before: &str, cases: &[(&str, &str)]) {
    for (text, expected) in cases {
        let text = format!("{before}{text}");
        let error = overlaid(OverlayKind::Llm, &text).map_err(|error| error.to_string());
        assert_eq!(error.err(), Some(format!("conf/file.toml:{expected}")), "{text}");
    }
}

#[test]
fn keys_and_values_that_mean_nothing() {
    refused(
        "",
        &[
            (
                "[llm]\nmodle = 'opus'",
                "2: unknown field `modle`, expected one of `model`, `aliases`, `fallbacks`, `fallback_on`",
            ),
            ("[[models]]\nid = 'x'", "1: missing field `provider`"),
            ("[[models]\n", "1: unclosed array table, expected `]`"),
            ("models = 3", "1: invalid type: integer `3`, expected a sequence"),
        ],
    );
    refused(
        MODEL,
        &[
            (
                "\nprice = 3",
                "5: unknown field `price`, expected one of `provider`, `id`, `name`, `aliases`, `tier`, \
                 `status`, `context_window`, `max_output`, `input`, `output`, `tools`, `parallel_tools`, \
                 `structured_output`, `thinking`, `prompt_caching`, `prices`, `source`, `verified`, `note`",
            ),
            (
                "prices = { inptu = 3 }",
                "4: unknown field `inptu`, expected one of `input`, `output`, `cached_input`, `cache_write`, \
                 `cache_write_long`, `thinking`, `up_to`, `long_prompt`",
            ),
            ("context_window = -1", "4: invalid value: integer `-1`, expected u64"),
            (
                "tier = 'huge'",
                "4: unknown variant `huge`, expected one of `small`, `mid`, `large`, `frontier`",
            ),
        ],
    );
}

#[test]
fn models_that_lack_something_or_contradict_themselves() {
    let about = |what: &str| format!("3: the model `openai:x`: {what}");
    refused(
        MODEL,
        &[
            (
                "prices = { input = 3 }",
                "3: `prices` needs `input` and `output`, in millionths of a US dollar per million tokens",
            ),
            (
                "prices = { input = 1, output = 2, long_prompt = { input = 1 } }",
                "3: `prices.long_prompt` needs `above`, a number of tokens",
            ),
            (
                "thinking = { levels = [] }",
                "3: `thinking` needs `kind`: none, effort, budget, adaptive or toggle",
            ),
            (
                "prices = { input = 1, output = 2, up_to = 0 }",
                &about("`prices.up_to` and `prices.long_prompt.above` are lengths of prompts, at least 1"),
            ),
            (
                "max_output = 0",
                &about("a limit of 0 tokens means that nothing could be said; leave it out if it is unknown"),
            ),
            ("max_output = 2\ncontext_window = 1", &about("`max_output` is more than `context_window`")),
            ("verified = '2026-13-01'", &about("`verified` must be a day, as in 2026-11-16")),
            ("source = 'a friend'", &about("`source` must be an https address")),
            ("name = ' '", &about("`name` is empty")),
        ],
    );
    refused(
        "[[models]]\n",
        &[
            (
                "provider = 'nobody'\nid = 'x'",
                "3: the model `nobody:x`: there is no provider `nobody`; add it with [[providers]]",
            ),
            (
                "provider = 'openai'\nid = 'two words'",
                "3: the model `openai:two words`: the id must be a word of at most 256 bytes",
            ),
        ],
    );
}

#[test]
fn providers_that_could_not_be_called() {
    refused(
        "[[providers]]\n",
        &[
            (
                "id = 'p'",
                "2: `p` is a new provider, which needs `wire` and `location`; \
                 to change one of the built-in ones, write its id",
            ),
            (
                "id = 'p'\nwire = 'gemini'\nlocation = 'cloud'",
                "2: `p` is a new provider in the cloud, which needs `auth`, \
                 such as { kind = \"api_key\", env = [\"MY_KEY\"] }",
            ),
            (
                "id = 'Open AI'\nwire = 'gemini'\nlocation = 'local'",
                "2: `Open AI` is no name for a provider: use lower-case letters, digits, `.`, `_` and `-`",
            ),
            (
                "id = 'openai'\nbase_url = 'http://gateway.example'",
                "2: the `base_url` of `openai` would send the key in the clear; \
                 use https://, or `location = \"local\"`",
            ),
            (
                "id = 'openai'\nauth = { env = ['my key'] }",
                "2: the provider `openai` names `my key`, which is no name of a variable",
            ),
            (
                "id = 'openai'\nauth = { env = [] }",
                "2: the provider `openai` needs a key; say in `auth.env` which variable has it",
            ),
        ],
    );
    refused(
        PROVIDER,
        &[
            ("", "2: the provider `p` needs `base_url`, or `base_url_env` with a variable that has it"),
            ("base_url = 'ftp://x'", "2: the `base_url` of `p` must begin with https:// or http://"),
            ("base_url = 'https:///x'", "2: the `base_url` of `p` is no address"),
            (
                "base_url = 'https://me:secret@x'",
                "2: the `base_url` of `p` has a user or a key in it; \
                 put the key in a variable and name it in `auth.env`",
            ),
            (
                "base_url = 'https://x'\nrate_limits = { concurrency = 0 }",
                "2: a rate limit of 0 would stop `p` for good; leave it out if it is unknown",
            ),
            ("base_url = 'https://x'\ndocs = 'x'", "2: the `docs` of `p` must be an https address"),
            ("base_url = 'https://x'\nname = ''", "2: the provider `p` has an empty `name`"),
        ],
    );
}

#[test]
fn names_that_would_mean_two_things() {
    refused(
        MODEL,
        &[
            (
                MODEL,
                "6: the model `openai:x` stands in this file twice; put all that you have to say in one place",
            ),
            (
                "aliases = ['sonnet']",
                "3: the alias `sonnet` of `openai:x` already names `anthropic:claude-sonnet-5-5`; \
                 a name of your own under [llm.aliases] wins over both",
            ),
            (
                "aliases = ['gpt-4o']",
                "3: the alias `gpt-4o` of `openai:x` already names `openai:gpt-4o`; \
                 a name of your own under [llm.aliases] wins over both",
            ),
            (
                "aliases = ['a:b']",
                "3: the model `openai:x`: `a:b` cannot be an alias: it must be a word without `:`, `/` and `@`",
            ),
        ],
    );
    refused(
        PROVIDER,
        &[(
            "base_url = 'https://x'\naliases = ['openai']",
            "2: `openai` names two providers, `openai` and `p`",
        )],
    );
}

#[test]
fn selectors_that_name_no_model() {
    refused(
        "[llm]\n",
        &[(
            "model = 'sonet'",
            "2: the default model: there is no model `sonet`, did you mean `sonnet`; \
             `harn models list` shows all, and `provider:model` works for any model",
        )],
    );
    refused(
        "[llm]\n",
        &[
            (
                "fallbacks = [\n  'opus',\n  'sonet',\n]",
                "4: fallback 2: there is no model `sonet`, did you mean `sonnet`; \
                 `harn models list` shows all, and `provider:model` works for any model",
            ),
            ("fallbacks = ['@inherit']", "2: fallback 1 names no model"),
            (
                "\nfallbacks = ['a:1','a:2','a:3','a:4','a:5','a:6','a:7','a:8','a:9']",
                "3: there are 9 fallbacks, and at most 8 are used; leave some out",
            ),
            (
                "fallback_on = ['content_filter']",
                "2: unknown variant `content_filter`, expected one of `rate_limit`, `rate_limited`, `overloaded`, `timeout`, \
                 `network`, `cut_stream`, `malformed`, `auth`, `permission_denied`, `not_found`, \
                 `context_too_long`, `model_unavailable`",
            ),
        ],
    );
    refused(
        "[llm.aliases]\n",
        &[
            (
                "fast = 'haiku'\nfaster = 'fast'",
                "3: the alias `faster` stands for the alias `fast`; write the model instead",
            ),
            (
                "fast = 'nothing-like-it'",
                "2: the alias `fast`: there is no model `nothing-like-it`; \
                 `harn models list` shows all, and `provider:model` works for any model",
            ),
            ("'a/b' = 'haiku'", "2: `a/b` cannot be an alias: it must be a word without `:`, `/` and `@`"),
        ],
    );
}

#[test]
fn a_file_that_is_too_large_is_not_read() {
    let text = "#".repeat((1 << 18) + 1);
    let error = overlaid(OverlayKind::Harn, &text).unwrap_err().to_string();
    assert_eq!(error, "conf/file.toml:1: the file has more than 262144 bytes");
}

proptest! {
    #[test]
    fn no_text_makes_an_overlay_fail_otherwise_than_with_a_line_of_the_file(text in "[\\[\\]a-z.='\n]{0,200}") {
        if let Err(error) = overlaid(OverlayKind::Harn, &text) {
            prop_assert!(error.line <= 1 + text.matches('\n').count());
        }
    }
}
