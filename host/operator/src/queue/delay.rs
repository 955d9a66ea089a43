//! How long after a failure to try again.

use std::time::Duration;

/// Smallest and largest delay after one and many failures.
pub const FAILED: (Duration, Duration) = (Duration::from_millis(500), Duration::from_mins(1));
/// Likewise after conflicts: the watch needs some milliseconds to bring what was missing.
pub const CONFLICT: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(10));
/// Likewise after refusals.
pub const REFUSED: (Duration, Duration) = (Duration::from_mins(1), Duration::from_mins(10));

/// Twice as long for each failure before this one, and up to a quarter shorter by chance.
pub fn growing((least, most): (Duration, Duration), failures: u32, noise: u32) -> Duration {
    let full = least.saturating_mul(1 << failures.min(16)).min(most);
    full.mul_f64(0.75 + fraction(noise) / 4.0)
}

/// Up to a tenth longer or shorter by chance.
pub fn about(time: Duration, noise: u32) -> Duration {
    time.mul_f64(0.9 + fraction(noise) / 5.0)
}

fn fraction(noise: u32) -> f64 {
    f64::from(noise) / f64::from(u32::MAX)
}
