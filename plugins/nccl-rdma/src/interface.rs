//! The network interface that ranks meet on.

use alloc::{string::String, vec::Vec};

use coxswain_plugin_kit::{
    settings::Settings,
    types::{Group, Job},
};

use crate::{INTERFACE, profiles};

/// Which interface, and who says so.
pub struct Interface {
    /// One name, or several with commas between them; absent: the libraries find one.
    pub name: Option<String>,
    /// The setting or a claim named it: then every library gets it, whatever the profile's own lines say.
    pub is_told: bool,
    /// The launcher has it, too.
    pub is_drivers: bool,
    /// Claims that give some of the ranks another one, or none.
    pub is_uneven: bool,
}

/// The setting's; else the claims', if every pod that executes ranks has it; else that of the pod network. On the
/// node's network an interface is called whatever the node calls it.
pub fn of(job: &Job, settings: Settings) -> Interface {
    let told = |name: String, is_drivers| Interface {
        name: Some(name),
        is_told: true,
        is_drivers,
        is_uneven: false,
    };
    let given = settings.text(INTERFACE);
    if !given.is_empty() {
        return told(given.into(), false);
    }
    let mut claimed = job.groups.iter().filter(|group| group.runs_ranks).map(claimed);
    let first = claimed.next().unwrap_or_default();
    let is_even = claimed.all(|other| other == first);
    if !first.is_empty() && is_even {
        let is_drivers = job.groups.iter().any(|group| group.driver && self::claimed(group) == first);
        return told(first, is_drivers);
    }
    let host_network = job.groups.iter().any(|group| group.runs_ranks && group.host_network);
    Interface {
        name: (!host_network).then(|| profiles::INTERFACE.into()),
        is_told: false,
        is_drivers: true,
        is_uneven: !is_even,
    }
}

/// The interfaces that a group's claims bring, with commas between them.
fn claimed(group: &Group) -> String {
    let names: Vec<&str> =
        group.claims.iter().filter_map(|claim| claim.network_interface.as_deref()).collect();
    names.join(",")
}
