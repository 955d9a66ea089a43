//! What becomes of the objects of a kind of which the index has a table.

use std::{marker::PhantomData, sync::Arc};

use coxswain_model::observed::{Uid, Version};

use super::{
    check::Picture,
    cut::Cut,
    follow::Folds,
    read::{Read, Unreadable, read},
};
use crate::{
    events::Subject,
    index::{Index, Shared},
    key::JobKey,
    kind::{Facts, Watched},
    metadata::AnyObject,
    metrics::Metrics,
    table::Row as _,
    wake::{Cause, Wake},
    world,
};

/// Where the rows go, and who is notified.
#[derive(Clone)]
pub struct Target {
    /// Folded into.
    pub index: Shared,
    /// Notified which job to look at.
    pub wake: Wake,
    /// Counts what is set aside and repaired.
    pub metrics: Arc<Metrics>,
}

/// See the module.
pub struct Rows<K> {
    target: Target,
    kind: PhantomData<fn() -> K>,
}

impl<K: Watched> Rows<K> {
    /// Folded into the table of the kind.
    pub fn new(target: Target) -> Self {
        Self { target, kind: PhantomData }
    }

    /// Changes the index, notes what has left and wakes whom it concerns.
    fn fold(&self, change: impl FnOnce(&mut Index) -> Vec<(JobKey, Cause)>) {
        let woken = {
            let mut index = self.target.index.write();
            let woken = change(&mut index);
            index.note_left(world::now());
            woken
        };
        for (job, cause) in &woken {
            (self.target.wake)(job, *cause);
        }
    }

    /// Sets an object aside. Its row, if it has one, stays.
    fn set_aside(&self, index: &mut Index, object: &Unreadable<K::Row>) {
        let Facts { kind, api_version, .. } = K::FACTS;
        let (meta, why) = (&object.meta, &object.why);
        let text = |value: &Option<String>| value.clone().unwrap_or_default();
        let subject = Subject {
            api_version,
            kind,
            namespace: text(&meta.namespace),
            name: text(&meta.name),
            uid: text(&meta.uid),
            version: text(&meta.resource_version),
        };
        let (namespace, name) = (subject.namespace.clone(), subject.name.clone());
        if index.aside.put(subject, why.clone()) {
            self.target.metrics.watches().set_aside(kind);
            tracing::error!(kind, namespace, name, why, "an object is set aside until it changes");
        }
    }
}

/// The object can be decoded, or is no more. True if it was set aside.
fn back(index: &mut Index, kind: &'static str, object: &Cut) -> bool {
    // Nearly always, and its name is not worth decoding for.
    if index.aside.names(kind).next().is_none() {
        return false;
    }
    let meta = AnyObject::read(&object.json.clone().into()).metadata;
    let (namespace, name) = (meta.namespace.unwrap_or_default(), meta.name.unwrap_or_default());
    index.aside.take(kind, &JobKey::new(&namespace, &name))
}

impl<K: Watched> Folds for Rows<K> {
    const IS_CHECKED: bool = true;

    fn listing(&mut self) {
        self.fold(|index| {
            K::table(index).listing();
            index.aside.listing(K::FACTS.kind);
            Vec::new()
        });
    }

    fn listed(&mut self, object: &Cut) {
        let object = read::<K>(object);
        self.fold(|index| {
            match object {
                Read::Ours(job, row) => K::table(index).listed(&job, row),
                Read::Others => {}
                Read::Unreadable(object) => {
                    if let Some((_, row)) = &object.row {
                        K::table(index).listed_unread(row.uid());
                    }
                    self.set_aside(index, &object);
                }
            }
            Vec::new()
        });
    }

    fn listed_all(&mut self, version: Version) {
        self.fold(|index| {
            index.aside.listed_all(K::FACTS.kind);
            let changed = K::table(index).listed_all(version);
            // Whoever has just listed has not been told who is urgent.
            changed.into_iter().map(|job| (job, Cause::Other)).collect()
        });
    }

    fn shown(&mut self, object: &Cut) {
        let read = read::<K>(object);
        self.fold(|index| match read {
            Read::Ours(job, row) => {
                let was_aside = back(index, K::FACTS.kind, object);
                let table = K::table(index);
                let cause = K::cause(table.of(&job).first(), &row);
                let changed = table.shown(&job, row);
                if changed || was_aside { vec![(job, cause)] } else { Vec::new() }
            }
            Read::Others => {
                back(index, K::FACTS.kind, object);
                Vec::new()
            }
            Read::Unreadable(object) => {
                self.set_aside(index, &object);
                Vec::new()
            }
        });
    }

    fn ended(&mut self, object: &Cut) {
        let read = read::<K>(object);
        self.fold(|index| {
            back(index, K::FACTS.kind, object);
            let row = match read {
                Read::Ours(job, row) => Some((job, row)),
                Read::Others => None,
                Read::Unreadable(object) => object.row,
            };
            let ended = row.filter(|(job, row)| K::table(index).ended(job, row));
            ended.map(|(job, _)| (job, Cause::Child)).into_iter().collect()
        });
    }

    fn known(object: &Cut) -> Option<(Uid, Version)> {
        let (_, row) = serde_json::from_slice::<K>(&object.json).ok()?.row()?;
        Some((row.uid().clone(), row.version()))
    }

    fn checking(&mut self, begins: bool) {
        self.fold(|index| {
            K::table(index).checking(begins);
            Vec::new()
        });
    }

    fn check(&mut self, picture: &Picture) -> bool {
        let mut lost = 0;
        self.fold(|index| {
            let aside = index.aside.uids(K::FACTS.kind);
            let table = K::table(index);
            let repairs = table.check(picture.version, &picture.objects, &aside);
            lost = repairs.lost;
            let (kind, ghosts) = (K::FACTS.kind, repairs.ghosts.len());
            if ghosts + lost > 0 {
                self.target.metrics.watches().repaired(kind, ghosts + lost);
                let jobs: Vec<String> = repairs.ghosts.iter().take(3).map(ToString::to_string).collect();
                tracing::warn!(
                    kind,
                    ghosts,
                    lost,
                    jobs = jobs.join(", "),
                    "the cache differed from the API server and is mended"
                );
            }
            repairs.ghosts.into_iter().map(|job| (job, Cause::Other)).collect()
        });
        lost > 0
    }
}
