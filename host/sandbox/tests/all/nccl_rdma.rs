//! What jobs get from the tuner for RDMA networks, through the sandbox and the policy.

use std::collections::BTreeSet;

use coxswain_model::{
    job::{ValidJob, Verdict},
    plan::{Change, Descriptor, EnvValue, Plan},
    policy::{self, ClusterPolicy, Granted},
    view::{ClaimView, JobView},
};
use coxswain_sandbox::{Chain, ChainFault, Function, Link};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::{
    given::{self, merged, plugin},
    golden,
    observing::observed,
};

/// What the tests change of a job.
#[derive(Clone)]
struct Given {
    flavor: &'static str,
    /// Words of the launcher's command.
    command: Value,
    /// Variables of both containers.
    env: Value,
    /// What a worker asks for.
    devices: Value,
    /// Merged into the pods of the workers.
    worker_pod: Value,
    /// Merged into both pods.
    pod: Value,
    annotations: Value,
}

impl Default for Given {
    fn default() -> Self {
        Self {
            flavor: "OpenMPI",
            command: json!(["mpirun", "-n", "16", "all_reduce_perf"]),
            env: json!([]),
            devices: json!({"nvidia.com/gpu": 8}),
            worker_pod: json!({}),
            pod: json!({}),
            annotations: json!({}),
        }
    }
}

fn merge(mut pod: Value, more: &Value) -> Value {
    for (key, value) in more.as_object().unwrap() {
        pod[key] = value.clone();
    }
    pod
}

impl Given {
    fn job(&self) -> ValidJob {
        let main = |extra: Value| merge(json!({"name": "main", "image": "nccl:1", "env": self.env}), &extra);
        let launcher = json!({"containers": [main(json!({"command": self.command}))]});
        let worker = json!({"containers": [main(json!({"resources": {"limits": self.devices}}))]});
        let launcher = merge(launcher, &self.pod);
        let worker = merge(merge(worker, &self.pod), &self.worker_pod);
        let raw = json!({
            "metadata": {"name": "nccl", "namespace": "team-a", "annotations": self.annotations},
            "spec": {"mpiImplementation": self.flavor, "slotsPerWorker": 8, "mpiReplicaSpecs": {
                "Launcher": {"template": {"spec": launcher}},
                "Worker": {"replicas": 2, "template": {"spec": worker}},
            }},
        });
        match ValidJob::parse(&serde_json::from_value(raw).unwrap(), None) {
            Verdict::Valid(job) => *job,
            other => panic!("{other:?}"),
        }
    }
}

/// The whole chain, with these settings of the tuner.
fn chain(flavor: &str, settings: &[(&str, &str)]) -> Chain {
    let launcher = match flavor {
        "OpenMPI" => "openmpi",
        "Intel" => "intel-mpi",
        _ => "mpich",
    };
    let tuner = plugin("nccl-rdma");
    let settings = merged(&tuner, settings);
    Chain { tuners: vec![Link { plugin: tuner, settings }], ..given::chain(launcher, &[]) }
}

fn grant(job: &ValidJob, chain: &Chain, plan: &Plan, policy: &ClusterPolicy) -> Granted {
    let links = std::iter::once(&chain.launcher).chain(&chain.tuners);
    let descriptors: Vec<&Descriptor> = links.map(|link| link.plugin.descriptor()).collect();
    policy::grant(job, plan, &descriptors, policy).unwrap_or_else(|refused| panic!("{refused:#?}"))
}

/// What the tuner adds to the plan. The policy takes it.
fn tuned_view(given: &Given, view: &JobView, settings: &[(&str, &str)]) -> Plan {
    let chain = chain(given.flavor, settings);
    let mut plan = chain.render(view).unwrap();
    grant(&given.job(), &chain, &plan, &ClusterPolicy::default());
    plan.edits.retain(|edit| edit.by == "nccl-rdma");
    plan.files.retain(|file| file.by == "nccl-rdma");
    plan
}

fn tuned(given: &Given, settings: &[(&str, &str)]) -> Plan {
    tuned_view(given, &given.job().view(true), settings)
}

fn mistake(given: &Given, settings: &[(&str, &str)]) -> String {
    let fault: ChainFault = chain(given.flavor, settings).render(&given.job().view(true)).unwrap_err();
    fault.to_string()
}

