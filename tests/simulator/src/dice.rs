//! Chance, by name and not by order: a draw is a hash of the seed, of what it is for, and of how often that was drawn before.
//! Whatever is taken out of a plan leaves all other draws as they were; without that nothing could be made smaller.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

/// Cheap to share.
#[derive(Clone)]
pub struct Dice {
    seed: u64,
    drawn: Arc<Mutex<HashMap<u64, u64>>>,
}

impl Dice {
    /// All draws follow from the seed.
    pub fn new(seed: u64) -> Self {
        Self { seed, drawn: Arc::default() }
    }

    /// What all draws follow from.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// Of all numbers, the next one for this purpose.
    pub fn number(&self, purpose: &[&str]) -> u64 {
        let name = hash(self.seed, purpose);
        let mut drawn = self.drawn.lock().unwrap_or_else(PoisonError::into_inner);
        let times = drawn.entry(name).or_default();
        *times += 1;
        mixed(name ^ mixed(*times))
    }

    /// From 0 up to, but not including, 1.
    pub fn fraction(&self, purpose: &[&str]) -> f64 {
        // 53 bits are what a float holds.
        #[expect(clippy::cast_precision_loss, reason = "it has no more than 53 bits")]
        let fraction = (self.number(purpose) >> 11) as f64 / (1_u64 << 53) as f64;
        fraction
    }

    /// From the first to the second.
    pub fn between(&self, first: Duration, last: Duration, purpose: &[&str]) -> Duration {
        first + last.saturating_sub(first).mul_f64(self.fraction(purpose))
    }

    /// True as often as that.
    pub fn chance(&self, probability: f64, purpose: &[&str]) -> bool {
        self.fraction(purpose) < probability
    }
}

/// FNV-1a. Not std's hasher, whose results may differ between releases.
pub fn hash(seed: u64, words: &[&str]) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325 ^ mixed(seed);
    for word in words {
        for byte in word.bytes().chain([0xff]) {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
    mixed(hash)
}

/// The last step of `SplitMix64`: every bit of the result depends on every bit given.
pub fn mixed(number: u64) -> u64 {
    let z = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_draw_does_not_depend_on_draws_for_other_purposes() {
        let (one, other) = (Dice::new(7), Dice::new(7));
        for _ in 0..10 {
            one.number(&["latency", "b"]);
        }

        assert_eq!(one.number(&["latency", "a"]), other.number(&["latency", "a"]));
        assert_ne!(one.number(&["latency", "a"]), one.number(&["latency", "a"]));
        assert_ne!(one.number(&["ab", "c"]), Dice::new(7).number(&["a", "bc"]));
        assert_ne!(Dice::new(7).number(&["x"]), Dice::new(8).number(&["x"]));
    }

    #[test]
    fn durations_stay_between_their_bounds() {
        let (dice, second) = (Dice::new(1), Duration::from_secs(1));
        for _ in 0..1000 {
            let drawn = dice.between(second, 3 * second, &["x"]);
            assert!((second..=3 * second).contains(&drawn));
        }
    }
}
