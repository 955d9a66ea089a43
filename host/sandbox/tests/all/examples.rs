//! The example plugins, one in Rust and one in C: they are what people copy.

use std::sync::{Arc, Mutex, PoisonError};

use coxswain_model::{
    plan::Plan,
    view::{JobView, MemberState, Setting, SshView},
};
use coxswain_sandbox::{Call, Chain, Compiler, Function, Link, Observer, Sandbox};
use pretty_assertions::assert_eq;

use crate::{
    given::{self, BOUND, bytes, chain, job, launcher_as_worker, merged, plugin},
    golden,
};

/// Plugin and the implementation that it serves.
const BOTH: [(&str, &str); 2] = [("rust-mpi", "MyMPI"), ("c-mpi", "CMPI")];

fn render(name: &str, job: &JobView, settings: &[(&str, &str)]) -> Plan {
    chain(name, settings).render(job).unwrap()
}

#[test]
fn plans_of_the_examples_are_golden() {
    let mut cases = golden::Cases::default();
    for (name, flavor) in BOTH {
        let mut both = launcher_as_worker(job(flavor, 2, 4));
        both.groups[1].hosts[1].slots = 1;
        let known_hosts = Some("/home/mpiuser/.ssh/known_hosts".into());
        both.ssh = Some(SshView { mount_path: "/home/mpiuser/.ssh".into(), port: Some(2222), known_hosts });
        both.renders_command = true;
        both.groups[0].container.args = vec!["/app/pi".into(), "10".into()];

        cases.check(&format!("{name}/2-workers"), &golden::plan(&render(name, &job(flavor, 2, 2), &[])));
        cases
            .check(&format!("{name}/everything"), &golden::plan(&render(name, &both, &[("ssh-args", "-q")])));
    }
    cases.end();
}

#[test]
fn discover_hosts_of_the_examples_follows_running_members() {
    for (name, flavor) in BOTH {
        let job = launcher_as_worker(job(flavor, 3, 1));
        let mut members = given::members(&job, MemberState::Ready);
        members[1].state = MemberState::Terminating;
        members[2].state = MemberState::Running;

        let files = chain(name, &[]).follow(&job, &members).unwrap();

        assert_eq!(
            files[0].content,
            "#!/bin/sh\necho pi-launcher.pi.default.svc\necho pi-worker-0.pi.default.svc\n\
             echo pi-worker-2.pi.default.svc\n",
            "{name}"
        );
    }
}

#[test]
fn settings_that_the_examples_do_not_know_are_refused_by_key() {
    for (name, _) in BOTH {
        let unknown = Setting { key: "ssh-arg".into(), value: "-q".into() };

        let violations = plugin(name).check_settings(&[unknown]).unwrap();

        assert_eq!(violations.len(), 1, "{name}");
        assert_eq!(violations[0].path, "ssh-arg", "{name}");
        assert!(violations[0].text.contains("ssh-args"), "{name}: {}", violations[0].text);
    }
}

#[test]
fn mistakes_of_the_user_are_refused_in_words() {
    let mut command = job("CMPI", 1, 1);
    command.renders_command = true;
    let mut alone = job("CMPI", 1, 1);
    alone.groups.remove(0);

    let refused = |job: &JobView| chain("c-mpi", &[]).render(job).unwrap_err().to_string();
    let interface = Setting { key: "interface".into(), value: String::new() };

    assert_eq!(
        refused(&command),
        "plugin c-mpi: spec.mpiReplicaSpecs[Launcher].template.spec.containers[0].args: must name the program and its \
         arguments, and command must be empty: the plugin renders it"
    );
    assert_eq!(refused(&alone), "plugin c-mpi: the job has no launcher");
    assert_eq!(
        plugin("c-mpi").check_settings(&[interface]).unwrap()[0].text,
        "must name a network interface, for example eth0"
    );
}

#[test]
fn an_elastic_jobs_rendered_command_of_the_examples_does_not_count_hosts() {
    for (name, flavor) in BOTH {
        let edits = |workers| {
            let mut job = job(flavor, workers, 1);
            job.elastic = true;
            job.renders_command = true;
            job.groups[0].container.args = vec!["/app/pi".into()];
            render(name, &job, &[]).edits
        };

        assert_eq!(edits(2), edits(100), "{name}");
    }
}

#[test]
fn nobody_to_run_on_is_a_warning_of_the_examples() {
    for (name, flavor) in BOTH {
        assert!(render(name, &job(flavor, 0, 1), &[]).notes[0].warning, "{name}");
    }
}

/// Instructions of `render` and `follow` together.
fn fuel(name: &str, flavor: &str, workers: u32) -> u64 {
    let fuel = Arc::new(Mutex::new(0));
    let counted = Arc::clone(&fuel);
    let count: Observer = Arc::new(move |call: &Call<'_>| {
        if matches!(call.function, Function::Render | Function::Follow) {
            *counted.lock().unwrap_or_else(PoisonError::into_inner) += call.fuel;
        }
    });
    let plugin = Sandbox::with(Compiler::Here, count).unwrap().load(name, &bytes(name), BOUND).unwrap();
    let settings = merged(&plugin, &[]);
    let chain = Chain { launcher: Link { plugin, settings }, tuners: vec![] };
    let job = job(flavor, workers, 8);
    let plan = chain.render(&job).unwrap();
    let files = chain.follow(&job, &given::members(&job, MemberState::Ready)).unwrap();

    let lines = usize::try_from(workers).unwrap();
    assert_eq!(plan.files[0].content.lines().count(), lines, "{name}");
    assert_eq!(files[0].content.lines().count(), lines + 1, "{name}");
    *fuel.lock().unwrap()
}

#[test]
fn the_examples_need_less_than_a_quarter_of_their_budget() {
    for (name, flavor) in BOTH {
        for workers in [1, 64, 1_024, 10_000] {
            let used = fuel(name, flavor, workers);
            println!("{name}: {used} instructions for {workers} hosts");
            // What one call of the two has.
            assert!(
                used < (50_000_000 + 20_000 * u64::from(workers)) / 4,
                "{name}: {used} for {workers} hosts"
            );
        }
    }
}

#[test]
fn the_same_job_gives_the_same_plan_of_the_examples() {
    for (name, flavor) in BOTH {
        let (chain, job) = (chain(name, &[]), job(flavor, 64, 8));

        assert_eq!(chain.render(&job), chain.render(&job), "{name}");
    }
}
