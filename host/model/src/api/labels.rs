//! Labels of pods and objects, their values, and the variable that repeats one, exactly as the MPI Operator 0.8.2 writes them, and
//! our own. Other software (Kueue, Volcano, dashboards, client libraries) matches on the former.

/// Value of [`LABEL_OPERATOR_NAME`], name of the Lease, of the Deployment and of its namespace.
pub const OPERATOR_NAME: &str = "mpi-operator";
/// On every pod of a job; the Service selects on it.
pub const LABEL_OPERATOR_NAME: &str = "training.kubeflow.org/operator-name";
/// On every pod of a job; the Service selects on it.
pub const LABEL_JOB_NAME: &str = "training.kubeflow.org/job-name";
/// On every pod of a job: [`ROLE_LAUNCHER`] or [`ROLE_WORKER`].
pub const LABEL_JOB_ROLE: &str = "training.kubeflow.org/job-role";
/// On workers, and on the launcher if it runs ranks; Kueue reads it as the rank.
pub const LABEL_REPLICA_INDEX: &str = "training.kubeflow.org/replica-index";
/// On Service, ConfigMap, Secret and launcher Job, value the job's name.
pub const LABEL_APP: &str = "app";
/// Our own label on the same four, value the job's name: what our watches select. The MPI Operator gives those
/// objects only [`LABEL_APP`], whose value differs by job and cannot be selected on.
pub const LABEL_JOB: &str = "coxswain.dev/job";
/// Role of the pod that runs `mpirun`.
pub const ROLE_LAUNCHER: &str = "launcher";
/// Role of the pods that it reaches by ssh.
pub const ROLE_WORKER: &str = "worker";
/// Variable that tells a container its role.
pub const ENV_JOB_ROLE: &str = "K_MPI_JOB_ROLE";
