//! Every annotation that users set on an `MPIJob`, in one place: what is written of them elsewhere follows this table.

use super::annotations::{
    ANNOTATION_ALLOW_CAPABILITIES, ANNOTATION_GANG_SCHEDULING, ANNOTATION_LAUNCH_COMMAND,
    ANNOTATION_LOST_WORKER, ANNOTATION_PLUGIN, ANNOTATION_SHARED_CLAIMS, ANNOTATION_SSH_HOST_KEYS,
    ANNOTATION_SSH_PROBE, ANNOTATION_START_GATE, ANNOTATION_START_GATE_TIMEOUT, ANNOTATION_START_MIN_WORKERS,
    ANNOTATION_TOPOLOGY, ANNOTATION_TUNERS,
};

/// What comes before the name of each.
pub const PREFIX: &str = "coxswain.dev/";

/// An annotation of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Annotation {
    /// Its key.
    pub name: &'static str,
    /// What it may be.
    pub value: &'static str,
    /// For people, in Markdown: a cell of the table in `docs/annotations.md`.
    pub meaning: &'static str,
}

/// All but the settings of plugins, whose keys the plugins declare.
pub const JOB_ANNOTATIONS: &[Annotation] = &[
    Annotation {
        name: ANNOTATION_START_GATE,
        value: "`workers` (default), `none`",
        meaning: "Whether the launcher's pod waits for the workers. It is created at once and carries the scheduling \
                  gate `coxswain.dev/workers`, which the operator removes when all workers are Ready and in DNS (in \
                  the EndpointSlices of the job's Service). `none`: it starts when it is scheduled, as under the MPI \
                  Operator",
    },
    Annotation {
        name: ANNOTATION_START_GATE_TIMEOUT,
        value: "a duration such as `90s`, `10m`, `1h30m`; default `10m`",
        meaning: "After that time the launcher starts in any case, and an event names the workers that were not Ready \
                  or not in DNS",
    },
    Annotation {
        name: ANNOTATION_START_MIN_WORKERS,
        value: "a number of 1 or more",
        meaning: "The job is elastic: the launcher starts when so many workers are Ready",
    },
    Annotation {
        name: ANNOTATION_SSH_PROBE,
        value: "a port",
        meaning: "Workers get a readiness probe on this TCP port, unless their container has one, and plugins tell ssh \
                  to use the port. Without a probe a worker is Ready when its container runs, possibly before sshd \
                  listens",
    },
    Annotation {
        name: ANNOTATION_SSH_HOST_KEYS,
        value: "`image` (default), `job`",
        meaning: "`job`: ssh between the job's pods accepts the job's own key as host key and no other ([host \
                  keys](#host-keys)). `image`: the image's configuration of ssh decides",
    },
    Annotation {
        name: ANNOTATION_LAUNCH_COMMAND,
        value: "`user` (default), `render`",
        meaning: "`render`: `args` of the launcher is the program alone, and the plugin renders the command around it \
                  (`mpirun`, counts, hostfile). `user`: the command is left as it is",
    },
    Annotation {
        name: ANNOTATION_LOST_WORKER,
        value: "`auto`, `fail`, `ignore`; default `--lost-worker`",
        meaning: "Whether a job has failed (reason `WorkerLost`) whose launcher exits 0 although a worker was \
                  lost while it ran: one that failed, was evicted or was deleted by somebody else. `auto`: if the \
                  launcher ended within 30 s of the loss; one that ran on longer has succeeded, with a Warning \
                  event that names the worker. `fail`: in any case. `ignore`: never",
    },
    Annotation {
        name: ANNOTATION_GANG_SCHEDULING,
        value: "`none` (default), `native`",
        meaning: "Under `--gang-scheduling=native-by-job`: whether all pods of the job start together or none \
                  ([gangs](gangs.md))",
    },
    Annotation {
        name: ANNOTATION_TOPOLOGY,
        value: "the key of a node label; under Volcano a tier, 1 or more",
        meaning: "All pods of the gang are placed on nodes with one value of this label: a rack, a block, an NVLink \
                  island. Needs `--gang-scheduling=native` and the feature gate \
                  `TopologyAwareWorkloadScheduling`; the job is refused without the former, and told where the \
                  cluster lacks the latter. Under Volcano: the highest tier of its HyperNodes that the gang may span",
    },
    Annotation {
        name: ANNOTATION_SHARED_CLAIMS,
        value: "names, comma-separated, 4 at most",
        meaning: "Entries of `spec.resourceClaims` of the templates of which the gang gets one claim together, not one a \
                  pod: an IMEX channel, a partition of a fabric. Needs `--gang-scheduling=native` and the feature gate \
                  `DRAWorkloadResourceClaims`",
    },
    Annotation {
        name: ANNOTATION_PLUGIN,
        value: "a plugin's name",
        meaning: "The launcher plugin, in place of the one that serves `spec.mpiImplementation`",
    },
    Annotation {
        name: ANNOTATION_TUNERS,
        value: "names, comma-separated",
        meaning: "Tuner plugins, after those of `--tuners`",
    },
    Annotation {
        name: ANNOTATION_ALLOW_CAPABILITIES,
        value: "`shared-memory`, `lock-memory`, comma-separated",
        meaning: "Grants the job's plugins a memory file system at `/dev/shm`, or the capability `IPC_LOCK`, if they \
                  ask for it. What is not granted is reported in an event",
    },
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn the_table_has_every_annotation_of_jobs_that_the_operator_reads() {
        let source = include_str!("annotations.rs");
        let mut of_jobs = BTreeSet::new();
        let mut doc = String::new();
        for line in source.lines() {
            if let Some(text) = line.strip_prefix("///") {
                doc.push_str(text);
                continue;
            }
            if doc.starts_with(" Job annotation")
                && let Some(name) = line.split('"').nth(1).filter(|name| name.starts_with(PREFIX))
            {
                of_jobs.insert(name);
            }
            doc.clear();
        }
        let table: BTreeSet<&str> = JOB_ANNOTATIONS.iter().map(|annotation| annotation.name).collect();

        assert_eq!(table, of_jobs);
        assert_eq!(table.len(), JOB_ANNOTATIONS.len(), "each once");
    }
}
