//! The variables that a job gets: the profile's, with the interface in its places, under the setting `set`.

use alloc::{string::String, vec::Vec};

use coxswain_plugin_kit::{
    plan,
    settings::Settings,
    types::{Job, Violation},
};

use crate::{SET, carrier, interface::Interface, profiles::Profile};

/// Stands for the interface in a profile's values.
const PLACEHOLDER: &str = "@";

/// A name and a value; names in a list are unique.
pub type Variable = (String, String);

/// What is wrong with the setting `set`.
pub fn mistakes(settings: Settings) -> Vec<Violation> {
    let wrong = |word: &String| {
        let Some((name, _)) = word.split_once('=') else {
            return Some([word, " must be NAME=VALUE, or NAME= to leave it out"].concat());
        };
        let known = carrier::of(name).is_some();
        (!known).then(|| {
            let prefixes: Vec<&str> = carrier::PREFIXES.iter().map(|(prefix, _)| *prefix).collect();
            [name, " is none of this plugin's, which begin with ", &prefixes.join(", ")].concat()
        })
    };
    let words = settings.words(SET);
    words.iter().filter_map(wrong).map(|text| plan::violation(SET, text)).collect()
}

/// In the order of the profile; what was added comes last.
pub fn of(job: &Job, profile: &Profile, interface: &Interface, settings: Settings) -> Vec<Variable> {
    let mut variables = Vec::new();
    for line in profile.values.iter().flat_map(|block| block.split('\n')) {
        if let Some((name, value)) = own(line, &job.flavor).split_once('=') {
            let value = if value == PLACEHOLDER { interface.name.as_deref() } else { Some(value) };
            put(&mut variables, name, value.unwrap_or_default());
        }
    }
    if let (Some(name), true) = (&interface.name, interface.is_told) {
        for variable in told(job, interface) {
            // libfabric and Hydra take one name.
            let first = name.split_once(',').map_or(&**name, |(first, _)| first);
            let is_list = ["NCCL_", "UCX_", "OMPI_"].iter().any(|prefix| variable.starts_with(prefix));
            put(&mut variables, variable, if is_list { name } else { first });
        }
    }
    for word in settings.words(SET) {
        if let Some((name, value)) = word.split_once('=') {
            put(&mut variables, name, value);
        }
    }
    variables.retain(|(_, value)| !value.is_empty());
    variables
}

/// What carries an interface that was told: the first contact of NCCL, UCX's devices, and the MPI's own parameter.
/// Hydra's is the launcher's interface, which the workers call back to.
fn told(job: &Job, interface: &Interface) -> impl Iterator<Item = &'static str> {
    let of_mpi: &[&str] = match (&*job.flavor, interface.is_drivers) {
        ("OpenMPI", _) => &["OMPI_MCA_btl_tcp_if_include"],
        ("Intel", true) => &["FI_TCP_IFACE", "I_MPI_HYDRA_IFACE"],
        ("MPICH", true) => &["FI_TCP_IFACE", "HYDRA_IFACE"],
        _ => &["FI_TCP_IFACE"],
    };
    ["NCCL_SOCKET_IFNAME", "UCX_NET_DEVICES"].into_iter().chain(of_mpi.iter().copied())
}

/// A line without its flavor; empty if the flavor is another.
fn own<'a>(line: &'a str, flavor: &str) -> &'a str {
    match line.split_once(' ') {
        Some((only, line)) if only == flavor => line,
        Some(_) => "",
        None => line,
    }
}

/// The last value counts, in the place of the first. Open MPI refuses an include beside an exclude.
fn put(variables: &mut Vec<Variable>, name: &str, value: &str) {
    const BTL: (&str, &str) = ("OMPI_MCA_btl_tcp_if_include", "OMPI_MCA_btl_tcp_if_exclude");
    if name == BTL.0 && !value.is_empty() {
        variables.retain(|(other, _)| other != BTL.1);
    }
    match variables.iter_mut().find(|(other, _)| other == name) {
        Some((_, old)) => *old = value.into(),
        None => variables.push((name.into(), value.into())),
    }
}
