//! Launcher plugin for MPICH (Hydra).
//!
//! The MPI Operator sets `HYDRA_LAUNCH_EXTRA_ARGS`, a name that Hydra has not read since 2011. It stays, as a user may
//! look at it; the name that Hydra reads is set beside it and gives way to the user's.

#![cfg_attr(target_arch = "wasm32", no_std)]

extern crate alloc;

mod bindings;

use alloc::{borrow::ToOwned, string::String, vec, vec::Vec};

use bindings::exports::coxswain::plugin::{about, launcher as exported};
use coxswain_plugin_kit::{
    env::Env,
    groups,
    hostfile::{self, Dialect},
    launcher::{self, Launcher, SSH_ARGS},
    settings::{self, Declared, Kind, Settings},
    types::{Edit, Failure, File, Group, Job, Member, Note, Plan, Setting, Violation},
};

coxswain_plugin_kit::without_std!();

const INTERFACE: &str = "interface";
const MPIEXEC_ARGS: &str = "mpiexec-args";

const SETTINGS: &[Declared] = &[
    launcher::ssh_args("words for every ssh, separated by blanks; Hydra knows no quotes"),
    Declared {
        key: INTERFACE,
        kind: Kind::Text,
        default: "eth0",
        summary: "interface of the launcher that workers call back to, unless it is on the node's network; empty: they \
                  call its host name, which DNS may not know yet",
    },
    launcher::discover_slots(),
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

impl exported::Guest for Mpich {
    fn render(job: Job) -> Result<Plan, Failure> {
        launcher::render::<Self>(&job)
    }

    fn follow(job: Job, members: Vec<Member>) -> Result<Vec<File>, Failure> {
        launcher::follow::<Self>(&job, &members)
    }
}

impl Launcher for Mpich {
    const SETTINGS: &'static [Declared] = SETTINGS;

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

    fn hosts(job: &Job) -> String {
        hostfile::write(groups::rank_hosts(job), Dialect::Colon)
    }

    /// `mpiexec.hydra -f FILE [-n TOTAL] [more]`.
    fn command(job: &Job, _: &Group, settings: Settings) -> Vec<String> {
        let mut words = vec!["mpiexec.hydra".to_owned(), "-f".to_owned(), hostfile::path(job)];
        words.extend(launcher::count(job));
        words.extend(settings.words(MPIEXEC_ARGS));
        words
    }

    fn notes(job: &Job) -> Vec<Note> {
        launcher::without_hosts(job, "mpiexec runs everything in the launcher").into_iter().collect()
    }
}
