//! The resource `MPIJob` as the MPI Operator 0.8.2 serves it: group, kind, keys and who manages it.

/// API group and version of the job.
pub const API_VERSION: &str = "kubeflow.org/v2beta1";
/// Kind of the job.
pub const KIND: &str = "MPIJob";
/// Value of `spec.runPolicy.managedBy` that means us.
pub const MANAGED_BY_US: &str = "kubeflow.org/mpi-operator";
/// Value of `spec.runPolicy.managedBy` that means Kueue's `MultiKueue`.
pub const MANAGED_BY_MULTIKUEUE: &str = "kueue.x-k8s.io/multikueue";
/// Key of the launcher in `mpiReplicaSpecs` and `replicaStatuses`.
pub const REPLICA_LAUNCHER: &str = "Launcher";
/// Key of the workers in both.
pub const REPLICA_WORKER: &str = "Worker";
