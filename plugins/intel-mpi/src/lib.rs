//! Launcher plugin for Intel MPI 2021 (a fork of Hydra).
//!
//! Two things that its launcher does differently from others shape this plugin: the `:N` of a hostfile counts only if it
//! is given as `-machinefile`, so that slots reach a user's own command through `I_MPI_PERHOST`, one number for all; and
//! its proxies call back to what the launcher's `hostname` prints, unless an interface is named.

#![cfg_attr(target_arch = "wasm32", no_std)]

extern crate alloc;

mod bindings;

use alloc::{
    borrow::ToOwned,
    format,
    string::{String, ToString},
    vec,
    vec::Vec,
};

use bindings::exports::coxswain::plugin::{about, launcher as exported};
use coxswain_plugin_kit::{
    env::Env,
    groups,
    hostfile::{self, Dialect},
    launcher::{self, Launcher, SSH_ARGS},
    plan,
    settings::{self, Declared, Kind, Settings},
    types::{Edit, Failure, File, Group, Job, Member, Note, Plan, Setting, Violation},
};

coxswain_plugin_kit::without_std!();

const INTERFACE: &str = "interface";
const FLAT_HOSTS: &str = "flat-launch-hosts";
const MPIEXEC_ARGS: &str = "mpiexec-args";

/// The launcher itself reaches this many hosts; beyond, proxies start proxies, which needs keys on the workers.
const TREE_WIDTH: usize = 16;

const SETTINGS: &[Declared] = &[
    launcher::ssh_args("words for every ssh, separated by blanks"),
    Declared {
        key: INTERFACE,
        kind: Kind::Text,
        default: "eth0",
        summary: "interface of the launcher that workers call back to; empty: they call its host name",
    },
    Declared {
        key: FLAT_HOSTS,
        kind: Kind::Number(0, 65_535),
        default: "256",
        summary: "up to so many hosts the launcher starts every proxy itself",
    },
    launcher::discover_slots(),
    Declared {
        key: MPIEXEC_ARGS,
        kind: Kind::Words,
        default: "",
        summary: "further arguments of mpiexec.hydra in a rendered command",
    },
];

struct IntelMpi;

impl about::Guest for IntelMpi {
    fn describe() -> about::Descriptor {
        about::Descriptor {
            name: "intel-mpi".into(),
            version: env!("CARGO_PKG_VERSION").into(),
            summary: "Intel MPI 2021 over ssh".into(),
            serves: vec!["Intel".into()],
            settings: settings::kinds(SETTINGS),
            reads_env: vec![],
            writes_env: vec!["I_MPI_".into()],
            reads_annotations: vec![],
        }
    }

    fn check_settings(settings: Vec<Setting>) -> Vec<Violation> {
        settings::check(SETTINGS, &settings)
    }
}

impl exported::Guest for IntelMpi {
    fn render(job: Job) -> Result<Plan, Failure> {
        launcher::render::<Self>(&job)
    }

    fn follow(job: Job, members: Vec<Member>) -> Result<Vec<File>, Failure> {
        launcher::follow::<Self>(&job, &members)
    }
}

impl Launcher for IntelMpi {
    const SETTINGS: &'static [Declared] = SETTINGS;

    /// First what the MPI Operator sets, in its order and by force, as its value wins there. Then what gives way to the
    /// user's.
    fn environment(job: &Job, driver: &Group, settings: Settings) -> Vec<Edit> {
        let interface = settings.text(INTERFACE);
        // On the node's network the interface is called whatever the node calls it.
        let names_interface = !interface.is_empty() && !driver.host_network;
        let hosts = groups::rank_hosts(job).count();
        // The number of an elastic job changes, its launcher's environment cannot.
        let is_flat = !job.elastic && hosts > TREE_WIDTH && hosts as u64 <= settings.number(FLAT_HOSTS);
        Env::of(&driver.name)
            .force("I_MPI_HYDRA_HOST_FILE", hostfile::path(job))
            .force("I_MPI_HYDRA_BOOTSTRAP_EXEC_EXTRA_ARGS", groups::ssh_args(job, settings.text(SSH_ARGS)))
            .force("I_MPI_PERHOST", groups::default_slots(job).to_string())
            // A SLURM_* variable that leaks in would choose another one.
            .fallback("I_MPI_HYDRA_BOOTSTRAP", "ssh")
            .when(names_interface, |env| env.fallback("I_MPI_HYDRA_IFACE", interface))
            .when(is_flat, |env| env.fallback("I_MPI_HYDRA_BRANCH_COUNT", "0"))
            .into_edits()
    }

    /// `host:N`. The launcher's own line goes by its short name: by the long one it does not know itself and opens ssh to
    /// itself, where no daemon listens.
    fn hosts(job: &Job) -> String {
        let mut text = String::new();
        for group in job.groups.iter().filter(|group| group.driver && group.runs_ranks) {
            for host in &group.hosts {
                hostfile::push(&mut text, &host.short_name, host.slots, Dialect::Colon);
            }
        }
        let others = job.groups.iter().filter(|group| !group.driver && group.runs_ranks);
        text.push_str(&hostfile::write(others.flat_map(|group| group.hosts.iter()), Dialect::Colon));
        text
    }

    /// `mpiexec.hydra -machinefile FILE [-n TOTAL] [more]`.
    fn command(job: &Job, _: &Group, settings: Settings) -> Vec<String> {
        let mut words = vec!["mpiexec.hydra".to_owned(), "-machinefile".to_owned(), hostfile::path(job)];
        words.extend(launcher::count(job));
        words.extend(settings.words(MPIEXEC_ARGS));
        words
    }

    fn notes(job: &Job) -> Vec<Note> {
        let mut notes = Vec::new();
        notes.extend(launcher::without_hosts(job, "mpiexec.hydra crashes on the empty hostfile"));
        if groups::has_uneven_slots(job) && !job.renders_command {
            let path = hostfile::path(job);
            notes.push(plan::warning(format!(
                "hosts have different slots, which Intel MPI follows only with mpirun -machinefile {path}"
            )));
        }
        notes
    }
}
