//! A token bucket, for users who bound a rate by hand. Told the time.

use std::time::Duration;

use tokio::time::Instant;

/// An upper bound on a rate, as client-go has it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rate {
    /// A second.
    pub qps: f64,
    /// At most so many at once after a rest.
    pub burst: f64,
}

/// See the module.
#[derive(Clone, Debug)]
pub struct Bucket {
    rate: Rate,
    tokens: f64,
    filled: Instant,
}

impl Bucket {
    /// A full one.
    pub fn full(rate: Rate, now: Instant) -> Self {
        Self { rate, tokens: rate.burst.max(1.0), filled: now }
    }

    /// Until when there is no token, if there is none.
    pub fn empty_until(&mut self, now: Instant) -> Option<Instant> {
        let passed = now.saturating_duration_since(self.filled).as_secs_f64();
        self.filled = now;
        self.tokens = (self.tokens + passed * self.rate.qps).min(self.rate.burst.max(1.0));
        let missing = 1.0 - self.tokens;
        // Less than a millionth of a token is a rounding error, not a reason to wait.
        (missing > 1e-6).then(|| now + Duration::from_secs_f64((missing / self.rate.qps).min(3600.0)))
    }

    /// Takes one.
    pub fn spend(&mut self) {
        self.tokens -= 1.0;
    }
}
