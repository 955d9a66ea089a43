//! What jobs get from the plugins for Intel MPI and MPICH.

use coxswain_model::{
    plan::Plan,
    view::{JobView, MemberState, SshView},
};

use crate::{
    given::{self, chain, job, launcher_as_worker},
    golden,
};

/// Plugin and the implementation that it serves.
const BOTH: [(&str, &str); 2] = [("intel-mpi", "Intel"), ("mpich", "MPICH")];

fn render(name: &str, job: &JobView, settings: &[(&str, &str)]) -> Plan {
    chain(name, settings).render(job).unwrap()
}

#[test]
fn plans_of_small_jobs_are_golden() {
    let mut cases = golden::Cases::default();
    for (name, flavor) in BOTH {
        cases.check(&format!("{name}/2-workers"), &golden::plan(&render(name, &job(flavor, 2, 2), &[])));
        let job = launcher_as_worker(job(flavor, 1, 2));
        cases.check(&format!("{name}/launcher-as-worker"), &golden::plan(&render(name, &job, &[])));
    }
    cases.end();
}

#[test]
fn a_rendered_command_starts_all_ranks() {
    let mut cases = golden::Cases::default();
    for (name, flavor) in BOTH {
        let mut job = job(flavor, 2, 4);
        job.groups[1].hosts[1].slots = 1;
        job.renders_command = true;
        job.groups[0].container.args = vec!["/app/pi".into(), "10".into()];

        let plan = render(name, &job, &[("mpiexec-args", "-l"), ("interface", "net1")]);

        cases.check(&format!("{name}/rendered-command"), &golden::plan(&plan));
    }
    cases.end();
}

#[test]
fn a_check_of_host_keys_reaches_every_variable_with_arguments_of_ssh() {
    for (name, flavor) in BOTH {
        let mut job = job(flavor, 1, 1);
        let known_hosts = Some("/root/.ssh/known_hosts".into());
        job.ssh = Some(SshView { mount_path: "/root/.ssh".into(), port: None, known_hosts });

        let text = golden::plan(&render(name, &job, &[]));

        let arguments: Vec<&str> =
            text.lines().filter_map(|line| Some(line.split_once("EXTRA_ARGS=")?.1)).collect();
        assert!(!arguments.is_empty(), "{text}");
        let check = "-o StrictHostKeyChecking=yes -o UserKnownHostsFile=/root/.ssh/known_hosts";
        assert!(arguments.iter().all(|words| words.starts_with(check)), "{name}: {arguments:?}");
    }
}

#[test]
fn an_elastic_jobs_launcher_does_not_depend_on_the_number_of_hosts() {
    for (name, flavor) in BOTH {
        let plan = |workers| {
            let mut job = job(flavor, workers, 1);
            job.elastic = true;
            job.renders_command = true;
            job.groups[0].container.args = vec!["/app/pi".into()];
            render(name, &job, &[])
        };

        assert_eq!(plan(2).edits, plan(100).edits, "{name}");
    }
}

#[test]
fn intel_launches_flat_between_its_tree_width_and_the_setting() {
    let flat = |workers, settings: &[(&str, &str)]| {
        golden::plan(&render("intel-mpi", &job("Intel", workers, 1), settings))
            .contains("I_MPI_HYDRA_BRANCH_COUNT=0")
    };

    assert!(!flat(16, &[]));
    assert!(flat(17, &[]));
    assert!(flat(256, &[]));
    assert!(!flat(257, &[]));
    assert!(!flat(17, &[("flat-launch-hosts", "0")]));
}

#[test]
fn intel_warns_where_slots_cannot_reach_the_users_command() {
    let mut job = job("Intel", 2, 4);
    job.groups[1].hosts[1].slots = 1;

    let plan = render("intel-mpi", &job, &[]);

    assert!(plan.notes[0].warning);
    assert!(plan.notes[0].text.ends_with("only with mpirun -machinefile /etc/mpi/hostfile"));
}

#[test]
fn the_nodes_network_has_no_eth0_for_sure() {
    let mut job = job("Intel", 2, 1);
    job.groups[0].host_network = true;

    assert!(!golden::plan(&render("intel-mpi", &job, &[])).contains("I_MPI_HYDRA_IFACE"));
}

#[test]
fn nobody_to_run_on_is_a_warning() {
    for (name, flavor) in BOTH {
        assert!(render(name, &job(flavor, 0, 1), &[]).notes[0].warning, "{name}");
    }
}

#[test]
fn ten_thousand_hosts_are_within_budget() {
    for (name, flavor) in BOTH {
        let job = job(flavor, 10_000, 8);

        let plan = render(name, &job, &[]);
        let files = chain(name, &[]).follow(&job, &given::members(&job, MemberState::Ready)).unwrap();

        assert_eq!(plan.files[0].content.lines().count(), 10_000, "{name}");
        assert_eq!(files[0].content.lines().count(), 10_001, "{name}");
    }
}
