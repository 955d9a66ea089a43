//! Who starts a run, who executes its ranks, and how many there are.

use alloc::{borrow::ToOwned, format, string::String, vec::Vec};

use crate::{
    plan,
    types::{Failure, Group, HostEntry, Job, Violation},
};

/// The group that starts the run (an `MPIJob`'s launcher).
///
/// # Errors
///
/// `unsupported` for jobs without one: a launcher plugin has nothing to configure there.
pub fn driver(job: &Job) -> Result<&Group, Failure> {
    let found = job.groups.iter().find(|group| group.driver);
    found.ok_or_else(|| Failure::Unsupported("the job has no group that starts the run".into()))
}

/// Hosts that execute ranks: the driver's own line first if it is one of them, then every group in the job's order.
pub fn rank_hosts(job: &Job) -> impl Iterator<Item = &HostEntry> + Clone {
    let own = job.groups.iter().filter(|group| group.driver);
    let others = job.groups.iter().filter(|group| !group.driver);
    own.chain(others).filter(|group| group.runs_ranks).flat_map(|group| group.hosts.iter())
}

/// Sum of the slots of all hosts that execute ranks.
pub fn total_slots(job: &Job) -> u64 {
    rank_hosts(job).map(|host| u64::from(host.slots)).sum()
}

/// Slots of the first host that executes ranks; of the driver where nobody does; 1 where there is nobody at all.
/// It is the number that "slots per host" variables carry.
pub fn default_slots(job: &Job) -> u32 {
    let driver = job.groups.iter().filter(|group| group.driver).flat_map(|group| group.hosts.iter());
    rank_hosts(job).chain(driver).next().map_or(1, |host| host.slots)
}

/// True if hosts have different numbers of slots.
pub fn has_uneven_slots(job: &Job) -> bool {
    let mut slots = rank_hosts(job).map(|host| host.slots);
    slots.next().is_some_and(|first| slots.any(|next| next != first))
}

/// Arguments for every ssh: the check of host keys where the job asks for one, `args`, and the port where the job names
/// one. Of options that stand twice ssh takes the first, so `args` cannot turn the check off.
pub fn ssh_args(job: &Job, args: &str) -> String {
    let known_hosts = job.ssh.as_ref().and_then(|ssh| ssh.known_hosts.as_ref());
    let check = known_hosts.map(|file| format!("-o StrictHostKeyChecking=yes -o UserKnownHostsFile={file}"));
    let port = job.ssh.as_ref().and_then(|ssh| ssh.port).map(|port| format!("-p {port}"));
    let given = Some(args.to_owned()).filter(|args| !args.is_empty());
    [check, given, port].into_iter().flatten().collect::<Vec<_>>().join(" ")
}

/// The user's program, for jobs that ask for a rendered command: the driver's `args`.
///
/// # Errors
///
/// `invalid` if `args` is empty, or if `command` is set as well (it would be lost silently).
pub fn program(driver: &Group) -> Result<&[String], Failure> {
    const CONTAINER: &str = "spec.mpiReplicaSpecs[Launcher].template.spec.containers[0]";
    let mut violations: Vec<Violation> = Vec::new();
    if !driver.container.command.is_empty() {
        violations.push(plan::violation(
            [CONTAINER, ".command"].concat(),
            "must be empty: the plugin renders the command, put the program and its arguments into args",
        ));
    }
    if driver.container.args.is_empty() {
        violations.push(plan::violation(
            [CONTAINER, ".args"].concat(),
            "must name the program and its arguments, for example [\"/app/solver\", \"--steps=10\"]",
        ));
    }
    if violations.is_empty() { Ok(&driver.container.args) } else { Err(Failure::Invalid(violations)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{sample, types::Ssh};
    use alloc::vec;

    #[test]
    fn the_drivers_line_comes_first_if_it_runs_ranks() {
        let mut job = sample::job(2, 4);
        assert_eq!(
            rank_hosts(&job).map(|host| &*host.short_name).collect::<Vec<_>>(),
            ["pi-worker-0", "pi-worker-1"]
        );

        job.groups[0].runs_ranks = true;
        job.groups.reverse();

        assert_eq!(
            rank_hosts(&job).map(|host| &*host.short_name).collect::<Vec<_>>(),
            ["pi-launcher", "pi-worker-0", "pi-worker-1"]
        );
        assert_eq!(total_slots(&job), 12);
    }

    #[test]
    fn slots_fall_back_to_the_driver_where_nobody_runs_ranks() {
        let job = sample::job(0, 3);

        assert_eq!(default_slots(&job), 3);
        assert_eq!(total_slots(&job), 0);
        assert!(!has_uneven_slots(&job));
    }

    #[test]
    fn uneven_slots_are_seen() {
        let mut job = sample::job(3, 2);
        job.groups[1].hosts[2].slots = 1;

        assert!(has_uneven_slots(&job));
    }

    #[test]
    fn the_check_of_host_keys_stands_before_arguments_that_could_turn_it_off() {
        let mut job = sample::job(1, 1);
        let ssh = |port, known_hosts: Option<&str>| {
            Some(Ssh { mount_path: "/root/.ssh".into(), port, known_hosts: known_hosts.map(Into::into) })
        };

        assert_eq!(ssh_args(&job, "-q"), "-q");
        job.ssh = ssh(Some(2222), None);
        assert_eq!(ssh_args(&job, ""), "-p 2222");
        job.ssh = ssh(Some(2222), Some("/root/.ssh/known_hosts"));
        assert_eq!(
            ssh_args(&job, "-o StrictHostKeyChecking=no"),
            "-o StrictHostKeyChecking=yes -o UserKnownHostsFile=/root/.ssh/known_hosts -o StrictHostKeyChecking=no \
             -p 2222"
        );
    }

    #[test]
    fn a_command_beside_a_rendered_one_is_refused_with_the_way_out() {
        let mut job = sample::job(1, 1);
        job.groups[0].container.command = vec!["mpirun".into()];

        let Err(Failure::Invalid(violations)) = program(&job.groups[0]) else { panic!("accepted") };

        assert_eq!(violations.len(), 2);
        assert!(violations[0].path.ends_with("containers[0].command"));
        assert!(violations[1].path.ends_with("containers[0].args"));
    }
}
