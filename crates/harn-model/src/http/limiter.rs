//! Limits on our own side: calls and tokens per minute, and calls at once, shared by all models of a provider.

use std::sync::Arc;
use std::time::Duration;

use harn_core::chat::{ChatMessage, MediaSource, ModelRequest};
use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;

/// What a provider grants us. None is no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RateLimits {
    pub requests_per_minute: Option<u32>,
    pub tokens_per_minute: Option<u64>,
    pub concurrent: Option<u32>,
}

/// Admits calls in the order in which they came. Cheap to clone; clones share their limits.
#[derive(Clone, Default)]
pub struct Limiter(Arc<Shared>);

#[derive(Default)]
struct Shared {
    slots: Option<Arc<Semaphore>>,
    requests: Option<Bucket>,
    tokens: Option<Bucket>,
}

impl Limiter {
    pub fn new(limits: RateLimits) -> Self {
        let slots = limits.concurrent.map(|count| Arc::new(Semaphore::new(count.max(1) as usize)));
        let requests = limits.requests_per_minute.map(|count| Bucket::new(f64::from(count)));
        let tokens = limits.tokens_per_minute.map(|count| Bucket::new(count as f64));
        Self(Arc::new(Shared { slots, requests, tokens }))
    }

    /// Waits until a call of about this many tokens may begin. It counts as running until the pass is dropped.
    pub(super) async fn admit(&self, tokens: u64) -> Pass {
        let slot = match &self.0.slots {
            Some(slots) => Arc::clone(slots).acquire_owned().await.ok(),
            None => None,
        };
        let most = self.0.tokens.as_ref().map_or(f64::MAX, |bucket| bucket.per_minute);
        let charged = (tokens as f64).min(most);
        let mut pass = Pass { shared: Arc::clone(&self.0), charged, begun: false, _slot: slot };
        let until = pass.charge();
        // Timers count whole milliseconds: even one that is due already would hold up every call for one.
        if until > Instant::now() {
            tokio::time::sleep_until(until).await;
        }
        pass.begun = true;
        pass
    }
}

/// The right to make one call.
pub(super) struct Pass {
    shared: Arc<Shared>,
    charged: f64,
    begun: bool,
    _slot: Option<OwnedSemaphorePermit>,
}

impl Pass {
    fn charge(&self) -> Instant {
        let request = self.shared.requests.as_ref().map(|bucket| bucket.add(1.0));
        let tokens = self.shared.tokens.as_ref().map(|bucket| bucket.add(self.charged));
        request.into_iter().chain(tokens).max().unwrap_or_else(Instant::now)
    }

    /// What the call really used takes the place of what it was thought to use.
    pub(super) fn settle(&mut self, used: u64) {
        if let Some(tokens) = &self.shared.tokens {
            tokens.add(used as f64 - self.charged);
        }
        self.charged = used as f64;
    }
}

impl Drop for Pass {
    /// A call that was given up while it waited has used nothing.
    fn drop(&mut self) {
        if !self.begun {
            self.shared.requests.iter().for_each(|bucket| _ = bucket.add(-1.0));
            self.shared.tokens.iter().for_each(|bucket| _ = bucket.add(-self.charged));
        }
    }
}

/// About how many tokens a call has, from the length of its body. Providers count the pixels and pages of media, so
/// their bytes are left out.
pub(super) fn guess(body: usize, request: &ModelRequest) -> u64 {
    let mut words = body as u64;
    let mut shown = 0;
    for medium in request.messages.iter().flat_map(ChatMessage::media) {
        shown += PER_MEDIUM;
        if let MediaSource::Data(data) = &medium.source {
            words = words.saturating_sub(data.len() as u64);
        }
    }
    words / 4 + shown + u64::from(request.max_output_tokens)
}

/// A large image, or a page.
const PER_MEDIUM: u64 = 1600;

/// A leaky bucket that holds what flows out in a minute. Whoever overfills it waits until it would have fitted, and is
/// counted at once; so those who come later wait longer.
struct Bucket {
    per_minute: f64,
    level: Mutex<(f64, Instant)>,
}

impl Bucket {
    fn new(per_minute: f64) -> Self {
        Self { per_minute: per_minute.max(1.0), level: Mutex::new((0.0, Instant::now())) }
    }

