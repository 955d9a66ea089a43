//! What a watch asks for next, and when: a function of what was answered so far. No clock, no client.
//!
//! A list goes on at the page that failed, for a list of hundreds of pages that began anew at each failure would hardly
//! ever end. Pauses grow with each attempt that brought nothing, and shrink back only where something was: a page, an
//! event, a watch that held.

use std::time::Duration;

use super::message::{ListMeta, Status};

/// The first pause; each further one is twice as long.
const FIRST: Duration = Duration::from_millis(500);
/// The first one behind a page that came: of hundreds of pages some fail, and everybody waits for the last one.
const FIRST_OF_PAGE: Duration = Duration::from_millis(50);
/// The longest one, unless the API server asks for more: what has been away is seen again within that time.
const LONGEST: Duration = Duration::from_secs(15);
/// The API server is left alone for as long as it asks, up to here: no answer blinds a replica for hours.
const LONGEST_ASKED: Duration = Duration::from_mins(2);
/// A watch that was open for so long has worked, even if there was nothing to report.
pub const HELD: Duration = Duration::from_secs(5);

/// A request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ask {
    /// A page: the first one, or the one behind the token.
    List {
        /// From the page before.
        token: Option<String>,
    },
    /// What happens after this version.
    Watch {
        /// Of the list, or of the last event.
        version: String,
    },
}

/// Why an attempt brought nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The API server refused, and may have said for how long to stay away.
    Refused(Box<Status>, Option<Duration>),
    /// It did not answer, or in the middle of it no more.
    NoAnswer(String),
}

/// What a page meant for the list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Listed {
    /// There are more pages.
    More,
    /// It was the last one.
    All {
        /// The state of the cluster that its first page showed.
        version: String,
        /// All pages showed that state. If not, something may have been missed between them.
        is_consistent: bool,
    },
}

/// See the module.
#[derive(Debug)]
pub struct Course {
    ask: Ask,
    /// Version of the first page of the list under way.
    listing: Option<String>,
    is_consistent: bool,
    /// Attempts since the last one that brought something.
    failures: u32,
    /// Lists begun since a watch last worked.
    lists: u32,
}

impl Default for Course {
    fn default() -> Self {
        Self { ask: Ask::List { token: None }, listing: None, is_consistent: true, failures: 0, lists: 0 }
    }
}

impl Course {
    /// What to ask for now.
    pub fn ask(&self) -> &Ask {
        &self.ask
    }

    /// A page has come.
    pub fn page(&mut self, meta: ListMeta) -> Listed {
        self.failures = 0;
        let first = self.listing.take().unwrap_or_else(|| meta.resource_version.clone());
        if meta.token.is_empty() {
            self.ask = Ask::Watch { version: meta.resource_version };
            return Listed::All { version: first, is_consistent: self.is_consistent };
        }
        self.listing = Some(first);
        self.ask = Ask::List { token: Some(meta.token) };
        Listed::More
    }

    /// The watch has reported everything up to this version.
    pub fn moved(&mut self, to: String) {
        self.held();
        self.ask = Ask::Watch { version: to };
    }

    /// The watch has ended without an error, after this time. How long to pause.
    pub fn ended(&mut self, after: Duration, dice: f64) -> Duration {
        if after >= HELD {
            self.held();
            return Duration::ZERO;
        }
        self.failures = self.failures.saturating_add(1);
        self.pause(dice)
    }

    /// The attempt has failed, for a watch after this time. How long to pause.
    pub fn failed(&mut self, failure: &Failure, after: Duration, dice: f64) -> Duration {
        if after >= HELD && matches!(self.ask, Ask::Watch { .. }) {
            self.held();
        }
        self.failures = self.failures.saturating_add(1);
        let mut asked = Duration::ZERO;
        if let Failure::Refused(status, retry_after) = failure {
            let in_status = Duration::from_secs(status.details.retry_after_seconds);
            asked = retry_after.unwrap_or_default().max(in_status).min(LONGEST_ASKED);
            self.refused(status);
        }
        self.pause(dice).max(asked)
    }

    /// The next request is for a list from its beginning.
    pub fn list_anew(&mut self) {
        self.ask = Ask::List { token: None };
        self.listing = None;
        self.is_consistent = true;
        self.lists = self.lists.saturating_add(1);
    }

    fn refused(&mut self, status: &Status) {
        let is_first = self.ask == Ask::List { token: None };
        let goes_on = matches!(self.ask, Ask::List { .. }) && !status.metadata.token.is_empty();
        if status.is_expired() && goes_on {
            self.ask = Ask::List { token: Some(status.metadata.token.clone()) };
            self.is_consistent = false;
        } else if !is_first && (status.is_expired() || is_final(status.code)) {
            self.list_anew();
        }
    }

    fn held(&mut self) {
        self.failures = 0;
        self.lists = 0;
    }

    fn pause(&self, dice: f64) -> Duration {
        let goes_on = matches!(self.ask, Ask::List { token: Some(_) });
        if goes_on && self.failures <= 1 {
            return jittered(FIRST_OF_PAGE, dice);
        }
        let attempts = self.failures.max(self.lists).saturating_sub(1 + u32::from(goes_on)).min(10);
        let longest = FIRST.saturating_mul(1 << attempts).min(LONGEST);
        jittered(longest, dice)
    }
}

/// `dice` is in 0..1: half of the pause is left to chance, so that a thousand watches do not come back at once.
fn jittered(longest: Duration, dice: f64) -> Duration {
    longest.mul_f64(0.5 + dice.clamp(0.0, 1.0) / 2.0)
}

/// The same request would be refused again: a token or version that is not understood, a kind that is gone. Not what
/// an administrator or time mends.
fn is_final(code: u16) -> bool {
    (400..500).contains(&code) && !matches!(code, 401 | 403 | 408 | 429)
}

#[cfg(test)]
mod tests;
