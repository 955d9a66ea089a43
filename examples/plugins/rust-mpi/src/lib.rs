//! Launcher plugin for `MyMPI`, a flavour of Open MPI 4: an example of a plugin in Rust.
//!
//! ```text
//! cargo run -p coxswain-plugin-build -- rust-mpi      makes target/plugins/examples/rust-mpi.wasm
//! ```
//!
//! A job selects it with `spec.mpiImplementation: MyMPI`. `docs/plugins.md` explains each step.

mod bindings;

use bindings::exports::coxswain::plugin::{about, launcher};
use coxswain_plugin_kit::{
    discover,
    env::Env,
    groups, hostfile, plan,
    settings::{self, Declared, Kind, Settings},
    types::{Change, Edit, Failure, File, Group, Job, Member, Plan, Setting, Violation},
};

const SSH_ARGS: &str = "ssh-args";
const FORWARD_ENV: &str = "forward-env";

/// What an administrator or a user may set, and what it is where nobody does.
const SETTINGS: &[Declared] = &[
    Declared {
        key: SSH_ARGS,
        kind: Kind::Text,
        default: "-o ConnectionAttempts=10",
        summary: "words for every ssh, separated by blanks",
    },
    Declared {
        key: FORWARD_ENV,
        kind: Kind::Words,
        default: "MYMPI_FLAVOUR",
        summary: "variables of the launcher that every rank gets, too",
    },
];

struct MyMpi;

impl about::Guest for MyMpi {
    /// Who the plugin is. `writes_env` is a promise: the operator refuses a plan that sets any other variable.
    fn describe() -> about::Descriptor {
        about::Descriptor {
            name: "rust-mpi".into(),
            version: env!("CARGO_PKG_VERSION").into(),
            summary: "MyMPI, an example in Rust: Open MPI 4 over ssh".into(),
            serves: vec!["MyMPI".into()],
            settings: settings::kinds(SETTINGS),
            reads_env: vec![],
            writes_env: vec!["OMPI_MCA_".into(), "MYMPI_".into()],
            reads_annotations: vec![],
        }
    }

    /// Told to whoever set them: the administrator when the plugin is loaded, the user when the job is created.
    fn check_settings(settings: Vec<Setting>) -> Vec<Violation> {
        settings::check(SETTINGS, &settings)
    }
}

impl launcher::Guest for MyMpi {
    /// What a job gets: called for the whole job, before there are any pods.
    fn render(job: Job) -> Result<Plan, Failure> {
        let settings = Settings::parse(SETTINGS, &job.settings)?;
        let driver = groups::driver(&job)?;

        let mut edits = environment(&job, driver, settings);
        if job.renders_command {
            edits.push(command(&job, driver)?);
        }
        let hosts = hostfile::write(groups::rank_hosts(&job), hostfile::Dialect::Slots);
        let mut notes = Vec::new();
        if hosts.is_empty() {
            notes.push(plan::warning("no host executes ranks: mpirun will refuse the empty hostfile"));
        }
        Ok(Plan { edits, files: vec![hostfile::file(hosts), discover::file(&job, &[], false)], notes })
    }

    /// Files that follow the pods as these come and go.
    fn follow(job: Job, members: Vec<Member>) -> Result<Vec<File>, Failure> {
        Ok(vec![discover::file(&job, &members, false)])
    }
}

/// `force` replaces what the user has set, `fallback` gives way to it.
fn environment(job: &Job, driver: &Group, settings: Settings) -> Vec<Edit> {
    Env::of(&driver.name)
        .force("OMPI_MCA_orte_default_hostfile", hostfile::path(job))
        .force("OMPI_MCA_orte_keep_fqdn_hostnames", "true")
        .fallback("OMPI_MCA_plm_rsh_args", groups::ssh_args(job, settings.text(SSH_ARGS)))
        .fallback("OMPI_MCA_mca_base_env_list", settings.words(FORWARD_ENV).join(";"))
        .force("MYMPI_FLAVOUR", concat!("rust-mpi ", env!("CARGO_PKG_VERSION")))
        .into_edits()
}

/// `mpirun [-n RANKS] PROGRAM…`, for jobs that leave the command to the plugin.
fn command(job: &Job, driver: &Group) -> Result<Edit, Failure> {
    let mut words = vec!["mpirun".to_owned()];
    // The number of an elastic job changes, its launcher's command cannot: mpirun fills the hostfile.
    if !job.elastic {
        words.extend(["-n".to_owned(), groups::total_slots(job).to_string()]);
    }
    words.extend_from_slice(groups::program(driver)?);
    Ok(Edit { group: Some(driver.name.clone()), change: Change::LaunchCommand(words) })
}
