//! The generator behind `random`: the same seed gives the same numbers on every machine.

/// xoshiro256**, seeded by SplitMix64. Not for keys or tokens: those come from the host.
#[derive(Clone, Debug)]
pub struct Rng {
    state: [u64; 4],
}

impl Rng {
    pub fn new(seed: u64) -> Self {
        let mut seed = seed;
        Self { state: std::array::from_fn(|_| split_mix(&mut seed)) }
    }

    /// A seed out of text, so that a program can name its sequences.
    pub fn named(name: &str) -> Self {
        Self::new(super::types::fnv1a(name.as_bytes()))
    }

    /// Any number.
    pub fn number(&mut self) -> u64 {
        let [a, b, c, d] = self.state;
        let result = b.wrapping_mul(5).rotate_left(7).wrapping_mul(9);
        let c_next = c ^ a;
        let d_next = d ^ b;
        self.state = [a ^ d_next, b ^ c_next, c_next ^ (b << 17), d_next.rotate_left(45)];
        result
    }

    /// From 0 up to 1, which is never reached.
    pub fn fraction(&mut self) -> f64 {
        (self.number() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// From 0 up to a limit that is never reached; 0 when the limit is 0.
    pub fn below(&mut self, limit: u64) -> u64 {
        // The high half of a product is spread evenly but for a part of 2^-64 per value of the limit.
        ((u128::from(self.number()) * u128::from(limit)) >> 64) as u64
    }

    /// Between two numbers, both included.
    pub fn between(&mut self, low: i64, high: i64) -> i64 {
        let (low, high) = (low.min(high), low.max(high));
        let span = high.abs_diff(low);
        let offset = if span == u64::MAX { self.number() } else { self.below(span + 1) };
        low.wrapping_add_unsigned(offset)
    }

    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for at in (1..items.len()).rev() {
            items.swap(at, self.below(at as u64 + 1) as usize);
        }
    }
}

fn split_mix(seed: &mut u64) -> u64 {
    *seed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut mixed = *seed;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests {
    use super::Rng;

    #[test]
    fn a_seed_names_one_sequence() {
        let take = |mut rng: Rng| (0..3).map(|_| rng.number()).collect::<Vec<_>>();
        assert_eq!(take(Rng::new(7)), take(Rng::new(7)));
        assert_ne!(take(Rng::new(7)), take(Rng::new(8)));
        assert_ne!(take(Rng::named("a")), take(Rng::named("b")));
    }

    #[test]
    fn numbers_stay_within_their_bounds_and_reach_them() {
        let mut rng = Rng::new(1);
        let seen: std::collections::BTreeSet<_> = (0..200).map(|_| rng.between(3, 1)).collect();
        assert_eq!(seen.into_iter().collect::<Vec<_>>(), [1, 2, 3]);
        assert_eq!(rng.between(i64::MIN, i64::MIN), i64::MIN);
        rng.between(i64::MIN, i64::MAX);
        assert!((0..200).all(|_| (0.0..1.0).contains(&rng.fraction())));
    }
}
