//! Labels, names, paths, reasons and variables exactly as the MPI Operator 0.8.2 writes them, and our own
//! annotations. Other software (Kueue, Volcano, dashboards, client libraries) matches on the first group.

/// API group and version of the job.
pub const API_VERSION: &str = "kubeflow.org/v2beta1";
/// Kind of the job.
pub const KIND: &str = "MPIJob";
/// Value of [`LABEL_OPERATOR_NAME`], name of the Lease, of the Deployment and of its namespace.
pub const OPERATOR_NAME: &str = "mpi-operator";
/// Value of `spec.runPolicy.managedBy` that means us.
pub const MANAGED_BY_US: &str = "kubeflow.org/mpi-operator";
/// Value of `spec.runPolicy.managedBy` that means Kueue's `MultiKueue`.
pub const MANAGED_BY_MULTIKUEUE: &str = "kueue.x-k8s.io/multikueue";

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

/// Key of the launcher in `mpiReplicaSpecs` and `replicaStatuses`.
pub const REPLICA_LAUNCHER: &str = "Launcher";
/// Key of the workers in both.
pub const REPLICA_WORKER: &str = "Worker";

/// Role of the pod that runs `mpirun`.
pub const ROLE_LAUNCHER: &str = "launcher";
/// Role of the pods that it reaches by ssh.
pub const ROLE_WORKER: &str = "worker";
/// Variable that tells a container its role.
pub const ENV_JOB_ROLE: &str = "K_MPI_JOB_ROLE";

/// Where the launcher finds `hostfile` and `discover_hosts.sh`.
pub const CONFIG_MOUNT_PATH: &str = "/etc/mpi";
/// Volume of the job's ConfigMap in the launcher.
pub const CONFIG_VOLUME: &str = "mpi-job-config";
/// Key of the host list.
pub const HOSTFILE: &str = "hostfile";
/// Key of the script that prints the running hosts (elastic Horovod calls it).
pub const DISCOVER_HOSTS: &str = "discover_hosts.sh";
/// Volume of the ssh key pair in every pod.
pub const SSH_VOLUME: &str = "ssh-auth";
/// Secret key with the private half, SEC1 PEM.
pub const SSH_PRIVATE_KEY: &str = "ssh-privatekey";
/// Secret key with the public half, an `authorized_keys` line.
pub const SSH_PUBLIC_KEY: &str = "ssh-publickey";
/// Secret key with the `known_hosts` line of a job whose launcher checks host keys.
pub const SSH_KNOWN_HOSTS: &str = "ssh-knownhosts";
/// File of that line beside the key pair.
pub const SSH_KNOWN_HOSTS_FILE: &str = "known_hosts";
/// File of the private half, which is the workers' host key, too, where host keys are checked.
pub const SSH_PRIVATE_KEY_FILE: &str = "id_rsa";
/// Default of `spec.sshAuthMountPath`; only here do the key files get mode 0600, as root's sshd wants them.
pub const ROOT_SSH_PATH: &str = "/root/.ssh";
/// Volume of the files that every pod gets.
pub const FILES_VOLUME: &str = "coxswain-files";
/// Volume behind `/dev/shm` where shared memory is granted.
pub const SHARED_MEMORY_VOLUME: &str = "coxswain-shared-memory";

/// Scheduling gate on the launcher's pod: it waits for its workers.
pub const GATE_WORKERS: &str = "coxswain.dev/workers";
/// Job annotation `none` turns the gate off.
pub const ANNOTATION_START_GATE: &str = "coxswain.dev/start-gate";
/// Job annotation: a duration such as `10m` after which the gate opens in any case.
pub const ANNOTATION_START_GATE_TIMEOUT: &str = "coxswain.dev/start-gate-timeout";
/// Job annotation: the number of Ready workers at which an elastic job may start.
pub const ANNOTATION_START_MIN_WORKERS: &str = "coxswain.dev/start-min-workers";
/// Job annotation: a port; the workers get a TCP readiness probe on it.
pub const ANNOTATION_SSH_PROBE: &str = "coxswain.dev/ssh-probe";
/// Job annotation `job`: ssh accepts the job's own key as host key and no other. Also on the Secret that was made for it.
pub const ANNOTATION_SSH_HOST_KEYS: &str = "coxswain.dev/ssh-host-keys";
/// Job annotation: whether a job has failed whose launcher exits 0 although a worker was lost: `auto`, `fail`, `ignore`.
pub const ANNOTATION_LOST_WORKER: &str = "coxswain.dev/lost-worker";
/// Job annotation: the launcher plugin by name, in place of the one that serves `spec.mpiImplementation`.
pub const ANNOTATION_PLUGIN: &str = "coxswain.dev/plugin";
/// Job annotation: tuner plugins, comma-separated, after the cluster's.
pub const ANNOTATION_TUNERS: &str = "coxswain.dev/tuners";
/// Job annotation `render`: `args` is the program alone, the plugin renders the launcher's command.
pub const ANNOTATION_LAUNCH_COMMAND: &str = "coxswain.dev/launch-command";
/// Job annotation: capabilities, comma-separated, that its plugins may have ([`WANT_SHARED_MEMORY`],
/// [`WANT_LOCK_MEMORY`]).
pub const ANNOTATION_ALLOW_WANTS: &str = "coxswain.dev/allow-wants";
/// Suffix of the annotations `PLUGIN.coxswain.dev/KEY` that set a plugin's settings for one job.
pub const ANNOTATION_SETTING_SUFFIX: &str = ".coxswain.dev";
/// On the job's ConfigMap and launcher Job: the chain that renders the job for life, as JSON.
pub const ANNOTATION_PIN: &str = "coxswain.dev/pin";
/// On the job's ConfigMaps: sha256 of `data`, so that no data need be cached to see a difference.
pub const ANNOTATION_CONTENT: &str = "coxswain.dev/content";

/// A plugin requests a memory file system at `/dev/shm`; the parameter is its size.
pub const WANT_SHARED_MEMORY: &str = "shared-memory";
/// A plugin requests the capability `IPC_LOCK`, to register memory with a network card.
pub const WANT_LOCK_MEMORY: &str = "lock-memory";
/// A plugin requests that the launcher starts after its workers.
pub const WANT_WAIT_FOR_MEMBERS: &str = "wait-for-members";

/// `schedulerName` under Volcano.
pub const VOLCANO_SCHEDULER: &str = "volcano";
/// Pod annotation by which Volcano finds the `PodGroup`.
pub const VOLCANO_GROUP_ANNOTATION: &str = "scheduling.k8s.io/group-name";
/// Job annotation from which Volcano's queue is taken if the scheduling policy names none.
pub const VOLCANO_QUEUE_ANNOTATION: &str = "scheduling.volcano.sh/queue-name";
/// Pod label by which scheduler-plugins finds the `PodGroup`.
pub const SCHEDULER_PLUGINS_GROUP_LABEL: &str = "scheduling.x-k8s.io/pod-group";

/// Component of every event; existing clients match on it.
pub const EVENT_COMPONENT: &str = "mpi-job-controller";
/// Longest event or condition message that the MPI Operator writes, bytes.
pub const MAX_MESSAGE: usize = 1024;
