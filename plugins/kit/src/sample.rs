//! A job for this crate's tests: `pi` in `default`, one launcher, some workers.

use alloc::{format, string::ToString, vec, vec::Vec};

use crate::types::{Container, Group, HostEntry, Job, Member, MemberState};

pub fn job(workers: u32, slots: u32) -> Job {
    let hosts = (0..workers).map(|index| host(&format!("pi-worker-{index}"), index, slots)).collect();
    Job {
        name: "pi".into(),
        namespace: "default".into(),
        id: "4f3c".into(),
        flavor: "OpenMPI".into(),
        flavor_version: None,
        groups: vec![
            group("launcher", true, vec![host("pi-launcher", 0, slots)]),
            group("worker", false, hosts),
        ],
        cluster_domain: None,
        files_dir: "/etc/mpi".into(),
        ssh: None,
        elastic: false,
        gated: false,
        renders_command: false,
        settings: vec![],
        facts: vec![],
    }
}

pub fn member(host: &HostEntry, state: MemberState) -> Member {
    Member { group: "worker".to_string(), host: host.clone(), state, topology: Vec::new() }
}

fn host(short: &str, index: u32, slots: u32) -> HostEntry {
    HostEntry { name: format!("{short}.pi.default.svc"), short_name: short.into(), index, slots }
}

fn group(name: &str, driver: bool, hosts: Vec<HostEntry>) -> Group {
    Group {
        name: name.into(),
        driver,
        runs_ranks: !driver,
        hosts,
        host_network: false,
        run_as_user: None,
        container: Container {
            image: "pi:1".into(),
            command: vec![],
            args: vec![],
            env: vec![],
            cpu_millis: 0,
            memory_bytes: 0,
            devices: vec![],
        },
        claims: vec![],
        annotations: vec![],
        facts: vec![],
    }
}
