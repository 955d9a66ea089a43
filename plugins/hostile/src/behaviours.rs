//! One function a behaviour.

use std::{
    hint::black_box,
    sync::atomic::{AtomicU32, Ordering},
};

use coxswain_plugin_kit::{
    env::Env,
    plan,
    types::{Change, Edit, Failure, Job, Place, Plan, Port, Violation, Want},
};

const MIB: usize = 1 << 20;

/// Does it. An unknown behaviour is reported as unsupported.
pub fn perform(behaviour: &str, job: &Job) -> Result<Plan, Failure> {
    Ok(match behaviour {
        "none" => empty(),
        "loop" => endless(),
        "recurse" => variable("HOSTILE_DEPTH", &recurse(u64::MAX).to_string()),
        "grow" => grow(),
        "leap" => variable("HOSTILE_LEAP", &vec![1_u8; 1024 * MIB].len().to_string()),
        "panic" => panic_for(job),
        "alias" => Plan { files: alias::files(), ..empty() },
        "many-edits" => Plan { edits: many("HOSTILE_", 1_000_000), ..empty() },
        "some-edits" => Plan { edits: many("HOSTILE_", 2_000), ..empty() },
        "large-file" => Plan { files: vec![plan::job_file("hostfile", "x".repeat(8 * MIB))], ..empty() },
        "many-files" => Plan {
            files: (0..100).map(|at| plan::job_file(&format!("file-{at}"), String::new())).collect(),
            ..empty()
        },
        "many-words" => command(vec!["mpirun".into(); 2_000]),
        "long-note" => Plan { notes: vec![plan::warning("x".repeat(MIB))], ..empty() },
        "noisy-note" => Plan { notes: vec![plan::warning("one\ntwo\r\u{0}\u{1b}[31mthree")], ..empty() },
        "many-violations" => return Err(Failure::Invalid(violations(10_000))),
        "noisy-refusal" => return Err(Failure::Unsupported("no\nType: Warning\u{0}".into())),
        "fickle" => fickle(),
        "echo" => echo(job),
        other => return rude(other),
    })
}

/// What the types of the contract allow and a policy must not.
fn rude(behaviour: &str) -> Result<Plan, Failure> {
    Ok(match behaviour {
        "newline-in-env" => variable("HOSTILE_LINE", "one\ntwo"),
        "nul-in-env" => variable("HOSTILE_NUL", "a\u{0}b"),
        "name-with-equals" => variable("HOSTILE_A=B", "c"),
        "undeclared-env" => variable("OTHER_VARIABLE", "1"),
        "preload" => variable("LD_PRELOAD", "/tmp/x.so"),
        "expand" => variable("HOSTILE_EXPAND", "$(K_MPI_JOB_ROLE)"),
        "unknown-group" => Plan { edits: Env::of("nobody").force("HOSTILE_A", "b").into_edits(), ..empty() },
        "low-port" => change(Change::Port(Port { name: "ssh".into(), number: 22 })),
        "strange-want" => {
            change(Change::Want(Want { kind: "host-root".into(), parameter: Some("/".into()) }))
        }
        "command" => command(vec!["sh".into(), "-c".into(), "rm -rf /".into()]),
        "prefix" => change(Change::PrefixCommand(vec!["sh".into(), "-c".into()])),
        "path-as-name" => Plan { files: vec![plan::job_file("../../etc/passwd", String::new())], ..empty() },
        "key-as-name" => Plan { files: vec![plan::job_file("ssh-privatekey", String::new())], ..empty() },
        "carriage-return" => {
            Plan { files: vec![plan::job_file("hostfile", "a slots=1\r\n".into())], ..empty() }
        }
        "strange-place" => {
            let mut file = plan::job_file("x", String::new());
            file.place = Place::Everywhere("/etc/passwd".into());
            Plan { files: vec![file], ..empty() }
        }
        _ => return Err(Failure::Unsupported(format!("no such behaviour: {behaviour}"))),
    })
}

fn empty() -> Plan {
    Plan { edits: vec![], files: vec![], notes: vec![] }
}

fn change(change: Change) -> Plan {
    Plan { edits: vec![Edit { group: None, change }], ..empty() }
}

fn command(words: Vec<String>) -> Plan {
    change(Change::LaunchCommand(words))
}

fn variable(name: &str, value: &str) -> Plan {
    Plan { edits: Env::of_everyone().force(name, value).into_edits(), ..empty() }
}

fn panic_for(job: &Job) -> Plan {
    assert!(job.groups.len() > 99, "the job has too few groups");
    empty()
}

fn endless() -> ! {
    let mut turns = 0_u64;
    loop {
        turns = black_box(turns.wrapping_add(1));
    }
}

fn recurse(depth: u64) -> u64 {
    let deeper = black_box(depth).checked_sub(1).map_or(0, recurse);
    black_box(deeper).wrapping_add(depth)
}

fn grow() -> ! {
    let mut hoard = Vec::new();
    loop {
        hoard.push(black_box(Vec::<u8>::with_capacity(MIB)));
    }
}

fn many(prefix: &str, count: usize) -> Vec<Edit> {
    let edit = Env::of_everyone().force(&format!("{prefix}A"), "b").into_edits();
    edit.into_iter().cycle().take(count).collect()
}

fn violations(count: usize) -> Vec<Violation> {
    (0..count).map(|at| plan::violation(format!("spec.x[{at}]"), "is wrong")).collect()
}

/// Tries to answer differently the second time.
fn fickle() -> Plan {
    static CALLS: AtomicU32 = AtomicU32::new(0);
    let calls = CALLS.fetch_add(1, Ordering::Relaxed);
    let here = std::ptr::from_ref(&calls).addr();
    variable("HOSTILE_CALLS", &format!("{calls}@{here}"))
}

/// Everything that it gets to see of the variables and annotations.
fn echo(job: &Job) -> Plan {
    let env = job.groups.iter().flat_map(|group| group.container.env.iter().map(|env| env.name.as_str()));
    let annotations = job.groups.iter().flat_map(|group| group.annotations.iter().map(|a| a.key.as_str()));
    variable("HOSTILE_SEEN", &env.chain(annotations).collect::<Vec<_>>().join(" "))
}

/// A few bytes that look like many.
mod alias {
    #![allow(unsafe_code, reason = "one string in many places is exactly what safe code cannot do")]

    use std::mem;

    use coxswain_plugin_kit::{plan, types::File};

    /// 50 files that all hold the same MiB.
    pub fn files() -> Vec<File> {
        let content = "x".repeat(super::MIB);
        // SAFETY: none of the copies is ever dropped in here: the host reads them and refuses, and the instance ends.
        let copy = |_| plan::job_file("alias", unsafe { std::ptr::read(&raw const content) });
        let files = (0..50).map(copy).collect();
        mem::forget(content);
        files
    }
}
