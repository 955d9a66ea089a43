//! Host list and host discovery of every implementation, as the shipped plugins render them.

use std::sync::LazyLock;

use coxswain_model::{
    kind::{RoleId, WORKER},
    observed::{ObservedLauncher, ObservedObject, ObservedPod, ObservedState, PodPhase, Uid, Version},
    plan::File,
    view::Setting,
};
use coxswain_sandbox::{Chain, Link, Sandbox};
use coxswain_test_support::components;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::jobs::{job, valid};

/// More than any shipped component has, bytes.
const BOUND: usize = 1 << 20;

static SANDBOX: LazyLock<Sandbox> = LazyLock::new(|| Sandbox::new().unwrap());

fn chain(plugin: &str) -> Chain {
    let bytes = components::bytes(plugin);
    let plugin = SANDBOX.load(plugin, &bytes, BOUND).unwrap();
    let defaults = plugin.descriptor().settings.clone();
    let default =
        |kind: coxswain_model::plan::SettingKind| Some(Setting { key: kind.key, value: kind.default? });
    Chain {
        launcher: Link { plugin, settings: defaults.into_iter().filter_map(default).collect() },
        tuners: vec![],
    }
}

fn named(files: &[File], name: &str) -> String {
    files.iter().find(|file| file.name == name).unwrap_or_else(|| panic!("no {name}")).content.clone()
}

struct List {
    case: &'static str,
    plugin: &'static str,
    name: &'static str,
    namespace: &'static str,
    spec: Value,
    workers: u32,
    domain: Option<&'static str>,
    hosts: &'static [&'static str],
}

fn of(implementation: &str) -> Value {
    json!({"mpiImplementation": implementation})
}

fn slots(implementation: &str) -> Value {
    json!({"mpiImplementation": implementation, "slotsPerWorker": 10})
}

const DOMAIN: Option<&str> = Some("cluster.local");

fn open_mpi() -> Vec<List> {
    let both = json!({"mpiImplementation": "OpenMPI", "runLauncherAsWorker": true});
    let list = |case, spec, workers, domain, hosts| List {
        case,
        plugin: "openmpi",
        name: "o",
        namespace: "tenant-a",
        spec,
        workers,
        domain,
        hosts,
    };
    vec![
        list(
            "OpenMPI without slots, enable launcher as worker",
            both.clone(),
            2,
            None,
            &[
                "o-launcher.o.tenant-a.svc slots=1",
                "o-worker-0.o.tenant-a.svc slots=1",
                "o-worker-1.o.tenant-a.svc slots=1",
            ],
        ),
        list(
            "OpenMPI with cluster domain, enable launcher as worker",
            both.clone(),
            2,
            DOMAIN,
            &[
                "o-launcher.o.tenant-a.svc.cluster.local slots=1",
                "o-worker-0.o.tenant-a.svc.cluster.local slots=1",
                "o-worker-1.o.tenant-a.svc.cluster.local slots=1",
            ],
        ),
        list(
            "OpenMPI without slots, zero explicit workers",
            both,
            0,
            None,
            &["o-launcher.o.tenant-a.svc slots=1"],
        ),
        list(
            "OpenMPI without slots, disable launcher as worker",
            of("OpenMPI"),
            2,
            None,
            &["o-worker-0.o.tenant-a.svc slots=1", "o-worker-1.o.tenant-a.svc slots=1"],
        ),
        list("OpenMPI with slots", slots("OpenMPI"), 1, None, &["o-worker-0.o.tenant-a.svc slots=10"]),
        list(
            "OpenMPI with cluster domain",
            of("OpenMPI"),
            1,
            DOMAIN,
            &["o-worker-0.o.tenant-a.svc.cluster.local slots=1"],
        ),
    ]
}

