//! Launcher plugin for Open MPI.
//!
//! Nothing in a job says which version its image holds, so every job gets the variables of both: Open MPI 4 (ORTE) reads
//! `OMPI_MCA_orte_*` and `OMPI_MCA_plm_rsh_*` and ignores the rest; 5 (PRRTE) reads `PRTE_MCA_*` and, since 5.0.6,
//! nothing else. Both sets together were run on 4.1.8, 5.0.8, 5.0.10 and 5.0.11.
//!
//! `mpirun` of every release of Open MPI 5 may end with 0 although a worker was lost while the job ran: PRRTE notes the lost
//! daemon where nobody looks. No parameter changes that, so `OMPI_PRTERUN` names a script that runs the real `prterun` and
//! lets its 0 count only if every ssh ended with 0, too.

#![cfg_attr(target_arch = "wasm32", no_std)]

extern crate alloc;

mod bindings;

use alloc::{
    borrow::ToOwned,
    string::{String, ToString},
    vec,
    vec::Vec,
};

use bindings::exports::coxswain::plugin::{about, launcher as exported};
use coxswain_plugin_kit::{
    env::Env,
    groups, hostfile,
    launcher::{self, Launcher, SSH_ARGS},
    plan,
    settings::{self, Declared, Kind, Settings},
    types::{Edit, Failure, File, Group, Job, Member, Note, Plan, Setting, Violation},
};

coxswain_plugin_kit::without_std!();

const TREE_SPAWN: &str = "tree-spawn";
const FORWARD_ENV: &str = "forward-env";
const MPIRUN_ARGS: &str = "mpirun-args";
const CHECK_EXIT: &str = "check-exit";

/// In place of Open MPI 5's own `prterun`, and the ssh that it lets that one call, by their names beside the host list.
const PRTERUN: (&str, &str) = ("prterun", include_str!("files/prterun"));
const PRTERUN_SSH: (&str, &str) = ("prterun-ssh", include_str!("files/prterun-ssh"));

const SETTINGS: &[Declared] = &[
    launcher::ssh_args("words for every ssh, separated by blanks"),
    Declared {
        key: TREE_SPAWN,
        kind: Kind::Flag,
        default: "true",
        summary: "beyond 64 hosts workers start workers, which needs keys on them; false: the launcher starts all",
    },
    launcher::discover_slots(),
    Declared {
        key: FORWARD_ENV,
        kind: Kind::Words,
        default: "",
        summary: "variables of the launcher that every rank gets, too, each NAME or NAME=VALUE; not beside -x in a \
                  command of your own",
    },
    Declared {
        key: MPIRUN_ARGS,
        kind: Kind::Words,
        default: "",
        summary: "further arguments of mpirun in a rendered command",
    },
    Declared {
        key: CHECK_EXIT,
        kind: Kind::Flag,
        default: "true",
        summary: "mpirun of Open MPI 5 does not end with 0 where a host was lost, by a script of the plugin at \
                  OMPI_PRTERUN; false: without the script",
    },
];

struct OpenMpi;

impl about::Guest for OpenMpi {
    fn describe() -> about::Descriptor {
        about::Descriptor {
            name: "openmpi".into(),
            version: env!("CARGO_PKG_VERSION").into(),
            summary: "Open MPI 4 and 5 over ssh".into(),
            serves: vec!["OpenMPI".into()],
            settings: settings::kinds(SETTINGS),
            reads_env: vec![],
            writes_env: vec!["OMPI_MCA_".into(), "PRTE_MCA_".into(), "OMPI_PRTERUN".into()],
            reads_annotations: vec![],
        }
    }

    fn check_settings(settings: Vec<Setting>) -> Vec<Violation> {
        settings::check(SETTINGS, &settings)
    }
}