    fn add(&self, amount: f64) -> Instant {
        // A single call larger than the bucket would else wait for what it can never get.
        let amount = amount.min(self.per_minute);
        let mut level = self.level.lock();
        let now = Instant::now();
        let leaked = now.duration_since(level.1).as_secs_f64() * self.per_minute / 60.0;
        *level = ((level.0 - leaked).max(0.0) + amount, now);
        let excess = (level.0 - self.per_minute).max(0.0);
        // A day is as good as never, and keeps the arithmetic in bounds.
        let wait = (excess * 60.0 / self.per_minute).min(86_400.0);
        now + Duration::from_secs_f64(wait)
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;
    use harn_core::chat::{Media, ModelRef};

    use super::*;

    async fn seconds_for(limiter: &Limiter, tokens: &[u64]) -> Vec<u64> {
        let start = Instant::now();
        let mut waited = Vec::new();
        for tokens in tokens {
            drop(limiter.admit(*tokens).await);
            waited.push(start.elapsed().as_secs());
        }
        waited
    }

    #[test]
    fn a_guess_counts_words_by_length_and_media_by_number() {
        let medium = |source| Media { mime_type: "image/png".into(), source };
        let cases = [
            (vec![], 400, 100),
            (vec![MediaSource::Data("A".repeat(4_000_000))], 4_000_400, 1700),
            (vec![MediaSource::Url("https://a/b".into()); 2], 400, 3300),
            // A body that is shorter than what it holds does not happen, and does no harm.
            (vec![MediaSource::Data("A".repeat(500))], 400, 1600),
        ];
        for (sources, body, tokens) in cases {
            let media = sources.into_iter().map(medium).collect();
            let request = ModelRequest {
                model: ModelRef { provider: "p".into(), model: "m".into() },
                system: "".into(),
                messages: Arc::new(vec![ChatMessage::User { text: String::new(), media }]),
                tools: [].into(),
                max_output_tokens: 7,
                thinking: Default::default(),
                output_schema: None,
                sampling: Default::default(),
            };
            assert_eq!(guess(body, &request), tokens + 7);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn calls_and_tokens_are_admitted_at_their_rates() {
        let none = RateLimits::default();
        let cases: [(RateLimits, &[u64], &[u64]); 5] = [
            (none, &[1_000_000; 3], &[0, 0, 0]),
            (RateLimits { requests_per_minute: Some(2), ..none }, &[0; 5], &[0, 0, 30, 60, 90]),
            (RateLimits { tokens_per_minute: Some(100), ..none }, &[100, 50, 50, 10], &[0, 30, 60, 66]),
            // A call larger than a whole minute's tokens comes through once the bucket is empty.
            (RateLimits { tokens_per_minute: Some(100), ..none }, &[5000, 100], &[0, 60]),
            (RateLimits { requests_per_minute: Some(0), ..none }, &[0, 0], &[0, 60]),
        ];
        for (limits, tokens, expected) in cases {
            assert_eq!(seconds_for(&Limiter::new(limits), tokens).await, expected, "{limits:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_within_its_limits_begins_at_once() {
        let limits =
            RateLimits { requests_per_minute: Some(1), tokens_per_minute: Some(9), concurrent: Some(1) };
        for limits in [RateLimits::default(), limits] {
            assert!(Limiter::new(limits).admit(9).now_or_never().is_some(), "{limits:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn only_so_many_run_at_once() {
        let limiter = Limiter::new(RateLimits { concurrent: Some(2), ..RateLimits::default() });
        let (first, _second) = (limiter.admit(1).await, limiter.admit(1).await);
        let mut third = Box::pin(limiter.admit(1));
        assert!(third.as_mut().now_or_never().is_none());
        drop(first);
        third.await;
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_given_up_while_waiting_costs_nothing_and_a_settled_one_what_it_used() {
        let limiter = Limiter::new(RateLimits { tokens_per_minute: Some(100), ..RateLimits::default() });
        let mut pass = limiter.admit(100).await;
        let mut waiting = Box::pin(limiter.admit(100));
        assert!(waiting.as_mut().now_or_never().is_none());
        drop(waiting);
        pass.settle(40);
        assert_eq!(seconds_for(&limiter, &[60, 50]).await, [0, 30]);
    }
}
