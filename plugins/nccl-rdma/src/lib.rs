//! Tuner plugin for RDMA networks: what NCCL, RCCL, UCX, libfabric and the MPI need on a platform, brought to the ranks.
//!
//! A job's pods tell which platform it is by the devices that they ask for, or the setting `profile` says it; where
//! neither does, nothing happens. The platforms are data ([`profiles`]). The user's own values stay: those of his
//! variables, those of his command, and files that he mounts himself.

#![cfg_attr(target_arch = "wasm32", no_std)]

extern crate alloc;

mod asked;
mod bindings;
mod carrier;
mod interface;
mod profiles;
mod tuning;
mod variables;

use alloc::{string::String, vec, vec::Vec};

use bindings::exports::coxswain::plugin::{about, tuner};
use coxswain_plugin_kit::{
    plan,
    settings::{self, Declared, Kind, Settings},
    types::{Failure, Job, Plan, Setting, Violation},
};

coxswain_plugin_kit::without_std!();

const PROFILE: &str = "profile";
const INTERFACE: &str = "interface";
const SET: &str = "set";
const SHARED_MEMORY: &str = "shared-memory";
const LOCK_MEMORY: &str = "lock-memory";
const FORWARD: &str = "forward";
const EXPLAIN: &str = "explain";

/// Of the setting `profile`.
const AUTO: &str = "auto";
/// Of the settings `profile` and `shared-memory`.
const NONE: &str = "none";
/// Of the setting `forward`: where it can be seen that nothing stands against it, in any case, not at all.
const FORWARDS: [&str; 3] = ["auto", "always", "never"];

const SETTINGS: &[Declared] = &[
    Declared {
        key: PROFILE,
        kind: Kind::OneOf(&profiles::CHOICES),
        default: AUTO,
        summary: "the platform; auto: by the devices and claims that the pods ask for; none: nothing is tuned",
    },
    Declared {
        key: INTERFACE,
        kind: Kind::Text,
        default: "",
        summary: "network interface of the ranks' first contact and of the MPI; empty: that of a device claim, else the \
                  profile's",
    },
    Declared {
        key: SET,
        kind: Kind::Words,
        default: "",
        summary: "variables over the profile's, each NAME=VALUE, or NAME= to leave one out",
    },
    Declared {
        key: SHARED_MEMORY,
        kind: Kind::Text,
        default: "",
        summary: "size of /dev/shm to ask for, such as 16Gi; empty: no size of its own; none: do not ask",
    },
    Declared { key: LOCK_MEMORY, kind: Kind::Flag, default: "true", summary: "ask for IPC_LOCK" },
    Declared {
        key: FORWARD,
        kind: Kind::OneOf(&FORWARDS),
        default: "auto",
        summary: "have Open MPI hand variables on to the ranks; auto: where the launcher's command can be seen to have no -x",
    },
    Declared {
        key: EXPLAIN,
        kind: Kind::Flag,
        default: "false",
        summary: "say in an event which profile a job got, why, and what its pods have to bring",
    },
];

struct NcclRdma;

impl about::Guest for NcclRdma {
    fn describe() -> about::Descriptor {
        about::Descriptor {
            name: "nccl-rdma".into(),
            version: env!("CARGO_PKG_VERSION").into(),
            summary: "NCCL, UCX, libfabric and MPI on RDMA networks".into(),
            serves: vec![],
            settings: settings::kinds(SETTINGS),
            reads_env: prefixes(),
            writes_env: prefixes(),
            reads_annotations: vec![],
        }
    }

    fn check_settings(settings: Vec<Setting>) -> Vec<Violation> {
        mistakes(&settings)
    }
}

impl tuner::Guest for NcclRdma {
    fn tune(job: Job, so_far: Plan) -> Result<Plan, Failure> {
        let violations = mistakes(&job.settings);
        if !violations.is_empty() {
            return Err(Failure::Invalid(violations));
        }
        let settings = Settings::parse(SETTINGS, &job.settings)?;
        let (profile, why) = match settings.text(PROFILE) {
            AUTO => asked::profile(&job).unzip(),
            name => (profiles::named(name), Some("the settings say so".into())),
        };
        let mut plan =
            profile.map(|profile| tuning::plan(&job, &so_far, profile, settings)).unwrap_or_default();
        if settings.flag(EXPLAIN) {
            plan.notes.insert(0, plan::remark(explanation(profile, &why.unwrap_or_default())));
        }
        Ok(plan.into())
    }
}

/// Every variable begins with one of these.
fn prefixes() -> Vec<String> {
    carrier::PREFIXES.iter().map(|(prefix, _)| (*prefix).into()).collect()
}

/// Everything that is wrong with the settings.
fn mistakes(given: &[Setting]) -> Vec<Violation> {
    let mut violations = settings::check(SETTINGS, given);
    if let Ok(settings) = Settings::parse(SETTINGS, given) {
        violations.extend(variables::mistakes(settings));
        violations.extend(refusal(settings.text(PROFILE)));
    }
    violations
}

/// Why a job cannot have the profile of this name.
fn refusal(name: &str) -> Option<Violation> {
    let profile = profiles::named(name).filter(|profile| !profile.refused.is_empty())?;
    Some(plan::violation(PROFILE, [name, " is not to be had: ", profile.refused].concat()))
}

fn explanation(profile: Option<&profiles::Profile>, why: &str) -> String {
    let Some(profile) = profile else {
        return "no profile: nothing that the pods ask for names a platform".into();
    };
    let mut text = ["profile ", profile.name, ": ", why].concat();
    if !profile.needs.is_empty() {
        text.push_str("; the pods need ");
        text.push_str(profile.needs);
    }
    text
}
