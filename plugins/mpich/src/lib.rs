//! Launcher plugin for MPICH (Hydra).
//!
//! The MPI Operator sets `HYDRA_LAUNCH_EXTRA_ARGS`, a name that Hydra has not read since 2011. It stays, as a user may
//! look at it; the name that Hydra reads is set beside it and gives way to the user's.

#![cfg_attr(target_arch = "wasm32", no_std)]

extern crate alloc;

mod bindings;

use alloc::{
    borrow::ToOwned,
    string::{String, ToString},
    vec,
    vec::Vec,
};

use bindings::exports::coxswain::plugin::{about, launcher};
use coxswain_plugin_kit::{
    discover,
    env::Env,
    groups,
    hostfile::{self, Dialect},
    plan,
    settings::{self, Declared, Kind, Settings},
    types::{Change, Edit, Failure, File, Group, Job, Member, Plan, Setting, Violation},
};

coxswain_plugin_kit::without_std!();

const SSH_ARGS: &str = "ssh-args";
const INTERFACE: &str = "interface";
const DISCOVER_SLOTS: &str = "discover-hosts-slots";
const MPIEXEC_ARGS: &str = "mpiexec-args";

const SETTINGS: &[Declared] = &[
    Declared {
        key: SSH_ARGS,
        kind: Kind::Text,
        default: "-o ConnectionAttempts=10",
        summary: "words for every ssh, separated by blanks; Hydra knows no quotes",
    },
    Declared {
        key: INTERFACE,
        kind: Kind::Text,
        default: "eth0",
        summary: "interface of the launcher that workers call back to, unless it is on the node's network; empty: they \
                  call its host name, which DNS may not know yet",
    },
    Declared {
        key: DISCOVER_SLOTS,
        kind: Kind::Flag,
        default: "false",
        summary: "discover_hosts.sh prints host:slots, as Horovod reads it, in place of host",
    },
    Declared {
        key: MPIEXEC_ARGS,
        kind: Kind::Words,
        default: "",
        summary: "further arguments of mpiexec.hydra in a rendered command",
    },
];

struct Mpich;

impl about::Guest for Mpich {
    fn describe() -> about::Descriptor {
        about::Descriptor {
            name: "mpich".into(),
            version: env!("CARGO_PKG_VERSION").into(),
            summary: "MPICH 3 to 5 over ssh".into(),
            serves: vec!["MPICH".into()],
            settings: settings::kinds(SETTINGS),
            reads_env: vec![],
            writes_env: vec!["HYDRA_".into()],
            reads_annotations: vec![],
        }
    }

    fn check_settings(settings: Vec<Setting>) -> Vec<Violation> {
        settings::check(SETTINGS, &settings)
    }
}

impl launcher::Guest for Mpich {
    fn render(job: Job) -> Result<Plan, Failure> {
        let settings = Settings::parse(SETTINGS, &job.settings)?;
        let driver = groups::driver(&job)?;

        let mut edits = environment(&job, driver, settings);
        if job.renders_command {
            let command = Change::LaunchCommand(command(&job, driver, settings)?);
            edits.push(Edit { group: Some(driver.name.clone()), change: command });
        }
        let hosts = hostfile::write(groups::rank_hosts(&job), Dialect::Colon);
        let mut notes = Vec::new();
        if hosts.is_empty() {
            notes.push(plan::warning("no host executes ranks: mpiexec runs everything in the launcher"));
        }
        Ok(Plan { edits, files: vec![hostfile::file(hosts), script(&job, &[], settings)], notes })
    }

    fn follow(job: Job, members: Vec<Member>) -> Result<Vec<File>, Failure> {
        let settings = Settings::parse(SETTINGS, &job.settings)?;
        Ok(vec![script(&job, &members, settings)])
    }
}

/// First what the MPI Operator sets, in its order and by force, as its value wins there. Then what gives way to the
/// user's.
fn environment(job: &Job, driver: &Group, settings: Settings) -> Vec<Edit> {
    let ssh_args = groups::ssh_args(job, settings.text(SSH_ARGS));
    let interface = settings.text(INTERFACE);
    // On the node's network the interface is called whatever the node calls it.
    let names_interface = !interface.is_empty() && !driver.host_network;
    Env::of(&driver.name)
        .force("HYDRA_HOST_FILE", hostfile::path(job))
        .force("HYDRA_LAUNCH_EXTRA_ARGS", ssh_args.as_str())
        .fallback("HYDRA_LAUNCHER_EXTRA_ARGS", ssh_args)
        // A SLURM_* variable that leaks in would choose another one.
        .fallback("HYDRA_LAUNCHER", "ssh")
        .when(names_interface, |env| env.fallback("HYDRA_IFACE", interface))
        .into_edits()
}

/// `mpiexec.hydra -f FILE [-n TOTAL] [more] PROGRAM…`.
fn command(job: &Job, driver: &Group, settings: Settings) -> Result<Vec<String>, Failure> {
    let program = groups::program(driver)?;
    let mut words = vec!["mpiexec.hydra".to_owned(), "-f".to_owned(), hostfile::path(job)];
    // The number of an elastic job changes, its launcher's command cannot. Without -n, mpiexec fills the hostfile.
    if !job.elastic {
        words.extend(["-n".to_owned(), groups::total_slots(job).to_string()]);
    }
    words.extend(settings.words(MPIEXEC_ARGS));
    words.extend_from_slice(program);
    Ok(words)
}

fn script(job: &Job, members: &[Member], settings: Settings) -> File {
    discover::file(job, members, settings.flag(DISCOVER_SLOTS))
}
