//! Which components have a copy in the cluster, and which of those nothing needs any more.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use coxswain_model::pin::Digest;
use tokio::time::Instant;

/// How long a copy must have been of no use before it is removed: a pin is seen some seconds after it was chosen.
const GRACE: Duration = Duration::from_mins(2);

/// Copies that are there, and since when nothing has needed them.
#[derive(Debug, Default)]
pub struct Copies {
    unneeded_since: BTreeMap<Digest, Option<Instant>>,
    /// The term in which they were listed: in between, another leader may have removed some.
    pub listed_in: Option<u64>,
}

impl Copies {
    /// These are there, and no others.
    pub fn relist(&mut self, listed: &[Digest], term: u64) {
        self.unneeded_since.retain(|digest, _| listed.contains(digest));
        for digest in listed {
            self.add(digest);
        }
        self.listed_in = Some(term);
    }

    /// One is there.
    pub fn add(&mut self, digest: &Digest) {
        self.unneeded_since.entry(digest.clone()).or_default();
    }

    /// One is there no more.
    pub fn remove(&mut self, digest: &Digest) {
        self.unneeded_since.remove(digest);
    }

    /// Whether it is there.
    pub fn contains(&self, digest: &Digest) -> bool {
        self.unneeded_since.contains_key(digest)
    }

    /// Those that nothing has needed for long enough.
    pub fn unneeded(&mut self, needed: &BTreeSet<Digest>, now: Instant) -> Vec<Digest> {
        let mut unneeded = Vec::new();
        for (digest, since) in &mut self.unneeded_since {
            if needed.contains(digest) {
                *since = None;
            } else if now.duration_since(*since.get_or_insert(now)) >= GRACE {
                unneeded.push(digest.clone());
            }
        }
        unneeded
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_goes_after_two_minutes_without_use_and_a_use_in_between_counts_anew() {
        let digest = Digest::of(b"1");
        let (none, all) = (BTreeSet::new(), BTreeSet::from([digest.clone()]));
        let mut copies = Copies::default();
        copies.add(&digest);
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);

        assert_eq!(copies.unneeded(&none, at(0)), []);
        assert_eq!(copies.unneeded(&none, at(119)), []);
        assert_eq!(copies.unneeded(&all, at(119)), []);
        assert_eq!(copies.unneeded(&none, at(121)), []);
        assert_eq!(copies.unneeded(&none, at(241)), [digest]);
    }

    #[test]
    fn a_copy_that_another_leader_removed_is_there_no_more() {
        let (gone, there) = (Digest::of(b"1"), Digest::of(b"2"));
        let mut copies = Copies::default();
        copies.add(&gone);

        copies.relist(std::slice::from_ref(&there), 2);

        assert!(copies.contains(&there) && !copies.contains(&gone));
        assert_eq!(copies.listed_in, Some(2));
    }
}
