//! Our own annotations: of jobs, and of the objects that the operator makes. What users set has its row in
//! [`super::job_annotations`], too.

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
/// Job annotation: whether the job's pods are placed as a gang, where the administrator leaves it to jobs: `native`, `none`.
pub const ANNOTATION_GANG_SCHEDULING: &str = "coxswain.dev/gang-scheduling";
/// Job annotation: the key of a node label; all pods of the gang are placed on nodes that have one value of it.
pub const ANNOTATION_TOPOLOGY: &str = "coxswain.dev/topology";
/// Job annotation: names of the pods' `spec.resourceClaims`, comma-separated, of which the gang has one together.
pub const ANNOTATION_SHARED_CLAIMS: &str = "coxswain.dev/shared-claims";
/// Job annotation: the launcher plugin by name, in place of the one that serves `spec.mpiImplementation`.
pub const ANNOTATION_PLUGIN: &str = "coxswain.dev/plugin";
/// Job annotation: tuner plugins, comma-separated, after the cluster's.
pub const ANNOTATION_TUNERS: &str = "coxswain.dev/tuners";
/// Job annotation `render`: `args` is the program alone, the plugin renders the launcher's command.
pub const ANNOTATION_LAUNCH_COMMAND: &str = "coxswain.dev/launch-command";
/// Job annotation: capabilities, comma-separated, that its plugins may have (those of [`super::capabilities`] that need a grant).
pub const ANNOTATION_ALLOW_CAPABILITIES: &str = "coxswain.dev/allow-capabilities";
/// What [`ANNOTATION_ALLOW_CAPABILITIES`] was called before; read for one more release, where that one is absent.
pub const ANNOTATION_ALLOW_WANTS: &str = "coxswain.dev/allow-wants";
/// Suffix of the annotations `PLUGIN.coxswain.dev/KEY` that set a plugin's settings for one job.
pub const ANNOTATION_SETTING_SUFFIX: &str = ".coxswain.dev";
/// On the job's ConfigMap and launcher Job: the chain that renders the job for life, as JSON.
pub const ANNOTATION_PIN: &str = "coxswain.dev/pin";
/// On the job's ConfigMaps: sha256 of `data`, so that no data need be cached to see a difference.
pub const ANNOTATION_CONTENT: &str = "coxswain.dev/content";
