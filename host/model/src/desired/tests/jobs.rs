//! Jobs and grants that the tests start from.

use serde_json::{Value, json};

use crate::{
    api::volumes,
    desired::{Desired, Gang, objects, pod_group::Priorities},
    job::{ValidJob, Verdict},
    kind::{LAUNCHER, MPI_JOB},
    pin::{Digest, Pin, PinnedPlugin},
    plan::{EnvValue, File, Place},
    policy::{Grant, Granted, GrantedEnv},
};

pub fn job(manifest: Value) -> ValidJob {
    match ValidJob::parse(&serde_json::from_value(manifest).unwrap(), None) {
        Verdict::Valid(job) => *job,
        other => panic!("{other:?}"),
    }
}

pub fn pin() -> Pin {
    Pin {
        launcher: PinnedPlugin { name: "openmpi".into(), digest: Digest::of(b""), settings: [].into() },
        tuners: vec![],
        cluster_domain: None,
        claims: [].into(),
    }
}

pub fn variable(name: &str, value: &str, force: bool) -> GrantedEnv {
    GrantedEnv {
        name: name.into(),
        value: EnvValue::Literal(value.into()),
        force,
        by: "openmpi".into(),
        replaced: vec![],
    }
}

pub fn file(name: &str, place: Place, content: &str) -> File {
    File {
        by: "openmpi".into(),
        name: name.into(),
        place,
        executable: name == volumes::DISCOVER_HOSTS,
        content: content.into(),
    }
}

/// What the MPI Operator sets for Open MPI, and its two files.
pub fn granted(slots: u32, hostfile: &str) -> Granted {
    let env = vec![
        variable("OMPI_MCA_orte_keep_fqdn_hostnames", "true", true),
        variable("OMPI_MCA_orte_default_hostfile", "/etc/mpi/hostfile", true),
        variable("OMPI_MCA_plm_rsh_args", "-o ConnectionAttempts=10", true),
        variable("OMPI_MCA_orte_set_default_slots", &slots.to_string(), true),
    ];
    Granted {
        groups: vec![(MPI_JOB.role(LAUNCHER), Grant { env, ports: Vec::new() })],
        job_files: vec![
            file(volumes::HOSTFILE, Place::Job, hostfile),
            file(volumes::DISCOVER_HOSTS, Place::Job, "#!/bin/sh\n"),
        ],
        ..Granted::default()
    }
}

pub fn render(job: &ValidJob, granted: &Granted, gang: &Gang) -> Desired {
    objects(job, granted, &pin(), gang, &Priorities::new(), &crate::observed::ObservedState::default())
}

pub fn worker(desired: &Desired, index: u32) -> Value {
    serde_json::from_str(&desired.workers[0].manifest(index)).unwrap()
}

pub fn owner(name: &str) -> Value {
    json!({
        "apiVersion": "kubeflow.org/v2beta1",
        "kind": "MPIJob",
        "name": name,
        "uid": "",
        "controller": true,
        "blockOwnerDeletion": true,
    })
}
