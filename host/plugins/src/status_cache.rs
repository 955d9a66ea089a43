//! What became of plugins' requests, as far as this process knows, and how much of that the store holds.

use std::collections::BTreeMap;

use crate::store::StoredStatus;

/// By plugin. A process that does not lead decides too, and writes nothing: what it knows is ahead of the store then.
#[derive(Debug, Default)]
pub struct StatusCache {
    here: BTreeMap<String, StoredStatus>,
    stored: BTreeMap<String, StoredStatus>,
}

impl StatusCache {
    /// Takes over what the store holds.
    pub fn recall(&mut self, stored: BTreeMap<String, StoredStatus>) {
        self.here.clone_from(&stored);
        self.stored = stored;
    }

    /// Whether the store still holds what it held when it was last read or written: nobody else has decided anything.
    pub fn is_current(&self, stored: &BTreeMap<String, StoredStatus>) -> bool {
        self.stored == *stored
    }

    /// What is known of a plugin; of one that is new, nothing.
    pub fn of(&self, plugin: &str) -> StoredStatus {
        self.here.get(plugin).cloned().unwrap_or_default()
    }

    /// Plugins of which something is known.
    pub fn plugins(&self) -> impl Iterator<Item = &String> {
        self.here.keys()
    }

    /// Everything that is known.
    pub fn all(&self) -> impl Iterator<Item = &StoredStatus> {
        self.here.values()
    }

    /// Changes what is known of a plugin.
    pub fn change(&mut self, plugin: &str, change: impl FnOnce(&mut StoredStatus)) {
        change(self.here.entry(plugin.to_owned()).or_default());
    }

    /// What the store does not hold of a plugin.
    pub fn unsaved(&self, plugin: &str) -> Option<&StoredStatus> {
        let nothing = StoredStatus::default();
        let stored = self.stored.get(plugin).unwrap_or(&nothing);
        self.here.get(plugin).filter(|here| *here != stored)
    }

    /// The store holds it now.
    pub fn saved(&mut self, plugin: &str) {
        let here = self.of(plugin);
        self.stored.insert(plugin.to_owned(), here);
    }
}

#[cfg(test)]
mod tests {
    use coxswain_model::pin::Digest;

    use super::*;

    fn refuse(status: &mut StoredStatus) {
        status.refuse(&Digest::of(b"1"), "it is broken");
    }

    #[test]
    fn what_was_decided_before_this_process_led_is_still_to_be_saved() {
        let mut cache = StatusCache::default();
        cache.change("openmpi", refuse);

        let unsaved = cache.unsaved("openmpi").cloned();
        cache.change("openmpi", refuse);
        let still = cache.unsaved("openmpi").cloned();
        cache.saved("openmpi");

        assert!(unsaved.is_some() && unsaved == still);
        assert_eq!(cache.unsaved("openmpi"), None);
    }

    #[test]
    fn a_change_that_changes_nothing_is_nothing_to_save() {
        let mut cache = StatusCache::default();

        cache.change("openmpi", |status| status.candidate = None);

        assert_eq!(cache.unsaved("openmpi"), None);
    }

    #[test]
    fn own_decisions_leave_the_store_current_and_those_of_another_process_do_not() {
        let mut cache = StatusCache::default();
        let mut stored = BTreeMap::from([("openmpi".to_owned(), StoredStatus::default())]);
        cache.recall(stored.clone());
        cache.change("mpich", refuse);

        assert!(cache.is_current(&stored));
        stored.entry("openmpi".to_owned()).and_modify(refuse);
        assert!(!cache.is_current(&stored));
        cache.recall(stored);
        assert_eq!(cache.of("mpich"), StoredStatus::default());
    }
}