impl exported::Guest for OpenMpi {
    fn render(job: Job) -> Result<Plan, Failure> {
        let mut plan = launcher::render::<Self>(&job)?;
        if Settings::parse(SETTINGS, &job.settings)?.flag(CHECK_EXIT) {
            let scripts = [PRTERUN, PRTERUN_SSH].map(|(name, text)| plan::job_script(name, text.to_owned()));
            plan.files.extend(scripts);
        }
        if cfg!(feature = "marker") {
            plan.edits.extend(Env::of_everyone().force("OMPI_MCA_coxswain_marker", "1").into_edits());
        }
        Ok(plan)
    }

    fn follow(job: Job, members: Vec<Member>) -> Result<Vec<File>, Failure> {
        launcher::follow::<Self>(&job, &members)
    }
}

impl Launcher for OpenMpi {
    const SETTINGS: &'static [Declared] = SETTINGS;

    /// First what the MPI Operator sets, in its order and by force, as its value wins there. Then the names of Open MPI 5,
    /// which give way to the user's.
    fn environment(job: &Job, driver: &Group, settings: Settings) -> Vec<Edit> {
        let path = hostfile::path(job);
        let slots = groups::default_slots(job).to_string();
        let ssh_args = groups::ssh_args(job, settings.text(SSH_ARGS));
        let forwarded = settings.words(FORWARD_ENV);
        Env::of(&driver.name)
            .force("OMPI_MCA_orte_keep_fqdn_hostnames", "true")
            .force("OMPI_MCA_orte_default_hostfile", path.as_str())
            .force("OMPI_MCA_plm_rsh_args", ssh_args.as_str())
            .force("OMPI_MCA_orte_set_default_slots", slots.as_str())
            .fallback("PRTE_MCA_prte_default_hostfile", path)
            // The opposite of ORTE's value, and right: with true, PRRTE takes the launcher's own line for a remote host and
            // opens ssh to itself. It keeps the names of others as written either way.
            .fallback("PRTE_MCA_prte_keep_fqdn_hostnames", "false")
            .fallback("PRTE_MCA_plm_ssh_args", ssh_args)
            .fallback("PRTE_MCA_prte_set_default_slots", slots)
            .when(!settings.flag(TREE_SPAWN), |env| {
                env.fallback("OMPI_MCA_plm_rsh_no_tree_spawn", "1")
                    .fallback("PRTE_MCA_plm_ssh_no_tree_spawn", "1")
            })
            // One name for both: Open MPI 5 reads it, too. mpirun refuses -x beside it.
            .when(!job.renders_command && !forwarded.is_empty(), |env| {
                env.fallback("OMPI_MCA_mca_base_env_list", forwarded.join(";"))
            })
            .when(settings.flag(CHECK_EXIT), |env| {
                env.fallback("OMPI_PRTERUN", [&job.files_dir, "/", PRTERUN.0].concat())
            })
            .into_edits()
    }

    fn hosts(job: &Job) -> String {
        hostfile::write(groups::rank_hosts(job), hostfile::Dialect::Slots)
    }

    /// `mpirun [-n TOTAL] --hostfile FILE [--allow-run-as-root] [-x VARIABLE]… [more]`.
    fn command(job: &Job, driver: &Group, settings: Settings) -> Vec<String> {
        let mut words = vec!["mpirun".to_owned()];
        words.extend(launcher::count(job));
        words.extend(["--hostfile".to_owned(), hostfile::path(job)]);
        // mpirun refuses root unless told. The pod's security context is where root is forbidden.
        if matches!(driver.run_as_user, None | Some(0)) {
            words.push("--allow-run-as-root".to_owned());
        }
        words
            .extend(settings.words(FORWARD_ENV).into_iter().flat_map(|variable| ["-x".to_owned(), variable]));
        words.extend(settings.words(MPIRUN_ARGS));
        words
    }

    fn notes(job: &Job) -> Vec<Note> {
        launcher::without_hosts(job, "mpirun will refuse the empty hostfile").into_iter().collect()
    }
}
