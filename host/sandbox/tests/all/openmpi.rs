//! What jobs get from the plugin for Open MPI.

use coxswain_model::{
    plan::{Failure, Plan},
    view::{JobView, MemberState, SshView},
};
use coxswain_sandbox::Fault;
use pretty_assertions::assert_eq;

use crate::{
    given::{self, chain, job, launcher_as_worker},
    golden,
};

fn render(job: &JobView, settings: &[(&str, &str)]) -> Plan {
    chain("openmpi", settings).render(job).unwrap()
}

fn file<'a>(plan: &'a Plan, name: &str) -> &'a str {
    &plan.files.iter().find(|file| file.name == name).unwrap().content
}

#[test]
fn plans_of_small_jobs_are_golden() {
    let mut cases = golden::Cases::default();
    for workers in [1, 2, 3] {
        cases.check(
            &format!("openmpi/{workers}-workers"),
            &golden::plan(&render(&job("OpenMPI", workers, 2), &[])),
        );
    }
    cases.end();
}

#[test]
fn hosts_come_in_numeric_order() {
    let plan = render(&job("OpenMPI", 200, 1), &[]);

    let lines: Vec<&str> = file(&plan, "hostfile").lines().collect();
    assert_eq!(lines.len(), 200);
    for (index, line) in lines.into_iter().enumerate() {
        assert_eq!(line, format!("pi-worker-{index}.pi.default.svc slots=1"));
    }
}

#[test]
fn uneven_slots_reach_the_hostfile() {
    let mut job = job("OpenMPI", 3, 4);
    job.groups[1].hosts[1].slots = 2;

    golden::check("openmpi/uneven-slots", &golden::plan(&render(&job, &[])));
}

#[test]
fn a_launcher_that_works_comes_first() {
    golden::check(
        "openmpi/launcher-as-worker",
        &golden::plan(&render(&launcher_as_worker(job("OpenMPI", 2, 1)), &[])),
    );
}

#[test]
fn a_rendered_command_starts_all_ranks() {
    let mut job = job("OpenMPI", 2, 4);
    job.renders_command = true;
    job.groups[0].container.args = vec!["/app/pi".into(), "--steps=10 20".into()];

    let plan = render(&job, &[("mpirun-args", "--bind-to none -x 'A=b c'"), ("tree-spawn", "false")]);

    golden::check("openmpi/rendered-command", &golden::plan(&plan));
}

#[test]
fn a_rendered_command_without_a_program_is_the_users_mistake() {
    let mut job = job("OpenMPI", 2, 4);
    job.renders_command = true;

    let fault = chain("openmpi", &[]).render(&job).unwrap_err();

    assert!(matches!(fault.fault, Fault::Refused(Failure::Invalid(_))));
    assert_eq!(
        fault.to_string(),
        "plugin openmpi: spec.mpiReplicaSpecs[Launcher].template.spec.containers[0].args: must name the program and \
         its arguments, for example [\"/app/solver\", \"--steps=10\"]"
    );
}

#[test]
fn an_ssh_port_reaches_both_families() {
    let mut job = job("OpenMPI", 1, 1);
    job.ssh = Some(SshView { mount_path: "/root/.ssh".into(), port: Some(2222), known_hosts: None });

    let text = golden::plan(&render(&job, &[("ssh-args", "-q")]));

    assert!(text.contains("force OMPI_MCA_plm_rsh_args=-q -p 2222\n"), "{text}");
    assert!(text.contains("fallback PRTE_MCA_plm_ssh_args=-q -p 2222\n"), "{text}");
}

#[test]
fn a_check_of_host_keys_reaches_both_families_whatever_the_settings_say() {
    let mut job = job("OpenMPI", 1, 1);
    let known_hosts = Some("/root/.ssh/known_hosts".into());
    job.ssh = Some(SshView { mount_path: "/root/.ssh".into(), port: None, known_hosts });
    let check = "-o StrictHostKeyChecking=yes -o UserKnownHostsFile=/root/.ssh/known_hosts";

    let text = golden::plan(&render(&job, &[("ssh-args", "-o StrictHostKeyChecking=no")]));

    for variable in ["force OMPI_MCA_plm_rsh_args", "fallback PRTE_MCA_plm_ssh_args"] {
        assert!(text.contains(&format!("{variable}={check} -o StrictHostKeyChecking=no\n")), "{text}");
    }
}

#[test]
fn discover_hosts_follows_running_members_in_numeric_order() {
    let job = job("OpenMPI", 11, 2);
    let mut members = given::members(&job, MemberState::Running);
    members.retain(|member| [0, 2, 10].contains(&member.host.index));
    members[1].state = MemberState::Pending;

    let live = chain("openmpi", &[]).follow(&job, &members).unwrap();
    let slots = chain("openmpi", &[("discover-hosts-slots", "true")]).follow(&job, &members).unwrap();

    golden::check("openmpi/follow", &(golden::files(&live) + &golden::files(&slots)));
}

#[test]
fn the_script_that_checks_the_exit_is_left_out_where_a_setting_says_so() {
    let names = |plan: &Plan| plan.files.iter().map(|file| file.name.clone()).collect::<Vec<_>>();
    let checked = render(&job("OpenMPI", 1, 1), &[]);
    let unchecked = render(&job("OpenMPI", 1, 1), &[("check-exit", "false")]);

    assert_eq!(names(&checked), ["hostfile", "discover_hosts.sh", "prterun", "prterun-ssh"]);
    assert!(golden::plan(&checked).contains("fallback OMPI_PRTERUN=/etc/mpi/prterun\n"));
    assert_eq!(names(&unchecked), ["hostfile", "discover_hosts.sh"]);
    assert!(!golden::plan(&unchecked).contains("OMPI_PRTERUN"));
}

#[test]
fn an_unknown_setting_is_refused_with_the_likely_one() {
    let fault = chain("openmpi", &[("ssh-arg", "-q")]).render(&job("OpenMPI", 1, 1)).unwrap_err();

    assert_eq!(fault.to_string(), "plugin openmpi: ssh-arg: is not a setting; did you mean \"ssh-args\"?");
}

#[test]
fn another_implementation_is_not_served() {
    let fault = chain("openmpi", &[]).render(&job("MPICH", 1, 1)).unwrap_err();

    assert_eq!(fault.to_string(), "plugin openmpi: it serves OpenMPI, not \"MPICH\"");
}

#[test]
fn the_same_job_gives_the_same_plan() {
    let chain = chain("openmpi", &[]);
    let job = job("OpenMPI", 64, 8);

    assert_eq!(chain.render(&job), chain.render(&job));
}

#[test]
fn ten_thousand_hosts_are_within_budget() {
    let job = job("OpenMPI", 10_000, 8);
    let chain = chain("openmpi", &[]);

    let plan = chain.render(&job).unwrap();
    let files = chain.follow(&job, &given::members(&job, MemberState::Ready)).unwrap();

    assert_eq!(file(&plan, "hostfile").lines().count(), 10_000);
    assert_eq!(files[0].content.lines().count(), 10_001);
}
