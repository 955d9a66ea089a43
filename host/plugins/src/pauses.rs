//! Pauses between tries of something that has to succeed.

use std::time::Duration;

use coxswain_cluster::world;

/// The first one, and the longest.
const BOUNDS: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(15));

/// Each is twice as long as the one before; half of it is left to chance, so that replicas do not try in step.
#[derive(Debug, Default)]
pub struct Pauses(u32);

impl Pauses {
    /// How long to wait now.
    pub fn next(&mut self) -> Duration {
        let (first, longest) = BOUNDS;
        let full = first.saturating_mul(1 << self.0.min(16)).min(longest);
        self.0 = self.0.saturating_add(1);
        full.mul_f64(0.5 + f64::from(world::random::<u8>()) / 510.0)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn each_is_longer_than_the_one_before_up_to_the_longest() {
        let mut pauses = Pauses::default();
        for full in [500, 1_000, 2_000, 4_000, 8_000, 15_000].into_iter().chain([15_000; 40]) {
            let pause = pauses.next().as_millis();
            assert!((full / 2..=full).contains(&pause), "{pause} ms of {full}");
        }
    }

    #[test]
    fn replicas_do_not_try_in_step() {
        let firsts: BTreeSet<_> = (0..100).map(|_| Pauses::default().next()).collect();
        assert!(firsts.len() > 10, "{firsts:?}");
    }
}
