use std::collections::BTreeMap;

use coxswain_test_support::job::Job;
use pretty_assertions::assert_eq;
use serde_json::json;

use super::*;
use crate::{
    api::{annotations, labels},
    desired::{self, Gang},
    pin::{Digest, Pin, PinnedPlugin},
    plan::{CapabilityRequest, Descriptor, EnvEdit, Port},
    policy::{self, ClusterPolicy},
    testing::parsed,
};

fn job() -> ValidJob {
    let env = json!([{"name": "A_USER", "value": "u"}, {"name": "A_FORCED", "value": "u"}, {"name": "OWN", "value": "u"}]);
    let ports = json!([{"name": "mine", "containerPort": 7000}]);
    let job = Job::new("pi", 2)
        .stored("default", "u")
        .annotate(annotations::ANNOTATION_ALLOW_CAPABILITIES, "shared-memory")
        .containers("name", "main")
        .containers("image", "i")
        .containers("command", json!(["mpirun", "pi"]))
        .containers("env", env)
        .containers("ports", ports);
    parsed(&job)
}

fn env(by: &str, name: &str, value: &str, force: bool) -> Edit {
    let change = EnvEdit { name: name.into(), value: EnvValue::Literal(value.into()), force };
    edit(by, Change::Env(change))
}

fn edit(by: &str, change: Change) -> Edit {
    Edit { by: by.into(), group: None, change }
}

fn request(by: &str, kind: &str) -> Edit {
    edit(by, Change::Capability(CapabilityRequest { kind: kind.into(), parameter: Some("8Gi".into()) }))
}

fn file(by: &str, place: Place, content: &str) -> File {
    File { by: by.into(), name: "f".into(), place, executable: false, content: content.into() }
}

fn explained(plan: &Plan) -> Vec<Explained> {
    let job = job();
    let plugin =
        |name: &str| Descriptor { name: name.into(), writes_env: vec!["A_".into()], ..Descriptor::default() };
    let granted =
        policy::grant(&job, plan, &[&plugin("mpi"), &plugin("net")], &ClusterPolicy::default()).unwrap();
    let launcher = PinnedPlugin { name: "mpi".into(), digest: Digest::of(b""), settings: BTreeMap::new() };
    let pin = Pin { launcher, tuners: vec![], cluster_domain: None, claims: [].into() };
    let desired = desired::objects(
        &job,
        &granted,
        &pin,
        &Gang::Off,
        &BTreeMap::new(),
        &crate::observed::ObservedState::default(),
    );
    explain(&job, plan, &granted, &desired)
}

/// `by=value < by=value…` of one thing of the launcher.
fn of(all: &[Explained], item: Item, name: &str) -> String {
    let one = all.iter().find(|one| one.item == item && one.name == name && one.group != "worker");
    let one = one.unwrap_or_else(|| panic!("{name}: {all:#?}"));
    let shown = |claim: &Claim| format!("{}={}", claim.by, claim.value);
    let over: Vec<String> = one.over.iter().map(shown).collect();
    format!("{} < {}", one.is.as_ref().map(shown).unwrap_or_default(), over.join(" "))
}

#[test]
fn a_variable_is_whose_it_is_in_the_pod_and_names_what_it_replaced() {
    let plan = Plan {
        edits: vec![
            env("mpi", "A_USER", "1", false),
            env("mpi", "A_FORCED", "1", true),
            env("mpi", "A_BOTH", "1", false),
            env("net", "A_BOTH", "2", false),
            env("mpi", "A_FIRST", "1", true),
            env("net", "A_FIRST", "2", false),
        ],
        ..Plan::default()
    };

    let all = explained(&plan);

    let variable = |name: &str| of(&all, Item::Variable, name);
    assert_eq!(variable("A_USER"), "(user)=u < mpi=1", "a fallback gives way to the user");
    assert_eq!(variable("A_FORCED"), "mpi=1 < (user)=u", "force does not");
    assert_eq!(variable("A_BOTH"), "net=2 < mpi=1", "the later plugin wins");
    assert_eq!(variable("A_FIRST"), "mpi=1 < net=2", "but no fallback over force");
    assert_eq!(variable("OWN"), "(user)=u < ");
    assert_eq!(variable(labels::ENV_JOB_ROLE), "(operator)=launcher < ");
    assert!(all.iter().any(|one| one.group == "worker" && one.name == "A_BOTH"));
}

#[test]
fn files_ports_and_capability_requests_name_their_authors() {
    let port = |by: &str, name: &str, number| edit(by, Change::Port(Port { name: name.into(), number }));
    let plan = Plan {
        edits: vec![
            port("mpi", "oob", 7001),
            port("net", "oob", 7002),
            port("net", "mine", 7003),
            request("mpi", capabilities::CAPABILITY_SHARED_MEMORY),
            request("net", capabilities::CAPABILITY_LOCK_MEMORY),
        ],
        files: vec![
            file("mpi", Place::Job, "one"),
            file("net", Place::Job, "two"),
            file("net", Place::Everywhere("nccl-conf".into()), "NCCL"),
        ],
        ..Plan::default()
    };

    let all = explained(&plan);

    assert_eq!(of(&all, Item::Port, "oob"), "net=7002 < mpi=7001");
    assert_eq!(of(&all, Item::Port, "mine"), "(user)=7000 < net=7003");
    assert_eq!(of(&all, Item::Capability, "shared-memory"), "mpi=8Gi < ");
    assert_eq!(of(&all, Item::Capability, "lock-memory"), " < net=8Gi", "not granted");
    assert_eq!(of(&all, Item::File, "/etc/mpi/f"), "net=two < mpi=one");
    assert_eq!(of(&all, Item::File, "/etc/nccl.conf"), "net=NCCL < ");
    assert_eq!(of(&all, Item::Command, "command"), "(user)=mpirun pi < ");
}
