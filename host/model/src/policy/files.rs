//! Rules for files: names, contents, and that they fit into their ConfigMaps.

use super::findings::Findings;
use crate::{
    api::volumes,
    job::{ValidJob, sizes::CONFIG_MAP},
    places,
    plan::{File, Place},
};

/// Most files of one plan.
const MAX_FILES: usize = 16;
/// Longest key of a ConfigMap.
const MAX_NAME: usize = 253;

/// (files beside the host list, files for every pod). A later file of the same name and place wins at the place of
/// the first; a place for every pod holds one file.
pub(super) fn grant(job: &ValidJob, files: &[File], found: &mut Findings) -> (Vec<File>, Vec<File>) {
    let (mut beside, mut everywhere) = (Vec::new(), Vec::new());
    for file in files {
        check(file, found);
        match &file.place {
            Place::Job => merge(&mut beside, file, |one| one.name == file.name, found),
            Place::Everywhere(place) if places::spot(place).is_some() => {
                merge(&mut everywhere, file, |one| one.place == file.place, found);
            }
            Place::Everywhere(place) => {
                let text =
                    format!("file {:?} is left out: this operator knows no place {place:?}", file.name);
                found.note(&file.by, text);
            }
        }
    }
    let count = beside.len() + everywhere.len();
    if let Some(file) = files.last()
        && count > MAX_FILES
    {
        found.refuse(&file.by, "files", format!("{count} files: at most {MAX_FILES} are allowed"));
    }
    fit_job(job, &beside, found);
    if let Some(file) = over(everywhere.iter()) {
        found.refuse(&file.by, &item(file), too_large());
    }
    (beside, everywhere)
}

/// Contents that follow the pods, in the place of those that were rendered.
pub(super) fn follow(job: &ValidJob, rendered: &[File], files: &[File], found: &mut Findings) -> Vec<File> {
    let mut followed = rendered.to_vec();
    for file in files {
        check(file, found);
        let known = followed.iter_mut().find(|one| file.place == Place::Job && one.name == file.name);
        match known {
            Some(known) => known.content.clone_from(&file.content),
            None => {
                found.refuse(&file.by, &item(file), "follows the pods but was not rendered: render it, too");
            }
        }
    }
    fit_job(job, &followed, found);
    followed
}

fn merge(merged: &mut Vec<File>, file: &File, same: impl Fn(&File) -> bool, found: &mut Findings) {
    match merged.iter_mut().find(|one| same(one)) {
        None => merged.push(file.clone()),
        Some(first) => {
            if first.by != file.by {
                found.note(&file.by, format!("file {:?} replaces the one of plugin {}", file.name, first.by));
            }
            first.clone_from(file);
        }
    }
}

fn item(file: &File) -> String {
    format!("files[{}]", file.name)
}

fn check(file: &File, found: &mut Findings) {
    let File { by, name, content, .. } = file;
    let well_formed = (1..=MAX_NAME).contains(&name.len())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_'))
        && name != "."
        && !name.starts_with("..");
    if !well_formed {
        found.refuse(by, &item(file), "a name has letters, digits, '-', '.' and '_', 1 to 253 of them");
    }
    if name.starts_with("ssh-") {
        found.refuse(by, &item(file), "names that begin with \"ssh-\" are kept for keys");
    }
    if content.contains(['\r', '\0']) {
        found.refuse(by, &item(file), "holds a CR or NUL: lines end in LF alone");
    }
}

fn too_large() -> String {
    format!("the files come to more than {} KiB, which no ConfigMap holds: write less", CONFIG_MAP >> 10)
}

/// The file with which the sum of all passes the bound.
fn over<'a>(files: impl Iterator<Item = &'a File>) -> Option<&'a File> {
    let mut sum = 0;
    files.into_iter().find(|file| {
        sum += file.content.len();
        sum > CONFIG_MAP
    })
}

/// The host list and the script grow with the workers; what does not fit is then the user's to change.
fn fit_job(job: &ValidJob, files: &[File], found: &mut Findings) {
    let grows = |file: &&File| matches!(file.name.as_str(), volumes::HOSTFILE | volumes::DISCOVER_HOSTS);
    if let Some(file) = over(files.iter().filter(|file| !grows(file))) {
        found.refuse(&file.by, &item(file), too_large());
        return;
    }
    let fixed: usize = files.iter().filter(|file| !grows(file)).map(|file| file.content.len()).sum();
    let hostfile = files.iter().find(|file| file.name == volumes::HOSTFILE).map(|file| file.content.as_str());
    let script = files.iter().find(|file| file.name == volumes::DISCOVER_HOSTS);
    let lines = Lines { job, hostfile: hostfile.unwrap_or_default(), script: script.is_some() };
    if fixed + lines.bytes() > CONFIG_MAP {
        let largest = lines.largest(CONFIG_MAP - fixed);
        let text = format!(
            "host list and script of {} workers take more than {} KiB, which no ConfigMap holds: at most \
             {largest} fit",
            job.workers(),
            CONFIG_MAP >> 10
        );
        found.refuse_at("spec.mpiReplicaSpecs[Worker].replicas", text);
    }
}

/// What the host list takes, and the script once every worker runs.
struct Lines<'a> {
    job: &'a ValidJob,
    hostfile: &'a str,
    script: bool,
}

impl Lines<'_> {
    fn bytes(&self) -> usize {
        self.hostfile.len() + self.script_bytes().sum::<usize>()
    }

    /// Bytes of the script's lines: `echo HOST:SLOTS`, for each worker.
    fn script_bytes(&self) -> impl Iterator<Item = usize> {
        let names = self.job.names();
        let slots = self.job.slots().to_string().len();
        let line = move |role, index| "echo :\n".len() + names.fqdn(&names.pod(role, index)).len() + slots;
        let groups = self.job.groups().run_by_pods().filter(|_| self.script);
        groups.flat_map(move |group| (0..group.replicas()).map(move |index| line(group.role().name, index)))
    }

    /// The largest number of workers whose lines fit into `room`.
    fn largest(&self, room: usize) -> usize {
        let mut lines = self.hostfile.split_inclusive('\n').map(str::len);
        let launcher = if self.job.driver().runs_ranks() { lines.next().unwrap_or(0) } else { 0 };
        let mut script = self.script_bytes();
        let mut sum = launcher;
        lines
            .take_while(|line| {
                sum += line + script.next().unwrap_or(0);
                sum <= room
            })
            .count()
    }
}
