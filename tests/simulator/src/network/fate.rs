//! What becomes of a request on its way.

use std::time::Duration;

use tokio::time::Instant;

use crate::{dice::Dice, server::ask::Raw};

/// Of one request.
#[derive(Clone, Copy, Debug)]
pub struct Fate {
    /// Until it has its effect.
    pub there: Duration,
    /// From then until the answer is there.
    pub back: Duration,
    /// What becomes of it.
    pub how: How,
}

/// What becomes of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// As it should be.
    Answered,
    /// Without an effect.
    Refused {
        /// HTTP status.
        code: u16,
        /// `reason`.
        reason: &'static str,
        /// In a header.
        retry_after: Option<Duration>,
    },
    /// With its effect, and an answer that does not tell.
    AnsweredWith {
        /// HTTP status.
        code: u16,
        /// `reason`.
        reason: &'static str,
    },
    /// The connection ends.
    Reset {
        /// After the effect.
        has_effect: bool,
    },
    /// No answer ever comes.
    Silence {
        /// The effect comes.
        has_effect: bool,
    },
}

/// Decides on fates.
pub trait Weather: Send {
    /// Of a request that is sent now. Draws by name.
    fn fate(&mut self, dice: &Dice, now: Instant, who: &str, raw: &Raw) -> Fate;
}

/// Everything arrives, in a few milliseconds.
pub struct Calm;

impl Calm {
    /// A fate without a fault.
    pub fn fate(dice: &Dice, who: &str, raw: &Raw) -> Fate {
        let path = raw.uri.split_once('?').map_or(&*raw.uri, |(path, _)| path);
        let drawn = |what| {
            let (least, most) = (Duration::from_millis(1), Duration::from_millis(6));
            dice.between(least, most, &[what, who, raw.method.as_str(), path])
        };
        Fate { there: drawn("there"), back: drawn("back"), how: How::Answered }
    }
}

impl Weather for Calm {
    fn fate(&mut self, dice: &Dice, _: Instant, who: &str, raw: &Raw) -> Fate {
        Self::fate(dice, who, raw)
    }
}
