//! When launchers left, by job name. DNS remembers for a while what they asked for, also where the job is gone by then
//! and another one has its name; [`coxswain_model::gate`] holds that one's launcher back meanwhile.
//!
//! In go the jobs of pods that left ([`super::table::Table::left`]) and the time; out comes the last time of one job. It
//! holds one time for each job of which a launcher left within [`DNS_CACHE`], and knows nothing that happened before this
//! process listed pods. A standby has watches of its own, so whoever takes over knows.

use std::collections::HashMap;

use coxswain_model::gate::DNS_CACHE;
use jiff::Timestamp;

use crate::key::JobKey;

/// See the module.
#[derive(Debug, Default)]
pub struct LauncherExits(HashMap<JobKey, Timestamp>);

impl LauncherExits {
    /// A launcher of a job of this name has left.
    pub fn left(&mut self, job: JobKey, now: Timestamp) {
        self.0.insert(job, now);
    }

    /// When the last launcher of a job of this name left, if DNS may still know what it asked for.
    pub fn last(&self, job: &JobKey) -> Option<Timestamp> {
        self.0.get(job).copied()
    }

    /// Releases what DNS has forgotten, too.
    pub fn expire(&mut self, now: Timestamp) {
        self.0.retain(|_, left| left.checked_add(DNS_CACHE).is_ok_and(|forgotten| now < forgotten));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_dns_has_forgotten_is_forgotten() {
        let (early, late) = (JobKey::new("team-a", "early"), JobKey::new("team-a", "late"));
        let noon: Timestamp = "2026-01-01T12:00:00Z".parse().unwrap();
        let mut launcher_exits = LauncherExits::default();
        launcher_exits.left(early.clone(), noon);
        launcher_exits.left(late.clone(), noon);
        launcher_exits.left(late.clone(), noon + DNS_CACHE / 2);

        launcher_exits.expire(noon + DNS_CACHE);

        assert_eq!(launcher_exits.last(&early), None);
        assert_eq!(launcher_exits.last(&late), Some(noon + DNS_CACHE / 2));
        launcher_exits.expire(noon + 2 * DNS_CACHE);
        assert_eq!(launcher_exits.0.len(), 0);
    }
}
