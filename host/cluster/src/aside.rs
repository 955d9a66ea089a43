//! Objects that cannot be decoded, or not at a price that one tenant may cost all. They are set aside: what is known of
//! them stays as it is, an event says so to their owner, and they are looked at again when they change.

use std::collections::{BTreeMap, HashSet};

use coxswain_model::{observed::Uid, status::Event};

use crate::{events::Subject, key::JobKey};

/// Kind, namespace and name.
type Name = (&'static str, JobKey);

/// The objects that are set aside now.
#[derive(Debug, Default)]
pub struct Aside(BTreeMap<Name, Entry>);

#[derive(Debug)]
struct Entry {
    subject: Subject,
    why: String,
    is_reported: bool,
    /// The list under way has shown it.
    is_listed: bool,
}

impl Aside {
    /// Sets an object aside. True if it was not, or for another reason.
    pub fn put(&mut self, subject: Subject, why: String) -> bool {
        let name = (subject.kind, JobKey::new(&subject.namespace, &subject.name));
        match self.0.get_mut(&name) {
            Some(entry) if entry.subject.uid == subject.uid && entry.why == why => {
                entry.subject = subject;
                entry.is_listed = true;
                false
            }
            _ => {
                self.0.insert(name, Entry { subject, why, is_reported: false, is_listed: true });
                true
            }
        }
    }

    /// The object of this name can be decoded again, or is no more. True if it was set aside.
    pub fn take(&mut self, kind: &'static str, name: &JobKey) -> bool {
        self.0.remove(&(kind, name.clone())).is_some()
    }

    /// An object of this kind and name is set aside.
    pub fn holds(&self, kind: &'static str, name: &JobKey) -> bool {
        !self.0.is_empty() && self.0.contains_key(&(kind, name.clone()))
    }

    /// Names of the objects of this kind.
    pub fn names(&self, kind: &'static str) -> impl Iterator<Item = &JobKey> {
        self.0.keys().filter(move |(of, _)| *of == kind).map(|(_, name)| name)
    }

    /// Uids of the same.
    pub fn uids(&self, kind: &'static str) -> HashSet<Uid> {
        let entries = self.0.iter().filter(|((of, _), _)| *of == kind);
        entries.map(|(_, entry)| Uid::from(entry.subject.uid.as_str())).collect()
    }

    /// How many there are, by kind.
    pub fn counts(&self) -> BTreeMap<&'static str, usize> {
        let mut counts = BTreeMap::new();
        for (kind, _) in self.0.keys() {
            *counts.entry(*kind).or_default() += 1;
        }
        counts
    }

    /// The watch begins to list a kind anew.
    pub fn listing(&mut self, kind: &'static str) {
        self.0.iter_mut().filter(|((of, _), _)| *of == kind).for_each(|(_, entry)| entry.is_listed = false);
    }

    /// The list is complete: what it did not show is no more.
    pub fn listed_all(&mut self, kind: &'static str) {
        self.0.retain(|(of, _), entry| *of != kind || entry.is_listed);
    }

    /// Events for the owners of those that were not reported yet. Only who may write asks.
    pub fn unreported(&mut self) -> Vec<(Subject, Event)> {
        let unreported = self.0.values_mut().filter(|entry| !entry.is_reported);
        unreported
            .map(|entry| {
                entry.is_reported = true;
                let message = format!(
                    "It is set aside and everything that belongs to it stays as it is: {}. Once it changes, it is looked \
                     at again",
                    entry.why
                );
                let event = Event { warning: true, reason: "Undecodable".to_owned(), message };
                (entry.subject.clone(), event)
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn subject(name: &str, uid: &str) -> Subject {
        Subject {
            api_version: "kubeflow.org/v2beta1",
            kind: "MPIJob",
            namespace: "team-a".into(),
            name: name.into(),
            uid: uid.into(),
            version: "1".into(),
        }
    }

    fn reported(aside: &mut Aside) -> Vec<String> {
        aside.unreported().into_iter().map(|(subject, _)| subject.name).collect()
    }

    #[test]
    fn an_object_is_told_of_once_for_each_reason_and_life() {
        let mut aside = Aside::default();

        assert!(aside.put(subject("pi", "1"), "deep".into()));
        assert_eq!(reported(&mut aside), ["pi"]);
        assert!(!aside.put(subject("pi", "1"), "deep".into()), "a change that mends nothing is no news");
        assert_eq!(reported(&mut aside), [""; 0]);

        assert!(aside.put(subject("pi", "1"), "large".into()));
        assert!(aside.put(subject("pi", "2"), "large".into()));
        assert_eq!(reported(&mut aside), ["pi"]);
    }

    #[test]
    fn what_a_list_does_not_show_is_no_longer_set_aside() {
        let mut aside = Aside::default();
        aside.put(subject("pi", "1"), "deep".into());
        aside.put(subject("e", "2"), "deep".into());

        aside.listing("MPIJob");
        aside.put(subject("e", "2"), "deep".into());
        aside.listed_all("Pod");
        assert_eq!(aside.names("MPIJob").count(), 2);
        aside.listed_all("MPIJob");

        assert!(aside.holds("MPIJob", &JobKey::new("team-a", "e")));
        assert!(!aside.holds("MPIJob", &JobKey::new("team-a", "pi")));
        assert!(aside.take("MPIJob", &JobKey::new("team-a", "e")));
        assert!(!aside.take("MPIJob", &JobKey::new("team-a", "e")));
    }
}
