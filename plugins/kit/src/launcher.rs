//! What every launcher plugin does alike: a host list, `discover_hosts.sh`, variables in the driver, and the command where
//! the job leaves it to the plugin.

use alloc::{borrow::ToOwned, string::String, string::ToString, vec, vec::Vec};

use crate::{
    discover, groups, hostfile, plan,
    settings::{Declared, Kind, Settings},
    types::{Change, Edit, Failure, File, Group, Job, Member, Note, Plan},
};

/// The setting of [`discover_slots`].
pub const DISCOVER_SLOTS: &str = "discover-hosts-slots";
/// The setting of [`ssh_args`].
pub const SSH_ARGS: &str = "ssh-args";

/// What one implementation does in its own way.
pub trait Launcher {
    /// What may be set; [`SSH_ARGS`] and [`DISCOVER_SLOTS`] among it where the plugin wants to be told.
    const SETTINGS: &'static [Declared];

    /// Variables of the driver.
    fn environment(job: &Job, driver: &Group, settings: Settings) -> Vec<Edit>;

    /// The host list, empty without hosts.
    fn hosts(job: &Job) -> String;

    /// What starts the ranks: the words of the command up to the user's program.
    fn command(job: &Job, driver: &Group, settings: Settings) -> Vec<String>;

    /// What the user may want to know.
    fn notes(job: &Job) -> Vec<Note>;
}

/// Arguments for every ssh, as [`groups::ssh_args`] completes them.
pub const fn ssh_args(summary: &'static str) -> Declared {
    Declared { key: SSH_ARGS, kind: Kind::Text, default: "-o ConnectionAttempts=10", summary }
}

/// Whether `discover_hosts.sh` tells the slots.
pub const fn discover_slots() -> Declared {
    Declared {
        key: DISCOVER_SLOTS,
        kind: Kind::Flag,
        default: "false",
        summary: "discover_hosts.sh prints host:slots, as Horovod reads it, in place of host",
    }
}

/// The plan for a job.
///
/// # Errors
///
/// A setting is wrong, there is no driver, or there is no program where the command is to be rendered.
pub fn render<L: Launcher>(job: &Job) -> Result<Plan, Failure> {
    let settings = Settings::parse(L::SETTINGS, &job.settings)?;
    let driver = groups::driver(job)?;
    let mut edits = L::environment(job, driver, settings);
    if job.renders_command {
        let program = groups::program(driver)?;
        let mut words = L::command(job, driver, settings);
        words.extend_from_slice(program);
        edits.push(Edit { group: Some(driver.name.clone()), change: Change::LaunchCommand(words) });
    }
    let files = vec![hostfile::file(L::hosts(job)), script(job, &[], settings)];
    Ok(Plan { edits, files, notes: L::notes(job) })
}

/// The files that follow the pods.
///
/// # Errors
///
/// A setting is wrong.
pub fn follow<L: Launcher>(job: &Job, members: &[Member]) -> Result<Vec<File>, Failure> {
    let settings = Settings::parse(L::SETTINGS, &job.settings)?;
    Ok(vec![script(job, members, settings)])
}

/// `-n TOTAL`. The number of an elastic job changes, its launcher's command cannot: without `-n` every launcher fills the
/// host list.
pub fn count(job: &Job) -> Vec<String> {
    if job.elastic { Vec::new() } else { vec!["-n".to_owned(), groups::total_slots(job).to_string()] }
}

/// A warning if there is nobody to execute ranks; `outcome` says what the launcher makes of that.
pub fn without_hosts(job: &Job, outcome: &str) -> Option<Note> {
    let nobody = groups::rank_hosts(job).next().is_none();
    nobody.then(|| plan::warning(["no host executes ranks: ", outcome].concat()))
}

fn script(job: &Job, members: &[Member], settings: Settings) -> File {
    discover::file(job, members, settings.flag(DISCOVER_SLOTS))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{env::Env, hostfile::Dialect, sample, types::Place};

    struct Plain;

    impl Launcher for Plain {
        const SETTINGS: &'static [Declared] = &[ssh_args("words for every ssh"), discover_slots()];

        fn environment(job: &Job, driver: &Group, settings: Settings) -> Vec<Edit> {
            let args = groups::ssh_args(job, settings.text(SSH_ARGS));
            Env::of(&driver.name).force("PLAIN_SSH_ARGS", args).into_edits()
        }

        fn hosts(job: &Job) -> String {
            hostfile::write(groups::rank_hosts(job), Dialect::Plain)
        }

        fn command(job: &Job, _: &Group, _: Settings) -> Vec<String> {
            [vec!["plainrun".to_owned()], count(job)].concat()
        }

        fn notes(job: &Job) -> Vec<Note> {
            without_hosts(job, "plainrun refuses").into_iter().collect()
        }
    }

    #[test]
    fn a_command_is_rendered_only_where_the_job_asks_for_it() {
        let mut job = sample::job(2, 3);
        let commands = |plan: &Plan| {
            let words = plan.edits.iter().filter_map(|edit| match &edit.change {
                Change::LaunchCommand(words) => Some(words.join(" ")),
                _ => None,
            });
            words.collect::<Vec<_>>()
        };
        assert!(commands(&render::<Plain>(&job).unwrap()).is_empty());

        job.renders_command = true;
        assert!(matches!(render::<Plain>(&job), Err(Failure::Invalid(_))), "there is no program");
        job.groups[0].container.args = vec!["/app/pi".into()];
        assert_eq!(commands(&render::<Plain>(&job).unwrap()), ["plainrun -n 6 /app/pi"]);
        job.elastic = true;
        assert_eq!(commands(&render::<Plain>(&job).unwrap()), ["plainrun /app/pi"]);
    }

    #[test]
    fn both_files_are_beside_the_driver_and_nobody_to_execute_ranks_is_told() {
        let plan = render::<Plain>(&sample::job(0, 1)).unwrap();

        let names: Vec<&str> = plan.files.iter().map(|file| &*file.name).collect();
        assert_eq!(names, ["hostfile", "discover_hosts.sh"]);
        assert!(plan.files.iter().all(|file| matches!(file.place, Place::Job)));
        assert_eq!(plan.notes[0].text, "no host executes ranks: plainrun refuses");
        assert!(render::<Plain>(&sample::job(1, 1)).unwrap().notes.is_empty());
    }
}
