//! What became of plugins' requests, as far as this process knows, and how much of it the store holds.

use std::collections::BTreeMap;

use crate::state::Outcome;

/// By plugin. A process that does not lead decides too, and writes nothing: what it knows is ahead of the store then.
#[derive(Debug, Default)]
pub struct Known {
    here: BTreeMap<String, Outcome>,
    stored: BTreeMap<String, Outcome>,
}

impl Known {
    /// Takes over what the store holds.
    pub fn recall(&mut self, stored: BTreeMap<String, Outcome>) {
        self.here.clone_from(&stored);
        self.stored = stored;
    }

    /// Whether the store still holds what it held when it was last read or written: nobody else has decided anything.
    pub fn is_current(&self, stored: &BTreeMap<String, Outcome>) -> bool {
        self.stored == *stored
    }

    /// What is known of a plugin; of one that is new, nothing.
    pub fn of(&self, plugin: &str) -> Outcome {
        self.here.get(plugin).cloned().unwrap_or_default()
    }

    /// Plugins of which something is known.
    pub fn plugins(&self) -> impl Iterator<Item = &String> {
        self.here.keys()
    }

    /// Everything that is known.
    pub fn all(&self) -> impl Iterator<Item = &Outcome> {
        self.here.values()
    }

    /// Changes what is known of a plugin.
    pub fn change(&mut self, plugin: &str, change: impl FnOnce(&mut Outcome)) {
        change(self.here.entry(plugin.to_owned()).or_default());
    }

    /// What the store does not hold of a plugin.
    pub fn unsaved(&self, plugin: &str) -> Option<&Outcome> {
        let nothing = Outcome::default();
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

    fn refuse(outcome: &mut Outcome) {
        outcome.refuse(&Digest::of(b"1"), "it is broken");
    }

    #[test]
    fn what_was_decided_before_this_process_led_is_still_to_be_saved() {
        let mut known = Known::default();
        known.change("openmpi", refuse);

        let unsaved = known.unsaved("openmpi").cloned();
        known.change("openmpi", refuse);
        let still = known.unsaved("openmpi").cloned();
        known.saved("openmpi");

        assert!(unsaved.is_some() && unsaved == still);
        assert_eq!(known.unsaved("openmpi"), None);
    }

    #[test]
    fn a_change_that_changes_nothing_is_nothing_to_save() {
        let mut known = Known::default();

        known.change("openmpi", |outcome| outcome.candidate = None);

        assert_eq!(known.unsaved("openmpi"), None);
    }

    #[test]
    fn own_decisions_leave_the_store_current_and_those_of_another_process_do_not() {
        let mut known = Known::default();
        let mut stored = BTreeMap::from([("openmpi".to_owned(), Outcome::default())]);
        known.recall(stored.clone());
        known.change("mpich", refuse);

        assert!(known.is_current(&stored));
        stored.entry("openmpi".to_owned()).and_modify(refuse);
        assert!(!known.is_current(&stored));
        known.recall(stored);
        assert_eq!(known.of("mpich"), Outcome::default());
    }
}
