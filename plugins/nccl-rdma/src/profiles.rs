//! What each platform wants: data, one file a profile, each with its source.
//!
//! A profile's `values` are lines `NAME=VALUE`; a line `FLAVOR NAME=VALUE` counts for jobs of that `mpiImplementation`
//! alone. The value `@` is the network interface of the first contact: [`INTERFACE`], or what the job says. Where a name
//! goes is decided by its prefix ([`crate::carrier`]).
//!
//! Left out of every profile: what only an image can know (`LD_LIBRARY_PATH`), how ssh is called (the launcher
//! plugin's), and values that are the library's own defaults.

#![allow(clippy::doc_markdown, reason = "product names")]

mod alibaba_erdma;
mod amd_ainic;
mod aws_efa;
mod aws_efa_dranet;
mod aws_efa_old;
mod aws_efa_presets;
mod azure_gb300;
mod azure_mi300x;
mod azure_nd;
mod coreweave_ib;
mod coreweave_ib_a100;
mod coreweave_ib_sharp;
mod coreweave_nvl72;
mod coreweave_spectrum_x;
mod dranet;
mod gke_gib;
mod gke_gib_a3u;
mod gke_tcpx;
mod gke_tcpxo;
mod infiniband;
mod oke_gb200;
mod oke_gb200_mnnvl;
mod oke_roce;
mod roce;

/// The pod network's interface, as nearly every network plugin names it.
pub const INTERFACE: &str = "eth0";

/// One platform.
pub struct Profile {
    /// What the setting `profile` says.
    pub name: &'static str,
    /// Lines, see above; in blocks, as platforms share some.
    pub values: &'static [&'static str],
    /// What the pods have to bring themselves, for people; empty if nothing.
    pub needs: &'static str,
    /// Not empty: a job cannot have this profile, because this is missing that no plugin can bring.
    pub refused: &'static str,
    /// For AMD's GPUs, whose library reads a file of another name.
    pub is_for_rccl: bool,
}

impl Profile {
    /// Complete as environment, files and capabilities.
    const fn complete(name: &'static str, values: &'static [&'static str]) -> Self {
        Self { name, values, needs: "", refused: "", is_for_rccl: false }
    }

    /// The same, where the pods have to bring something.
    const fn needing(name: &'static str, values: &'static [&'static str], needs: &'static str) -> Self {
        Self { name, values, needs, refused: "", is_for_rccl: false }
    }

    const fn for_rccl(self) -> Self {
        Self { is_for_rccl: true, ..self }
    }

    /// Not to be had.
    const fn refused(name: &'static str, refused: &'static str) -> Self {
        Self { name, values: &[], needs: "", refused, is_for_rccl: false }
    }
}

/// Every profile, by name.
const ALL: [&Profile; 24] = [
    &alibaba_erdma::PROFILE,
    &amd_ainic::PROFILE,
    &aws_efa::PROFILE,
    &aws_efa_dranet::PROFILE,
    &aws_efa_old::PROFILE,
    &aws_efa_presets::PROFILE,
    &azure_gb300::PROFILE,
    &azure_mi300x::PROFILE,
    &azure_nd::PROFILE,
    &coreweave_ib::PROFILE,
    &coreweave_ib_a100::PROFILE,
    &coreweave_ib_sharp::PROFILE,
    &coreweave_nvl72::PROFILE,
    &coreweave_spectrum_x::PROFILE,
    &dranet::PROFILE,
    &gke_gib::PROFILE,
    &gke_gib_a3u::PROFILE,
    &gke_tcpx::PROFILE,
    &gke_tcpxo::PROFILE,
    &infiniband::PROFILE,
    &oke_gb200::PROFILE,
    &oke_gb200_mnnvl::PROFILE,
    &oke_roce::PROFILE,
    &roce::PROFILE,
];

/// Choices of the setting `profile`: none at all, by what the pods ask for, or one by name.
#[allow(clippy::indexing_slicing, reason = "evaluated by the compiler, which refuses what is out of range")]
pub const CHOICES: [&str; ALL.len() + 2] = {
    let mut names = ["none"; ALL.len() + 2];
    names[1] = "auto";
    let mut index = 0;
    while index < ALL.len() {
        names[index + 2] = ALL[index].name;
        index += 1;
    }
    names
};

/// The profile of this name.
pub fn named(name: &str) -> Option<&'static Profile> {
    ALL.into_iter().find(|profile| profile.name == name)
}
