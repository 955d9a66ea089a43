//! One kind's objects, by job: what a watch reported, and before it our own writes.
//!
//! The watch is the truth, but it is late: an object that we have just created comes back through it some
//! milliseconds later, and a reconcile in between would create it again. So the answer to a write is folded in at
//! once. Three rules keep that right:
//!
//! 1. A watch hands out changes in the order of their versions. What it has passed, it knows better than the
//!    answer to a write: an object whose deletion overtook the answer to its creation must not come back.
//! 2. What the watch reports of a version older than the one that stands here is no news.
//! 3. An object that only our own write speaks for is believed for [`UNCONFIRMED`], so that one which the watch
//!    will never show (its label was removed on the way in) costs a request now and then, not a wrong picture.

use std::{
    cmp::Ordering,
    collections::{BTreeMap, HashMap, HashSet, VecDeque},
    time::Duration,
};

use coxswain_model::observed::{Uid, Version};
use tokio::time::Instant;

use crate::key::JobKey;

/// How long an object is believed without the watch's word. Watches lag by seconds at worst; client-go's
/// controllers wait 5 minutes for creations that they expect, which here would delay the repair.
pub const UNCONFIRMED: Duration = Duration::from_secs(30);

/// One object, reduced to what decisions rest on.
pub trait Row: Clone {
    /// Identity.
    fn uid(&self) -> &Uid;
    /// Of the whole object.
    fn version(&self) -> Version;
    /// Takes over a newer version that changes nothing.
    fn set_version(&mut self, version: Version);
    /// The API server has accepted its deletion.
    fn set_deleting(&mut self);
    /// Order of rows of one job; equal for rows of one object name.
    fn order(&self, other: &Self) -> Ordering;
    /// Nothing differs but the version.
    fn is_same(&self, other: &Self) -> bool;
    /// It may ask DNS for the hosts of its job.
    fn asks_dns(&self) -> bool {
        false
    }
    /// What it was last counts also when it is gone.
    fn is_remembered(&self) -> bool {
        false
    }
}

/// A row that is to be remembered and is gone.
#[derive(Clone, Debug, PartialEq)]
pub struct Gone<R> {
    /// Its job.
    pub job: JobKey,
    /// As it was known last.
    pub row: R,
    /// The watch showed its end, so that this is its last state.
    pub is_final: bool,
}

/// In order, so that what is done for all of them is done in the same order every time.
type Rows<R> = BTreeMap<JobKey, Vec<R>>;

/// What a comparison with the API server has brought to light.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Repairs {
    /// Jobs of rows whose objects were gone. The rows are gone, too.
    pub ghosts: Vec<JobKey>,
    /// Objects that stood here not at all, or as they were before. A list has to bring them.
    pub lost: usize,
}

/// See the module. `R` is the kind.
#[derive(Debug)]
pub struct Table<R> {
    rows: Rows<R>,
    /// Under construction while the watch lists anew.
    relisted: Option<Rows<R>>,
    /// Objects that the list under way has shown, but that could not be decoded: their rows stay as they are.
    unread: HashSet<Uid>,
    /// Objects that left while the cache is compared with the API server.
    left_meanwhile: Option<HashSet<Uid>>,
    /// Highest version that the watch has shown.
    newest: Version,
    /// Rows that only our own writes speak for.
    unconfirmed: HashSet<Uid>,
    /// The same in the order of their ends; may name rows that have been confirmed since.
    ends: VecDeque<(Instant, JobKey, Uid)>,
    /// Jobs of rows that may have asked DNS until the watch showed their end.
    left: Vec<JobKey>,
    /// Rows that are to be remembered and are gone.
    gone: Vec<Gone<R>>,
}

impl<R> Default for Table<R> {
    fn default() -> Self {
        Self {
            rows: BTreeMap::new(),
            relisted: None,
            unread: HashSet::new(),
            left_meanwhile: None,
            newest: Version(0),
            unconfirmed: HashSet::new(),
            ends: VecDeque::new(),
            left: Vec::new(),
            gone: Vec::new(),
        }
    }
}

impl<R: Row> Table<R> {
    /// All rows of one job, in order.
    pub fn of(&self, job: &JobKey) -> &[R] {
        self.rows.get(job).map_or(&[], Vec::as_slice)
    }

    /// Jobs that have rows.
    pub fn jobs(&self) -> impl Iterator<Item = &JobKey> {
        self.rows.keys()
    }

    /// Number of rows.
    pub fn count(&self) -> usize {
        self.rows.values().map(Vec::len).sum()
    }

    /// The watch shows an object as it is now. True if that changes anything but its version.
    pub fn shown(&mut self, job: &JobKey, row: R) -> bool {
        self.newest = self.newest.max(row.version());
        self.unconfirmed.remove(row.uid());
        let rows = entry(&mut self.rows, job);
        match rows.binary_search_by(|other| other.order(&row)) {
            Ok(at) => rows.get_mut(at).is_some_and(|old| {
                let asked = old.asks_dns();
                let changed = replace(old, row);
                if asked && !old.asks_dns() {
                    self.left.push(job.clone());
                }
                changed
            }),
            Err(at) => {
                insert(rows, at, row);
                true
            }
        }
    }

