//! How pods are held back and found by gang schedulers.

/// Scheduling gate on the launcher's pod: it waits for its workers.
pub const GATE_WORKERS: &str = "coxswain.dev/workers";
/// `schedulerName` under Volcano.
pub const VOLCANO_SCHEDULER: &str = "volcano";
/// Pod annotation by which Volcano finds the `PodGroup`.
pub const VOLCANO_GROUP_ANNOTATION: &str = "scheduling.k8s.io/group-name";
/// Job annotation from which Volcano's queue is taken if the scheduling policy names none.
pub const VOLCANO_QUEUE_ANNOTATION: &str = "scheduling.volcano.sh/queue-name";
/// Pod label by which scheduler-plugins finds the `PodGroup`.
pub const SCHEDULER_PLUGINS_GROUP_LABEL: &str = "scheduling.x-k8s.io/pod-group";
