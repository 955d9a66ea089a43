//! What the cluster tests are written with: a namespace per test, jobs small enough that several fit on two cores,
//! waiting by watches with time limits that show the last state, and handles on the operator and on the audit log.

pub mod audit;
pub mod job;
pub mod objects;
pub mod operator;
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
