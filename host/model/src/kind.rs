//! What a kind of job is, as data: its roles, how the pods of each come about, and which role decides how a job ends.
//!
//! A job has a group of pods ([`crate::job::Group`]) for the driver role and for each other role that its user asks for. The
//! driver starts the run and decides: the job runs once the driver and all others do, it succeeds when the driver is
//! complete, and fails when the driver fails. One headless Service names all pods.

mod pod_id;
mod reasons;
mod restart_policy;
mod role;
#[cfg(test)]
pub(crate) mod three_roles;

pub use self::{
    pod_id::PodId,
    reasons::Reasons,
    restart_policy::RestartPolicy,
    role::{Replicas, Role, RoleId, RunBy},
};
use crate::api::{labels, resource};

/// A kind of job.
#[derive(Debug, PartialEq, Eq)]
pub struct JobKind {
    /// `kind` of its objects.
    pub name: &'static str,
    /// `apiVersion` of its objects.
    pub api_version: &'static str,
    /// Where the replica specs of its roles stand.
    pub replica_specs: &'static str,
    /// What begins with its name.
    pub reasons: Reasons,
    driver: Role,
    others: &'static [Role],
}

/// The role of an `MPIJob` that runs `mpirun`.
pub const LAUNCHER: RoleId = RoleId::new(0, RunBy::Job);
/// The role of an `MPIJob` whose pods are reached by ssh.
pub const WORKER: RoleId = RoleId::new(1, RunBy::Pods);

/// `MPIJob`, with the MPI Operator's defaults. A `Worker` block without `replicas` counts as 0 there and is refused.
pub static MPI_JOB: JobKind = JobKind {
    name: resource::KIND,
    api_version: resource::API_VERSION,
    replica_specs: "spec.mpiReplicaSpecs",
    reasons: Reasons {
        created: "MPIJobCreated",
        running: "MPIJobRunning",
        suspended: "MPIJobSuspended",
        resumed: "MPIJobResumed",
        succeeded: "MPIJobSucceeded",
        failed: "MPIJobFailed",
        evicted: "MPIJobEvicted",
    },
    driver: Role {
        id: LAUNCHER,
        key: resource::REPLICA_LAUNCHER,
        name: labels::ROLE_LAUNCHER,
        replicas: Replicas::Exactly(1),
        default_replicas: 1,
        default_restart: RestartPolicy::OnFailure,
    },
    others: &[Role {
        id: WORKER,
        key: resource::REPLICA_WORKER,
        name: labels::ROLE_WORKER,
        replicas: Replicas::AtLeast(1),
        default_replicas: 0,
        default_restart: RestartPolicy::Never,
    }],
};

impl JobKind {
    /// Path of a field of that role's replica spec, for people.
    pub fn path(&self, role: &Role, field: &str) -> String {
        format!("{}[{}].{field}", self.replica_specs, role.key)
    }

    /// The role that decides.
    pub fn driver(&self) -> &Role {
        &self.driver
    }

    /// All others, in an order that stays.
    pub fn others(&self) -> &'static [Role] {
        self.others
    }

    /// All roles, the driver first.
    pub fn roles(&self) -> impl Iterator<Item = &Role> {
        std::iter::once(&self.driver).chain(self.others)
    }

    /// Those whose pods the operator makes itself.
    pub fn run_by_pods(&self) -> impl Iterator<Item = &Role> {
        self.roles().filter(|role| role.id.run_by() == RunBy::Pods)
    }

    /// The role of that id; one that no role of the kind has counts as the driver's.
    pub fn role(&self, id: RoleId) -> &Role {
        self.others.iter().find(|role| role.id == id).unwrap_or(&self.driver)
    }

    /// The role of that name.
    pub fn named(&self, name: &str) -> Option<&Role> {
        self.roles().find(|role| role.name == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_roles_of_an_mpijob_are_known_by_name_and_by_constant() {
        let names: Vec<_> = MPI_JOB.roles().map(|role| (role.id, role.name)).collect();

        assert_eq!(names, [(LAUNCHER, "launcher"), (WORKER, "worker")]);
        assert_eq!(MPI_JOB.named("worker").map(|role| role.id), Some(WORKER));
        assert!(MPI_JOB.named("ps").is_none());
        for role in MPI_JOB.roles() {
            assert_eq!(MPI_JOB.role(role.id), role);
        }
    }

    #[test]
    fn ids_of_a_kind_say_their_place() {
        let others = (1..).zip(MPI_JOB.others());

        assert_eq!(MPI_JOB.driver().id, RoleId::new(0, MPI_JOB.driver().id.run_by()));
        for (place, role) in others {
            assert_eq!(role.id, RoleId::new(place, role.id.run_by()));
        }
    }
}