fn line<'a>(plan: &'a Plan, file: &str, name: &str) -> Option<&'a str> {
    let file = plan.files.iter().find(|one| one.name == file)?;
    file.content.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('='))
}

/// (value, by force) of a variable, the last one.
fn env<'a>(plan: &'a Plan, name: &str) -> Option<(&'a str, bool)> {
    plan.edits.iter().rev().find_map(|edit| match &edit.change {
        Change::Env(env) if env.name == name => match &env.value {
            EnvValue::Literal(value) => Some((value.as_str(), env.force)),
            EnvValue::Field(_) => None,
        },
        _ => None,
    })
}

fn claiming(interface: Option<&str>, classes: &[&str]) -> (Given, JobView) {
    let given = Given::default();
    let mut view = given.job().view(true);
    view.groups[1].claims = vec![ClaimView {
        name: "nic".into(),
        classes: classes.iter().map(|&class| class.to_owned()).collect(),
        network_interface: interface.map(str::to_owned),
        ..ClaimView::default()
    }];
    (given, view)
}

/// As the setting's own error lists them.
fn profiles() -> Vec<String> {
    let told = mistake(&Given::default(), &[("profile", "?")]);
    let (_, list) = told.split_once("must be one of ").unwrap();
    let (list, _) = list.split_once(", not").unwrap();
    list.split(", ").map(str::to_owned).collect()
}

#[test]
fn every_profile_is_golden_and_passes_the_policy_or_says_what_is_missing() {
    let mut cases = golden::Cases::default();
    let mut refused = BTreeSet::new();
    for profile in profiles().into_iter().filter(|name| name != "auto" && name != "none") {
        let given = Given::default();
        let settings: &[(&str, &str)] = &[("profile", &profile), ("explain", "true")];
        let text = match chain("OpenMPI", settings).render(&given.job().view(true)) {
            Ok(_) => golden::plan(&tuned(&given, settings)),
            Err(fault) => {
                refused.insert(profile.clone());
                format!("{fault}\n")
            }
        };
        cases.check(&format!("nccl-rdma/{profile}"), &text);
    }
    assert_eq!(refused, ["coreweave-spectrum-x", "gke-tcpx", "gke-tcpxo"].map(str::to_owned).into());
    cases.end();
}

#[test]
fn a_profile_that_cannot_be_had_is_refused_with_what_is_missing() {
    let told = mistake(&Given::default(), &[("profile", "gke-tcpxo")]);

    assert!(
        told.starts_with("plugin nccl-rdma: profile: gke-tcpxo is not to be had: it needs the sidecar"),
        "{told}"
    );
    assert!(told.contains("networking.gke.io/interfaces"), "{told}");
    let violations =
        plugin("nccl-rdma").check_settings(&merged(&plugin("nccl-rdma"), &[("profile", "gke-tcpx")]));
    assert_eq!(violations.unwrap().len(), 1);
}

#[test]
fn devices_choose_the_profile() {
    for (resource, count, profile) in [
        ("vpc.amazonaws.com/efa", 32, "aws-efa"),
        ("rdma/ib", 1, "coreweave-ib"),
        ("rdma/ib", 8, "azure-nd"),
        ("rdma/shared_ib", 1, "azure-nd"),
        ("rdma/hca_shared_devices_a", 1, "infiniband"),
        ("rdma/roce_gdr", 1, "roce"),
        ("aliyun/erdma", 1, "alibaba-erdma"),
        ("networking.gke.io.networks/rdma-0", 1, "gke-gib"),
        ("amd.com/nic", 8, "amd-ainic"),
    ] {
        let mut given = Given::default();
        given.devices[resource] = json!(count);

        let chosen = tuned(&given, &[("explain", "true")]);

        assert_eq!(
            chosen.notes[0].text.split(": ").next(),
            Some(&*format!("profile {profile}")),
            "{resource}"
        );
        assert!(chosen.notes[0].text.contains(resource), "{}", chosen.notes[0].text);
        let named = tuned(&given, &[("profile", profile)]);
        assert_eq!((chosen.edits, chosen.files), (named.edits, named.files), "{resource}");
    }
}

