//! When a call is made again, and after how long.

use std::time::Duration;

use jiff::Timestamp;
use jiff::fmt::rfc2822;

use crate::{Headers, ModelError};

/// How often and how long a call is tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetryPolicy {
    /// Calls altogether; 1 is no retry.
    pub attempts: u32,
    /// The upper bound of the first wait; it doubles with each attempt.
    pub base: Duration,
    /// The upper bound of every wait that the provider did not ask for.
    pub cap: Duration,
    /// No attempt begins later than this after the first one did.
    pub total: Duration,
    /// Whether an answer that broke off is begun anew although a part of it was seen.
    pub after_content: AfterContent,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AfterContent {
    Fail,
    /// The stream says `Chunk::Restart` and begins again.
    Restart,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            attempts: 4,
            base: Duration::from_millis(500),
            cap: Duration::from_secs(30),
            total: Duration::from_secs(180),
            after_content: AfterContent::Fail,
        }
    }
}

impl RetryPolicy {
    pub const NEVER: Self = Self {
        attempts: 1,
        base: Duration::ZERO,
        cap: Duration::ZERO,
        total: Duration::ZERO,
        after_content: AfterContent::Fail,
    };

    /// How long to wait before attempt number `made + 1`; none if there is to be no other. `asked` is what the
    /// provider wants, `chance` is in 0..1: each wait is a random part of its bound, so that many clients which
    /// failed together do not come back together.
    pub(super) fn wait(
        &self,
        error: &ModelError,
        made: u32,
        elapsed: Duration,
        asked: Option<Duration>,
        chance: f64,
    ) -> Option<Duration> {
        if !error.retryable() || made >= self.attempts {
            return None;
        }
        let bound = self.base.saturating_mul(2_u32.saturating_pow(made.saturating_sub(1))).min(self.cap);
        let part = bound.as_secs_f64() * chance;
        let jitter = Duration::try_from_secs_f64(part).unwrap_or(bound).min(bound);
        // Some providers say it in the body of the refusal, or within a stream.
        let told = match error {
            ModelError::RateLimited { retry_after_ms: Some(told), .. } => Some(Duration::from_millis(*told)),
            _ => None,
        };
        let wait = asked.or(told).unwrap_or_default().saturating_add(jitter);
        (elapsed.saturating_add(wait) <= self.total).then_some(wait)
    }
}

/// How long the provider asks to wait: milliseconds, seconds, or a date, which is taken against the provider's own
/// clock where it tells it.
pub(super) fn asked(headers: &Headers) -> Option<Duration> {
    let text = |name: &str| headers.get(name)?.to_str().ok().map(str::trim);
    let seconds = |text: &str| text.parse().ok().and_then(|s: f64| Duration::try_from_secs_f64(s).ok());
    if let Some(wait) = text("retry-after-ms").and_then(seconds) {
        return Some(wait / 1000);
    }
    let after = text("retry-after")?;
    if let Some(wait) = seconds(after) {
        return Some(wait);
    }
    let until = http_date(after)?;
    let now = text("date").and_then(http_date).unwrap_or_else(Timestamp::now);
    Some(Duration::try_from(until.duration_since(now)).unwrap_or_default())
}

fn http_date(text: &str) -> Option<Timestamp> {
    rfc2822::DateTimeParser::new().parse_timestamp(text).ok()
}

/// Some providers know better than their status whether another attempt makes sense.
pub(super) fn forbidden(headers: &Headers) -> bool {
    headers.get("x-should-retry").is_some_and(|value| value == "false")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limited() -> ModelError {
        ModelError::RateLimited { message: String::new(), retry_after_ms: None }
    }

    #[test]
    fn waits_double_up_to_a_cap_and_are_a_random_part_of_their_bound() {
        let ms = Duration::from_millis;
        let policy = RetryPolicy {
            attempts: 5,
            base: ms(100),
            cap: ms(300),
            total: ms(10_000),
            after_content: AfterContent::Fail,
        };
        let told = |wait| ModelError::RateLimited { message: String::new(), retry_after_ms: Some(wait) };
        let invalid = ModelError::InvalidRequest { message: String::new() };
        let cases = [
            (limited(), 1, ms(0), None, 1.0, Some(ms(100))),
            (limited(), 1, ms(0), None, 0.0, Some(ms(0))),
            (limited(), 2, ms(0), None, 0.5, Some(ms(100))),
            (limited(), 3, ms(0), None, 1.0, Some(ms(300))),
            (limited(), 4, ms(0), None, 1.0, Some(ms(300))),
            (limited(), 5, ms(0), None, 1.0, None),
            (limited(), 1, ms(0), Some(ms(2000)), 0.5, Some(ms(2050))),
            (limited(), 1, ms(9_000), Some(ms(2000)), 0.0, None),
            (told(2000), 1, ms(0), None, 0.5, Some(ms(2050))),
            (told(2000), 1, ms(0), Some(ms(500)), 0.0, Some(ms(500))),
            (limited(), 1, ms(0), Some(Duration::MAX), 1.0, None),
            (limited(), 1, ms(9_950), None, 1.0, None),
            (invalid, 1, ms(0), None, 0.0, None),
        ];
        for (error, made, elapsed, asked, chance, expected) in cases {
            let wait = policy.wait(&error, made, elapsed, asked, chance);
            assert_eq!(wait, expected, "{error:?} {made} {elapsed:?} {asked:?} {chance}");
        }
        assert_eq!(RetryPolicy::NEVER.wait(&limited(), 1, ms(0), None, 0.0), None);
        assert!(policy.wait(&limited(), 1, ms(0), None, f64::NAN).is_some_and(|wait| wait <= ms(100)));
    }

    #[test]
    fn what_the_provider_asks_for_is_read_from_its_headers() {
        const DATE: (&str, &str) = ("date", "Sun, 06 Nov 1994 08:49:37 GMT");
        type Given = &'static [(&'static str, &'static str)];
        let cases: [(Given, Option<u64>); 10] = [
            (&[], None),
            (&[("retry-after", "3")], Some(3000)),
            (&[("retry-after", " 0.5 ")], Some(500)),
            (&[("retry-after-ms", "20"), ("retry-after", "3")], Some(20)),
            (&[("retry-after", "Sun, 06 Nov 1994 08:49:47 GMT"), DATE], Some(10_000)),
            (&[("retry-after", "Sun, 06 Nov 1994 08:49:30 GMT"), DATE], Some(0)),
            (&[("retry-after", "Sun, 06 Nov 1994 08:49:30 GMT")], Some(0)),
            (&[("retry-after", "soon")], None),
            (&[("retry-after", "-1")], None),
            (&[("retry-after", "1e300")], None),
        ];
        for (given, expected) in cases {
            let mut headers = Headers::new();
            for (name, value) in given {
                headers.insert(*name, value.parse().unwrap());
            }
            assert_eq!(asked(&headers), expected.map(Duration::from_millis), "{given:?}");
        }
    }
}
