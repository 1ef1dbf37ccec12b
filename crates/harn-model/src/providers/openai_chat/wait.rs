//! The headers in which OpenAI and its kin tell when a limit is free again.

use std::time::Duration;

use crate::Headers;

/// How long until every limit that is used up is free again; none if none is known to be used up.
pub(in crate::providers) fn exhausted(headers: &Headers) -> Option<Duration> {
    let text = |name: String| headers.get(name)?.to_str().ok().map(str::trim);
    ["requests", "tokens"]
        .into_iter()
        .filter(|limit| text(format!("x-ratelimit-remaining-{limit}")) == Some("0"))
        .filter_map(|limit| duration(text(format!("x-ratelimit-reset-{limit}"))?))
        .max()
}

/// The wait in a message such as `Please try again in 1.5s.`
pub(super) fn in_words(message: &str) -> Option<Duration> {
    let (_, after) = message.split_once("try again in ")?;
    duration(after.split_whitespace().next()?.trim_end_matches(['.', ',']))
}

/// `1h2m3s`, `6m0s`, `7.66s`, `20ms`, or a plain number of seconds.
fn duration(text: &str) -> Option<Duration> {
    let seconds = |number: f64| Duration::try_from_secs_f64(number).ok();
    if let Ok(number) = text.parse() {
        return seconds(number);
    }
    let mut total = Duration::ZERO;
    let mut rest = text;
    while !rest.is_empty() {
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let number: f64 = rest[..end].parse().ok()?;
        let unit_end = rest[end..].find(|c: char| c.is_ascii_digit()).map_or(rest.len(), |at| end + at);
        let factor = match &rest[end..unit_end] {
            "d" => 86_400.0,
            "h" => 3600.0,
            "m" => 60.0,
            "s" => 1.0,
            "ms" => 0.001,
            _ => return None,
        };
        total = total.checked_add(seconds(number * factor)?)?;
        rest = &rest[unit_end..];
    }
    Some(total)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_is_found_in_the_words_of_a_message() {
        let cases = [
            ("Rate limit reached for m. Please try again in 1.5s. Visit a page.", Some(1500)),
            ("Please try again in 6m0s.", Some(360_000)),
            ("try again in 250ms", Some(250)),
            ("try again in a moment", None),
            ("try again in ", None),
            ("later", None),
        ];
        for (message, expected) in cases {
            assert_eq!(in_words(message), expected.map(Duration::from_millis), "{message}");
        }
    }

    #[test]
    fn a_wait_is_read_in_all_its_spellings() {
        let cases = [
            ("1s", Some(1000)),
            ("6m0s", Some(360_000)),
            ("1h2m3s", Some(3_723_000)),
            ("7.5s", Some(7500)),
            ("20ms", Some(20)),
            ("1m30.5s", Some(90_500)),
            ("12", Some(12_000)),
            ("0", Some(0)),
            ("", Some(0)),
            ("soon", None),
            ("-1", None),
            ("1e300", None),
            ("5 s", None),
            ("5parsecs", None),
            ("5.5.5s", None),
            ("ü", None),
            ("99999999999999999999d", None),
        ];
        for (text, expected) in cases {
            assert_eq!(duration(text), expected.map(Duration::from_millis), "{text:?}");
        }
    }

    #[test]
    fn only_a_limit_that_is_used_up_is_waited_for() {
        type Given = &'static [(&'static str, &'static str)];
        let cases: [(Given, Option<u64>); 5] = [
            (&[], None),
            (&[("x-ratelimit-reset-requests", "1s"), ("x-ratelimit-remaining-requests", "9")], None),
            (&[("x-ratelimit-reset-requests", "1s"), ("x-ratelimit-remaining-requests", "0")], Some(1)),
            (
                &[
                    ("x-ratelimit-reset-requests", "1s"),
                    ("x-ratelimit-remaining-requests", "0"),
                    ("x-ratelimit-reset-tokens", "1m"),
                    ("x-ratelimit-remaining-tokens", "0"),
                ],
                Some(60),
            ),
            (&[("x-ratelimit-reset-tokens", "?"), ("x-ratelimit-remaining-tokens", "0")], None),
        ];
        for (given, expected) in cases {
            let mut headers = Headers::new();
            for (name, value) in given {
                headers.insert(*name, value.parse().unwrap());
            }
            assert_eq!(exhausted(&headers), expected.map(Duration::from_secs), "{given:?}");
        }
    }
}