    /// The watch shows an object's end. True if it stood here.
    pub fn ended(&mut self, job: &JobKey, row: &R) -> bool {
        self.newest = self.newest.max(row.version());
        self.unconfirmed.remove(row.uid());
        self.note_gone(row.uid());
        let removed = self.remove(job, row);
        if removed.as_ref().is_some_and(Row::asks_dns) {
            self.left.push(job.clone());
        }
        if row.is_remembered() && !self.of(job).iter().any(|other| other.order(row).is_eq()) {
            self.gone.push(Gone { job: job.clone(), row: row.clone(), is_final: true });
        }
        removed.is_some()
    }

    /// The watch begins to list anew; what stands here stays until [`Table::listed_all`].
    pub fn listing(&mut self) {
        self.relisted = Some(BTreeMap::new());
        self.unread.clear();
    }

    /// One object of the new list.
    pub fn listed(&mut self, job: &JobKey, row: R) {
        let Some(relisted) = &mut self.relisted else { return };
        put(entry(relisted, job), row);
    }

    /// One object of the new list that could not be decoded.
    pub fn listed_unread(&mut self, uid: &Uid) {
        self.unread.insert(uid.clone());
    }

    /// The list is complete and shows what there was at the version `listed`: it replaces what stood here, but for what
    /// we wrote after it was made. Returns the jobs for which that changes anything.
    pub fn listed_all(&mut self, listed: Version) -> Vec<JobKey> {
        let Some(mut fresh) = self.relisted.take() else { return Vec::new() };
        let unread = std::mem::take(&mut self.unread);
        // A list is the watch's word, too.
        for row in fresh.values().flatten() {
            self.unconfirmed.remove(row.uid());
        }
        for (job, rows) in &self.rows {
            let is_written_since = |row: &&R| row.version() > listed && row.version() > self.newest;
            for row in rows.iter().filter(|row| is_written_since(row) || unread.contains(row.uid())) {
                put(entry(&mut fresh, job), row.clone());
            }
        }
        // Not the higher one: a cluster that was restored from a backup counts from an earlier version on.
        self.newest = listed;
        let kept: HashSet<&Uid> = fresh.values().flatten().map(Row::uid).collect();
        self.unconfirmed.retain(|uid| kept.contains(uid));
        for (job, rows) in &self.rows {
            for row in rows.iter().filter(|row| row.is_remembered() && !kept.contains(row.uid())) {
                self.gone.push(Gone { job: job.clone(), row: row.clone(), is_final: false });
            }
        }
        drop(kept);
        let changed = differences(&self.rows, &fresh);
        let asking = |rows: &Rows<R>, job: &JobKey| -> HashSet<Uid> {
            let asking = rows.get(job).into_iter().flatten().filter(|row| row.asks_dns());
            asking.map(|row| row.uid().clone()).collect()
        };
        let left = changed.iter().filter(|job| !asking(&self.rows, job).is_subset(&asking(&fresh, job)));
        self.left.extend(left.cloned());
        self.rows = fresh;
        changed
    }

    /// A comparison with the API server begins, or was given up.
    pub fn checking(&mut self, begins: bool) {
        self.left_meanwhile = begins.then(HashSet::new);
    }

    /// Compares with the objects that the API server had at the version `at`, all of whose changes the watch has reported
    /// by now. Whatever is in `aside` is left out.
    pub fn check(&mut self, at: Version, objects: &HashMap<Uid, Version>, aside: &HashSet<Uid>) -> Repairs {
        let left = self.left_meanwhile.take().unwrap_or_default();
        let mut repairs = Repairs::default();
        let mut known = HashMap::new();
        let mut ghosts = Vec::new();
        for (job, rows) in &self.rows {
            for row in rows {
                let uid = row.uid();
                let is_old = row.version() <= at && !self.unconfirmed.contains(uid);
                if is_old && !objects.contains_key(uid) && !aside.contains(uid) {
                    ghosts.push((job.clone(), uid.clone()));
                }
                known.insert(uid, row.version());
            }
        }
        let is_lost = |(uid, version): &(&Uid, &Version)| {
            !left.contains(*uid)
                && !aside.contains(*uid)
                && known.get(*uid).is_none_or(|known| known < *version)
        };
        repairs.lost = objects.iter().filter(is_lost).count();
        for (job, uid) in ghosts {
            if self.find(&job, &uid).is_some_and(|row| row.asks_dns()) {
                self.left.push(job.clone());
            }
            self.gone(&job, &uid);
            repairs.ghosts.push(job);
        }
        repairs
    }

    /// Jobs of rows that may have asked DNS and, as the watch has shown since the last call, do so no more.
    pub fn left(&mut self) -> Vec<JobKey> {
        std::mem::take(&mut self.left)
    }

    /// Rows that are to be remembered and went since the last call.
    pub fn remembered(&mut self) -> Vec<Gone<R>> {
        std::mem::take(&mut self.gone)
    }

