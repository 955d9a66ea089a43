//! What the cluster tests are written with: a namespace per test, jobs small enough that several fit on two cores,
//! waiting by watches with time limits that show the last state, and handles on the operator and on the audit log.

pub mod audit;
pub mod bed;
pub mod job;
pub mod objects;
pub mod operator;
pub mod process;
pub mod space;
#[cfg(test)]
mod suite;
pub mod tool;
pub mod watch;

pub use self::{
    job::Job,
    objects::{Object, Objects},
    operator::Operator,
    space::Space,
};

/// `tests/cluster/run long` asks for the long forms: more runs of what could fail now and then.
pub fn is_long() -> bool {
    std::env::var_os("COXSWAIN_LONG").is_some()
}