#[test]
fn claims_choose_the_profile_by_class_name_or_interface() {
    for (interface, class, profile) in [
        (None, "mrdma.google.com", "gke-gib"),
        (None, "rdma-nic", "dranet"),
        (None, "dranet-efa", "aws-efa-dranet"),
        (None, "erdma.alibaba", "alibaba-erdma"),
        (Some("dranet0"), "nics-of-this-site", "dranet"),
    ] {
        let (given, view) = claiming(interface, &["gpu.nvidia.com", class]);

        let chosen = tuned_view(&given, &view, &[("explain", "true")]);

        let expected = format!("profile {profile}: the pods ask for claim nic");
        assert_eq!(chosen.notes[0].text.split("; ").next(), Some(&*expected), "{class}");
    }
}

#[test]
fn pods_that_ask_for_no_network_get_nothing_and_a_note_only_on_request() {
    let given = Given::default();

    assert_eq!(tuned(&given, &[]), Plan::default());
    let told = tuned(&given, &[("explain", "true")]);
    assert_eq!((told.edits.len(), told.files.len(), told.notes.len()), (0, 0, 1));
    let none = Given { devices: json!({"rdma/ib": 1}), ..Given::default() };
    assert_eq!(tuned(&none, &[("profile", "none")]), Plan::default());
}

#[test]
fn the_interface_of_a_claim_ends_in_nccl_ucx_and_open_mpi() {
    let (given, view) = claiming(Some("dranet0"), &["dranet"]);

    let plan = tuned_view(&given, &view, &[]);

    assert_eq!(line(&plan, "nccl.conf", "NCCL_SOCKET_IFNAME"), Some("dranet0"));
    assert_eq!(line(&plan, "ucx.conf", "UCX_NET_DEVICES"), Some("dranet0"));
    assert_eq!(env(&plan, "UCX_NET_DEVICES"), Some(("dranet0", false)));
    assert_eq!(env(&plan, "OMPI_MCA_btl_tcp_if_include"), Some(("dranet0", false)));
    golden::check("nccl-rdma/claim-openmpi", &golden::plan(&plan));
}

#[test]
fn hydra_calls_back_over_a_claimed_interface_only_where_the_launcher_has_it() {
    for (flavor, name) in [("Intel", "I_MPI_HYDRA_IFACE"), ("MPICH", "HYDRA_IFACE")] {
        let given = Given { flavor, ..Given::default() };
        let (_, claims) = claiming(Some("dranet0"), &["dranet"]);
        let mut view = given.job().view(true);
        view.groups[1].claims.clone_from(&claims.groups[1].claims);

        let workers_alone = tuned_view(&given, &view, &[]);
        view.groups[0].claims.clone_from(&claims.groups[1].claims);
        let both = tuned_view(&given, &view, &[]);

        assert_eq!(env(&workers_alone, name), None);
        assert_eq!(env(&workers_alone, "FI_TCP_IFACE"), Some(("dranet0", false)));
        assert_eq!(env(&both, name), Some(("dranet0", false)));
    }
}

#[test]
fn an_interface_that_not_every_rank_has_is_left_alone_with_a_warning() {
    let (given, mut view) = claiming(Some("dranet0"), &["dranet"]);
    view.groups[0].runs_ranks = true;

    let plan = tuned_view(&given, &view, &[]);

    assert_eq!(line(&plan, "nccl.conf", "NCCL_SOCKET_IFNAME"), Some("eth0"));
    assert!(plan.notes[0].warning && plan.notes[0].text.contains("network interface"), "{:?}", plan.notes);
}

#[test]
fn the_setting_goes_before_claims_and_reaches_the_same_places() {
    let (given, view) = claiming(Some("dranet0"), &["dranet"]);

    let plan = tuned_view(&given, &view, &[("interface", "net1")]);

    assert_eq!(line(&plan, "nccl.conf", "NCCL_SOCKET_IFNAME"), Some("net1"));
    assert_eq!(env(&plan, "UCX_NET_DEVICES"), Some(("net1", false)));
    assert_eq!(env(&plan, "OMPI_MCA_btl_tcp_if_include"), Some(("net1", false)));
}