    /// The answer to our own write of an object. Does nothing if the watch has already passed that version.
    pub fn wrote(&mut self, job: &JobKey, row: R, now: Instant) {
        if row.version() <= self.newest {
            return;
        }
        let rows = entry(&mut self.rows, job);
        match rows.binary_search_by(|other| other.order(&row)) {
            Ok(at) => {
                if let Some(old) = rows.get_mut(at) {
                    let known = old.uid() == row.uid();
                    let uid = row.uid().clone();
                    if replace(old, row) && !known {
                        self.doubt(job, uid, now);
                    }
                }
            }
            Err(at) => {
                let uid = row.uid().clone();
                insert(rows, at, row);
                self.doubt(job, uid, now);
            }
        }
    }

    /// Our own delete of the object with this uid was accepted and gave it this version; it may take a while to
    /// be gone.
    pub fn deleting(&mut self, job: &JobKey, uid: &Uid, version: Version) {
        if let Some(row) = self.find(job, uid) {
            row.set_deleting();
            row.set_version(row.version().max(version));
        }
    }

    /// Our own write told that there is no object with this uid any more.
    pub fn gone(&mut self, job: &JobKey, uid: &Uid) {
        self.note_gone(uid);
        if let Some(rows) = self.rows.get_mut(job) {
            let gone = rows.extract_if(.., |row| row.uid() == uid).filter(Row::is_remembered);
            self.gone.extend(gone.map(|row| Gone { job: job.clone(), row, is_final: false }));
        }
        self.unconfirmed.remove(uid);
        self.tidy(job);
    }

    /// Drops rows that the watch has not confirmed in time. Returns their jobs.
    pub fn expire(&mut self, now: Instant) -> Vec<JobKey> {
        let mut jobs = Vec::new();
        while self.ends.front().is_some_and(|(end, ..)| *end <= now) {
            let Some((_, job, uid)) = self.ends.pop_front() else { break };
            if self.unconfirmed.contains(&uid) {
                self.gone(&job, &uid);
                jobs.push(job);
            }
        }
        jobs.dedup();
        jobs
    }

    fn note_gone(&mut self, uid: &Uid) {
        if let Some(left) = &mut self.left_meanwhile {
            left.insert(uid.clone());
        }
    }

    fn doubt(&mut self, job: &JobKey, uid: Uid, now: Instant) {
        self.unconfirmed.insert(uid.clone());
        self.ends.push_back((now + UNCONFIRMED, job.clone(), uid));
    }

    fn find(&mut self, job: &JobKey, uid: &Uid) -> Option<&mut R> {
        self.rows.get_mut(job)?.iter_mut().find(|row| row.uid() == uid)
    }

    /// A later object of the same name stays.
    fn remove(&mut self, job: &JobKey, row: &R) -> Option<R> {
        let rows = self.rows.get_mut(job)?;
        let at = rows.binary_search_by(|other| other.order(row)).ok()?;
        rows.get(at).filter(|old| old.uid() == row.uid())?;
        let removed = rows.remove(at);
        self.tidy(job);
        Some(removed)
    }

    fn tidy(&mut self, job: &JobKey) {
        if self.rows.get(job).is_some_and(Vec::is_empty) {
            self.rows.remove(job);
        }
    }
}

fn entry<'a, R>(rows: &'a mut Rows<R>, job: &JobKey) -> &'a mut Vec<R> {
    rows.entry(job.clone()).or_default()
}

/// Grows by an eighth: most kinds have one object a job, and room for four of each would be half of the index.
fn insert<R>(rows: &mut Vec<R>, at: usize, row: R) {
    if rows.len() == rows.capacity() {
        rows.reserve_exact(rows.len() / 8 + 1);
    }
    rows.insert(at, row);
}

/// Inserts or replaces, whatever the versions.
fn put<R: Row>(rows: &mut Vec<R>, row: R) {
    match rows.binary_search_by(|other| other.order(&row)) {
        Ok(at) => {
            if let Some(old) = rows.get_mut(at) {
                *old = row;
            }
        }
        Err(at) => insert(rows, at, row),
    }
}

/// Rule 2. True if anything but the version changed.
fn replace<R: Row>(old: &mut R, row: R) -> bool {
    if row.version() < old.version() {
        return false;
    }
    if old.is_same(&row) {
        old.set_version(row.version());
        return false;
    }
    *old = row;
    true
}

fn differences<R: Row>(old: &Rows<R>, new: &Rows<R>) -> Vec<JobKey> {
    let differs = |job: &JobKey| {
        let none = Vec::new();
        let (old, new) = (old.get(job).unwrap_or(&none), new.get(job).unwrap_or(&none));
        old.len() != new.len() || !old.iter().zip(new).all(|(a, b)| a.order(b).is_eq() && a.is_same(b))
    };
    let gone = old.keys().filter(|job| !new.contains_key(job));
    new.keys().chain(gone).filter(|job| differs(job)).cloned().collect()
}

#[cfg(test)]
mod tests;
