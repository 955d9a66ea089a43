//! `ValidJob`: a job that cannot be wrong. Parsing applies the defaults and the rules of the MPI Operator, in
//! its order and words; behind it nothing looks at the raw object again.

mod claims;
mod group;
mod groups;
mod ignored;
mod options;
mod parse;
mod run_policy;
pub(crate) mod sizes;
mod valid_job;
pub mod violation;

pub use self::{
    group::Group,
    groups::Groups,
    options::{DEFAULT_GATE_TIMEOUT, JobGang, JobOptions, LostWorker},
    parse::Verdict,
    run_policy::CleanPodPolicy,
    valid_job::{LauncherCreation, ValidJob},
};

#[cfg(test)]
mod tests;
