//! Pauses between tries of something that has to succeed.

use std::time::Duration;

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
        full.mul_f64(0.5 + f64::from(rand::random::<u8>()) / 510.0)
    }
}
