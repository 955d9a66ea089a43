//! `discover_hosts.sh`: a script that prints the hosts that run now, one a line. Elastic frameworks (Horovod) call it
//! again and again.

use alloc::string::String;

use crate::{
    decimal, plan,
    types::{File, Job, Member, MemberState},
};

/// The name under which the MPI Operator has always mounted it.
pub const NAME: &str = "discover_hosts.sh";

/// Room for one line.
const LINE: usize = 64;

/// [`script`] as a file of a plan.
pub fn file(job: &Job, members: &[Member], slots: bool) -> File {
    plan::job_script(NAME, script(job, members, slots))
}

/// The script for `members`: the driver first if it executes ranks (whether it runs or not, as it is the one that
/// asks), then every other running member of a group that executes ranks, in the order given (the host sends members by
/// group and number).
///
/// With `slots`, lines read `host:N`. The MPI Operator 0.8.2 writes `host`, which is what a job gets without.
/// A member that is being deleted is left out: its ranks would be lost.
pub fn script(job: &Job, members: &[Member], slots: bool) -> String {
    let drivers = job.groups.iter().filter(|group| group.driver && group.runs_ranks);
    let runs_ranks =
        |name: &str| job.groups.iter().any(|group| !group.driver && group.runs_ranks && group.name == name);
    let others = members.iter().filter(|member| runs(member) && runs_ranks(&member.group));
    let hosts = drivers.flat_map(|group| group.hosts.iter()).chain(others.map(|member| &member.host));

    let mut text = String::with_capacity(members.len().saturating_add(1).saturating_mul(LINE));
    text.push_str("#!/bin/sh\n");
    for host in hosts {
        text.push_str("echo ");
        text.push_str(&host.name);
        if slots {
            text.push(':');
            decimal::push(&mut text, host.slots.into());
        }
        text.push('\n');
    }
    text
}

fn runs(member: &Member) -> bool {
    matches!(member.state, MemberState::Running | MemberState::Ready)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    #[test]
    fn only_running_members_are_listed() {
        let job = sample::job(12, 2);
        let hosts = &job.groups[1].hosts;
        let members = [
            sample::member(&hosts[2], MemberState::Ready),
            sample::member(&hosts[3], MemberState::Pending),
            sample::member(&hosts[4], MemberState::Terminating),
            sample::member(&hosts[5], MemberState::Finished),
            sample::member(&hosts[10], MemberState::Running),
        ];

        assert_eq!(
            script(&job, &members, false),
            "#!/bin/sh\necho pi-worker-2.pi.default.svc\necho pi-worker-10.pi.default.svc\n"
        );
        assert_eq!(
            script(&job, &members, true),
            "#!/bin/sh\necho pi-worker-2.pi.default.svc:2\necho pi-worker-10.pi.default.svc:2\n"
        );
    }

    #[test]
    fn a_driver_with_ranks_is_always_listed_first() {
        let mut job = sample::job(1, 1);
        job.groups[0].runs_ranks = true;

        assert_eq!(script(&job, &[], false), "#!/bin/sh\necho pi-launcher.pi.default.svc\n");
    }

    #[test]
    fn nobody_running_leaves_the_bare_script() {
        assert_eq!(script(&sample::job(2, 1), &[], true), "#!/bin/sh\n");
    }
}