#[test]
fn an_include_takes_the_place_of_an_exclude() {
    let plan = tuned(&Given::default(), &[("profile", "aws-efa"), ("interface", "net1")]);

    assert_eq!(env(&plan, "OMPI_MCA_btl_tcp_if_include"), Some(("net1", false)));
    assert_eq!(env(&plan, "OMPI_MCA_btl_tcp_if_exclude"), None);
}

#[test]
fn on_the_nodes_network_the_interface_is_left_to_the_libraries() {
    let given = Given { pod: json!({"hostNetwork": true}), ..Given::default() };

    let plan = tuned(&given, &[("profile", "infiniband")]);

    assert_eq!(line(&plan, "nccl.conf", "NCCL_SOCKET_IFNAME"), None);
    assert_eq!(line(&plan, "nccl.conf", "NCCL_IB_HCA"), Some("mlx5"));
}

#[test]
fn a_users_value_stays_and_reaches_the_ranks() {
    let env_of_user = json!([
        {"name": "NCCL_IB_HCA", "value": "mlx5_3"},
        {"name": "NCCL_SOCKET_IFNAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
        {"name": "UCX_NET_DEVICES", "value": "mlx5_3:1"},
    ]);
    let given = Given { env: env_of_user, ..Given::default() };

    let plan = tuned(&given, &[("profile", "infiniband")]);

    assert_eq!(line(&plan, "nccl.conf", "NCCL_IB_HCA"), Some("mlx5_3"));
    assert_eq!(line(&plan, "nccl.conf", "NCCL_SOCKET_IFNAME"), None, "its value is not known");
    assert_eq!(line(&plan, "ucx.conf", "UCX_NET_DEVICES"), Some("mlx5_3:1"));
    assert!(!env(&plan, "UCX_NET_DEVICES").unwrap().1, "the user's value is replaced by force");
}

#[test]
fn settings_go_over_the_profile() {
    let plan = tuned(
        &Given::default(),
        &[("profile", "roce"), ("set", "NCCL_IB_TC=106 NCCL_IB_GID_INDEX=3 OMPI_MCA_pml= 'FI_LOG_PROV=a b'")],
    );

    assert_eq!(line(&plan, "nccl.conf", "NCCL_IB_TC"), Some("106"));
    assert_eq!(line(&plan, "nccl.conf", "NCCL_IB_GID_INDEX"), Some("3"));
    assert_eq!(env(&plan, "OMPI_MCA_pml"), None);
    assert_eq!(env(&plan, "FI_LOG_PROV"), Some(("a b", false)));
}

#[test]
fn a_variable_that_is_none_of_the_plugins_is_the_users_mistake() {
    for wrong in ["LD_PRELOAD=/x.so", "NCCL_IB_TC", "=1"] {
        let told = mistake(&Given::default(), &[("set", wrong)]);

        assert!(told.starts_with("plugin nccl-rdma: set: "), "{told}");
    }
}

#[test]
fn open_mpi_is_told_to_hand_variables_on_beside_what_the_user_and_the_launcher_plugin_list() {
    const LIST: &str = "OMPI_MCA_mca_base_env_list";
    let efa = [("profile", "aws-efa-presets")];

    let alone = tuned(&Given::default(), &efa);
    assert_eq!(env(&alone, LIST), Some(("FI_PROVIDER;FI_EFA_FORK_SAFE", false)));

    let own = json!([{"name": LIST, "value": "A=1;FI_PROVIDER=tcp"}]);
    let beside = tuned(&Given { env: own, ..Given::default() }, &efa);
    assert_eq!(env(&beside, LIST), Some(("A=1;FI_PROVIDER=tcp;FI_EFA_FORK_SAFE", true)));

    let mut both = chain("OpenMPI", &efa);
    both.launcher = given::chain("openmpi", &[("forward-env", "PATH NCCL_DEBUG=INFO")]).launcher;
    let plan = both.render(&Given::default().job().view(true)).unwrap();
    assert_eq!(env(&plan, LIST), Some(("PATH;NCCL_DEBUG=INFO;FI_PROVIDER;FI_EFA_FORK_SAFE", false)));
}

#[test]
fn beside_an_x_nothing_is_listed_and_the_user_is_told_what_to_add() {
    const LIST: &str = "OMPI_MCA_mca_base_env_list";
    for command in [
        json!(["mpirun", "-x", "FI_PROVIDER", "a.out"]),
        json!(["sh", "-c", "mpirun -x FI_PROVIDER a.out"]),
        json!(["/run.sh", "FI_PROVIDER"]),
    ] {
        let plan = tuned(&Given { command, ..Given::default() }, &[("profile", "aws-efa-presets")]);

        assert_eq!(env(&plan, LIST), None);
        assert!(plan.notes[0].text.contains("add -x FI_EFA_FORK_SAFE to mpirun"), "{:?}", plan.notes);
    }
    let script = Given { command: json!(["/run.sh"]), ..Given::default() };
    let always = tuned(&script, &[("profile", "aws-efa-presets"), ("forward", "always")]);
    assert_eq!(env(&always, LIST), Some(("FI_PROVIDER;FI_EFA_FORK_SAFE", false)));
    let never = tuned(&script, &[("profile", "aws-efa-presets"), ("forward", "never")]);
    assert_eq!((env(&never, LIST), never.notes.len()), (None, 0));
}

#[test]
fn a_rendered_command_gets_the_variables_by_x() {
    let given = Given { annotations: json!({"coxswain.dev/launch-command": "render"}), ..Given::default() };
    let mut view = given.job().view(true);
    view.groups[0].container.command.clear();
    view.groups[0].container.args = vec!["all_reduce_perf".into()];
    let chain = chain("OpenMPI", &[("profile", "aws-efa-presets")]);

    let plan = chain.render(&view).unwrap();
    let granted = grant(&given.job(), &chain, &plan, &ClusterPolicy::default());

    let words = granted.launch_command.unwrap().join(" ");
    assert!(words.starts_with("mpirun -x FI_PROVIDER -x FI_EFA_FORK_SAFE -n 16 "), "{words}");
    assert_eq!(env(&plan, "OMPI_MCA_mca_base_env_list"), None);
}

#[test]
fn launchers_that_hand_on_everything_get_variables_alone() {
    let mut cases = golden::Cases::default();
    for flavor in ["Intel", "MPICH"] {
        let plan = tuned(&Given { flavor, ..Given::default() }, &[("profile", "infiniband")]);

        cases.check(&format!("nccl-rdma/infiniband-{}", flavor.to_lowercase()), &golden::plan(&plan));
    }
    cases.end();
}

#[test]
fn shared_memory_and_memory_lock_are_asked_for_and_granted_by_the_cluster() {
    let given = Given { devices: json!({"rdma/ib": 1}), ..Given::default() };
    let chain = chain("OpenMPI", &[("shared-memory", "16Gi")]);
    let plan = chain.render(&given.job().view(true)).unwrap();
    let allowing = ClusterPolicy {
        capabilities: vec!["shared-memory".into(), "lock-memory".into()],
        ..ClusterPolicy::default()
    };

    let granted = grant(&given.job(), &chain, &plan, &allowing);
    let withheld = grant(&given.job(), &chain, &plan, &ClusterPolicy::default());

    assert_eq!((granted.shared_memory.as_deref(), granted.lock_memory), (Some("16Gi"), true));
    assert_eq!((withheld.shared_memory, withheld.lock_memory, withheld.notes.len()), (None, false, 2));
    let none = tuned(&given, &[("shared-memory", "none"), ("lock-memory", "false")]);
    assert!(none.edits.iter().all(|edit| !matches!(edit.change, Change::Capability(_))));
}

#[test]
fn ten_thousand_hosts_cost_the_tuner_little_of_its_budget() {
    let mut view = given::job("OpenMPI", 10_000, 8);
    view.groups[1].container.devices = vec![("rdma/ib".into(), 1)];

    let (tuner, seen) = observed("nccl-rdma");
    let mut chain = chain("OpenMPI", &[]);
    chain.tuners[0].plugin = tuner;

    let plan = chain.render(&view).unwrap();

    assert_eq!(line(&plan, "nccl.conf", "NCCL_IB_HCA"), Some("ibp"));
    let seen = seen.lock().unwrap();
    let (function, fuel, ..) = seen.last().unwrap();
    assert_eq!(*function, Function::Tune);
    // 50 million, and 20,000 for each host.
    assert!((10_000..250_000_000 / 20).contains(fuel), "{fuel} instructions");
}
