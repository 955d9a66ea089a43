//! A request that is sent again after what may pass by itself: a reconcile that gave up on one lost answer would have to
//! look, render and compare once more.

use std::time::Duration;

use bytes::Bytes;
use tokio::time::{Instant, sleep, timeout_at};

use super::{Call, Refused, Rest};
use crate::{limiter::Flow, world};

/// Pauses before the second, third and last try, a quarter more or less. What lasts longer is left to the queue.
const PAUSES: [Duration; 3] =
    [Duration::from_millis(100), Duration::from_millis(300), Duration::from_secs(1)];

/// On whose behalf, and for how long.
#[derive(Clone, Copy, Debug)]
pub struct Tries<'a> {
    /// How it stands in line.
    pub flow: Flow,
    /// `namespace/name`.
    pub holder: &'a str,
    /// Nothing is begun from then on.
    pub deadline: Instant,
}

/// Why something was not done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop<E> {
    /// Time was over before it was begun.
    Late,
    /// It is not wanted any more.
    Unwanted,
    /// It did not succeed.
    Failed(E),
}

impl Rest {
    /// Waits for a permit and sends, again after a pause while that may help, while it is `wanted` and before the
    /// deadline. `call` makes the request, once a permit is there: those who stand in line hold no body.
    pub async fn persist(
        &self,
        tries: Tries<'_>,
        wanted: impl Fn() -> bool,
        call: impl Fn() -> Call,
    ) -> Result<Bytes, Stop<Refused>> {
        let mut pauses = PAUSES.iter();
        let mut last: Option<Refused> = None;
        loop {
            let acquired = timeout_at(tries.deadline, self.acquire(tries.flow, tries.holder)).await;
            // A permit that is there at once is given also when time is over.
            let permit = match acquired {
                Ok(permit) if Instant::now() < tries.deadline => permit,
                _ => return Err(last.map_or(Stop::Late, Stop::Failed)),
            };
            if !wanted() {
                return Err(last.map_or(Stop::Unwanted, Stop::Failed));
            }
            let refused = match self.send_now(permit, call()).await {
                Ok(body) => return Ok(body),
                Err(refused) => refused,
            };
            match pauses.next() {
                Some(pause) if refused.is_transient() => {
                    sleep(pause.mul_f64(0.75 + world::random::<f64>() / 2.0)).await;
                }
                _ => return Err(Stop::Failed(refused)),
            }
            last = Some(refused);
        }
    }
}

impl<E> Stop<E> {
    /// The same, for another kind of failure.
    pub fn map<F>(self, change: impl FnOnce(E) -> F) -> Stop<F> {
        match self {
            Self::Late => Stop::Late,
            Self::Unwanted => Stop::Unwanted,
            Self::Failed(error) => Stop::Failed(change(error)),
        }
    }
}

impl<E> From<E> for Stop<E> {
    fn from(error: E) -> Self {
        Self::Failed(error)
    }
}