fn hydra() -> Vec<List> {
    let list = |case, plugin, spec, domain, hosts| List {
        case,
        plugin,
        name: "h",
        namespace: "project-x",
        spec,
        workers: 1,
        domain,
        hosts,
    };
    let (plain, long) = (&["h-worker-0.h.project-x.svc:10"], &["h-worker-0.h.project-x.svc.cluster.local:1"]);
    vec![
        list("IntelMPI with slots", "intel-mpi", slots("Intel"), None, plain),
        list("IntelMPI with cluster domain", "intel-mpi", of("Intel"), DOMAIN, long),
        list("MPICH with slots", "mpich", slots("MPICH"), None, plain),
        list("MPICH with cluster domain", "mpich", of("MPICH"), DOMAIN, long),
    ]
}

#[test]
fn host_lists_are_those_of_the_mpi_operator() {
    for List { case, plugin, name, namespace, spec, workers, domain, hosts } in
        open_mpi().into_iter().chain(hydra())
    {
        let job = valid(&job(name, namespace, workers, &spec), domain);
        let plan = chain(plugin).render(&job.view(true)).unwrap();
        let expected = format!("{}\n", hosts.join("\n"));
        assert_eq!(named(&plan.files, "hostfile"), expected, "{case}");
    }
}

fn running(role: RoleId, index: u32, owner: &str) -> ObservedPod {
    ObservedPod {
        role,
        index,
        name: "".into(),
        uid: Uid::default(),
        version: Version::default(),
        controller: Some(owner.into()),
        created: "2026-11-21T12:00:00Z".parse().unwrap(),
        phase: PodPhase::Running,
        ready: false,
        deleting: false,
        gate: None,
        attempt: None,
        failure: None,
        blocker: None,
    }
}

/// Case, cluster domain, `runLauncherAsWorker`, indexes of running workers, hosts in the script.
type Discovery = (&'static str, Option<&'static str>, bool, &'static [u32], &'static [&'static str]);

#[test]
fn discover_hosts_lists_what_the_mpi_operator_lists() {
    let worker = |index: u32| format!("t-worker-{index}");
    let cases: [Discovery; 7] = [
        ("no cluster domain, launcher as worker disabled, no running pods", None, false, &[], &[]),
        (
            "no cluster domain, launcher as worker disabled, with running pods",
            None,
            false,
            &[0, 1],
            &["0", "1"],
        ),
        ("no cluster domain, launcher as worker enabled, no running pods", None, true, &[], &["launcher"]),
        (
            "no cluster domain, launcher as worker enabled, with running pods",
            None,
            true,
            &[0, 1],
            &["launcher", "0", "1"],
        ),
        (
            "with cluster domain, launcher as worker disabled, with running pods",
            Some("cluster.local"),
            false,
            &[0],
            &["0"],
        ),
        (
            "with cluster domain, launcher as worker enabled, with running pods",
            Some("cluster.local"),
            true,
            &[0],
            &["launcher", "0"],
        ),
        ("pods are sorted by name", None, false, &[2, 0, 1], &["0", "1", "2"]),
    ];
    for (case, domain, both, pods, listed) in cases {
        let job = valid(&job("t", "default", 3, &json!({"runLauncherAsWorker": both})), domain);
        let launcher = ObservedLauncher {
            object: ObservedObject { controller: Some(job.uid().clone()), ..ObservedObject::default() },
            ..ObservedLauncher::default()
        };
        let pods = pods.iter().map(|index| running(WORKER, *index, "u1")).collect();
        let seen = ObservedState { launcher: Some(launcher), pods, ..ObservedState::default() };
        let files = chain("openmpi").follow(&job.view(true), &job.members(&seen)).unwrap();

        let suffix = domain.map(|domain| format!(".{domain}")).unwrap_or_default();
        let host = |name: &&str| match name.parse() {
            Ok(index) => format!("echo {}.t.default.svc{suffix}\n", worker(index)),
            Err(_) => format!("echo t-{name}.t.default.svc{suffix}\n"),
        };
        let expected: String =
            std::iter::once("#!/bin/sh\n".to_owned()).chain(listed.iter().map(host)).collect();
        assert_eq!(named(&files, "discover_hosts.sh"), expected, "{case}");
    }
}
