//! The status of the cluster's plugins: what each ConfigMap asks for, what became of it, and which jobs run by which
//! component.
//!
//! In: the ConfigMaps of the plugin namespace and the cluster's jobs, as [`gather`] reads them. Out: a [`PluginStatus`] for
//! each plugin, decided by [`statuses_of`] without a cluster.

pub mod gather;
pub mod gathered;

use std::collections::{BTreeMap, BTreeSet};

use coxswain_model::pin::{Digest, Pin};
use serde::Serialize;

use self::gathered::{About, Asked, Gathered, LiveJob};
use coxswain_plugins::store::{Refusal, Served, StoredStatus, Waiting};

/// The status of a plugin.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PluginStatus {
    /// Its name.
    pub name: String,
    /// In a word.
    pub state: State,
    /// Why its ConfigMap does not serve.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// What new jobs get.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub active: Option<Serving>,
    /// What its ConfigMap holds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requested: Option<Digest>,
    /// Its ConfigMaps, which should be one or none.
    pub config_maps: Vec<String>,
    /// Namespaces whose jobs may use it; empty: all.
    pub namespaces: String,
    /// What served before, newest first.
    pub earlier: Vec<Served>,
    /// What never serves.
    pub refused: Vec<Refusal>,
    /// Live jobs by the component that renders them, if they could be listed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pinned: Option<Vec<Pinned>>,
    /// Live jobs that wait because it broke on them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub faults: Option<Vec<Fault>>,
}

/// What its status comes down to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// What its ConfigMap holds serves new jobs.
    Active,
    /// It has no ConfigMap; the image's component serves.
    Image,
    /// An administrator went back to what served before.
    RolledBack,
    /// What its ConfigMap holds waits for approval.
    Held,
    /// What its ConfigMap holds was refused.
    Refused,
    /// Two ConfigMaps ask for it.
    Conflict,
    /// The operator has not looked at its ConfigMap yet.
    Unread,
    /// It does not serve new jobs; active jobs may still use it.
    Gone,
}

/// What new jobs get.
#[derive(Debug, Serialize)]
pub struct Serving {
    /// The component.
    pub digest: Digest,
    /// The administrator's settings.
    pub settings: BTreeMap<String, String>,
    /// What it says of itself, if its copy is there.
    #[serde(flatten)]
    pub about: Option<About>,
}

/// Jobs that one component renders until they end.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct Pinned {
    /// The component.
    pub digest: Digest,
    /// `namespace/name`, sorted.
    pub jobs: Vec<String>,
}

/// A job that a plugin broke on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Fault {
    /// `namespace/name`.
    pub job: String,
    /// What its condition says.
    pub message: String,
}

/// Every plugin that serves, is asked for, or renders a live job, by name.
pub fn statuses_of(gathered: &Gathered) -> Vec<PluginStatus> {
    let asked = gathered.asked.iter().map(|asked| asked.plugin.as_str());
    let pins = gathered.jobs.iter().flatten().filter_map(|job| job.pin.as_ref());
    let pinned = pins.flat_map(Pin::plugins).map(|pinned| pinned.name.as_str());
    let names: BTreeSet<&str> =
        gathered.statuses.keys().map(String::as_str).chain(asked).chain(pinned).collect();
    names.into_iter().map(|name| status(name, gathered)).collect()
}

fn status(name: &str, gathered: &Gathered) -> PluginStatus {
    let status = gathered.statuses.get(name).cloned().unwrap_or_default();
    let asked: Vec<&Asked> = gathered.asked.iter().filter(|asked| asked.plugin == name).collect();
    let (state, why) = state(&asked, &status);
    let requested = match asked.as_slice() {
        [Asked { request: Ok(request), .. }] => Some(request.candidate.digest.clone()),
        _ => None,
    };
    let active = status.active.map(|Served { digest, settings }| Serving {
        about: gathered.about.get(&digest).cloned(),
        digest,
        settings,
    });
    PluginStatus {
        name: name.to_owned(),
        state,
        why,
        active,
        requested,
        config_maps: asked.iter().map(|asked| asked.config_map.clone()).collect(),
        namespaces: status.access.to_string(),
        earlier: status.earlier,
        refused: status.refused,
        pinned: gathered.jobs.as_ref().map(|jobs| pinned(name, jobs)),
        faults: gathered.jobs.as_ref().map(|jobs| faults(name, jobs)),
    }
}

fn state(asked: &[&Asked], status: &StoredStatus) -> (State, Option<String>) {
    let request = match asked {
        [] if status.active.is_some() => return (State::Image, None),
        [] => return (State::Gone, None),
        [Asked { request: Ok(request), .. }] => request,
        [Asked { request: Err(why), .. }] => return (State::Refused, Some(why.clone())),
        _ => return (State::Conflict, Some("several ConfigMaps ask for it: remove all but one".into())),
    };
    let candidate = &request.candidate;
    let serves = |served: &Served| served.digest == candidate.digest && served.settings == candidate.settings;
    if status.active.as_ref().is_some_and(serves) {
        return (State::Active, None);
    }
    if request.rollback.as_ref().is_some_and(|rollback| rollback.from == request.identity()) {
        return (State::RolledBack, None);
    }
    match &status.candidate {
        Some(Waiting { digest, held, why }) if *digest == candidate.digest => {
            (if *held { State::Held } else { State::Refused }, Some(why.clone()))
        }
        _ => match status.refusal(&candidate.digest) {
            Some(why) => (State::Refused, Some(why.to_owned())),
            None => (State::Unread, None),
        },
    }
}

fn pinned(name: &str, jobs: &[LiveJob]) -> Vec<Pinned> {
    let mut by_digest: BTreeMap<&Digest, BTreeSet<&str>> = BTreeMap::new();
    for job in jobs {
        let plugins = job.pin.iter().flat_map(Pin::plugins);
        for pinned in plugins.filter(|pinned| pinned.name == name) {
            by_digest.entry(&pinned.digest).or_default().insert(&job.key);
        }
    }
    let own = |(digest, jobs): (&Digest, BTreeSet<&str>)| Pinned {
        digest: digest.clone(),
        jobs: jobs.into_iter().map(str::to_owned).collect(),
    };
    by_digest.into_iter().map(own).collect()
}

/// The condition's message begins with `plugin NAME@DIGEST`.
fn faults(name: &str, jobs: &[LiveJob]) -> Vec<Fault> {
    let beginning = format!("plugin {name}@");
    let fault = |job: &LiveJob| {
        let message = job.fault.clone().filter(|message| message.starts_with(&beginning))?;
        Some(Fault { job: job.key.clone(), message })
    };
    jobs.iter().filter_map(fault).collect()
}

#[cfg(test)]
mod tests;
