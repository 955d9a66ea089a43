//! The job's two ConfigMaps: the one that follows the pods (hostfile, `discover_hosts.sh`), and the immutable one
//! with the files that every pod gets.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{overlay, owned};
use crate::{
    api::{annotations, volumes},
    digest::Digest,
    job::ValidJob,
    pin::{ADOPTED, Pin},
    plan::{File, Place},
    policy::Granted,
};

/// Mode of a file, and of an executable one, as the MPI Operator gives them to hostfile and script.
const MODES: (u32, u32) = (0o444, 0o555);

/// Hostfile, script and whatever else belongs beside them. Carries the pin: it exists before the first worker.
pub fn config(job: &ValidJob, granted: &Granted, pin: &Pin) -> Value {
    beside_the_hosts(job, granted, &pin.to_annotation())
}

/// The same of a job that the MPI Operator started, which has no pin.
pub fn unpinned(job: &ValidJob, granted: &Granted) -> Value {
    beside_the_hosts(job, granted, ADOPTED)
}

fn beside_the_hosts(job: &ValidJob, granted: &Granted, pin: &str) -> Value {
    let data = granted.job_files.iter().map(|file| (file.name.as_str(), file.content.as_str())).collect();
    let mut metadata = owned::metadata(job, &job.names().config());
    owned::annotate(&mut metadata, annotations::ANNOTATION_CONTENT, &content(&data));
    owned::annotate(&mut metadata, annotations::ANNOTATION_PIN, pin);
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data})
}

/// The files for every pod, if there are any. Not controlled by the job, so that software which lists what a job
/// controls sees what it has always seen.
pub fn files(job: &ValidJob, granted: &Granted) -> Option<Value> {
    if granted.everywhere.is_empty() {
        return None;
    }
    let data = granted.everywhere.iter().map(|file| (key(file), file.content.as_str())).collect();
    let mut metadata = owned::metadata(job, &job.names().files());
    overlay::set(&mut metadata, "ownerReferences", json!([owned::owner(job)]));
    owned::annotate(&mut metadata, annotations::ANNOTATION_CONTENT, &content(&data));
    Some(json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": metadata,
        "immutable": true,
        "data": data,
    }))
}

/// The launcher's volume over [`config`]: hostfile first, then the script, then others by name.
pub(super) fn config_volume(job: &ValidJob, granted: &Granted) -> Value {
    let rank = |file: &File| match file.name.as_str() {
        volumes::HOSTFILE => 0,
        volumes::DISCOVER_HOSTS => 1,
        _ => 2,
    };
    let mut files: Vec<&File> = granted.job_files.iter().collect();
    files.sort_by_key(|file| (rank(file), &file.name));
    volume(volumes::CONFIG_VOLUME, &job.names().config(), files.into_iter())
}

/// Every pod's volume over [`files`].
pub(super) fn files_volume(job: &ValidJob, granted: &Granted) -> Value {
    volume(volumes::FILES_VOLUME, &job.names().files(), granted.everywhere.iter())
}

fn volume<'a>(name: &str, config_map: &str, files: impl Iterator<Item = &'a File>) -> Value {
    let item = |file: &File| {
        let mode = if file.executable { MODES.1 } else { MODES.0 };
        json!({"key": key(file), "path": key(file), "mode": mode})
    };
    let items: Vec<Value> = files.map(item).collect();
    json!({"name": name, "configMap": {"name": config_map, "items": items}})
}

/// The key of a file: its name beside the host list; everywhere its place, which holds one file.
pub(crate) fn key(file: &File) -> &str {
    match &file.place {
        Place::Job => &file.name,
        Place::Everywhere(place) => place,
    }
}

/// sha256 over `data`, keys sorted.
fn content(data: &BTreeMap<&str, &str>) -> String {
    // Texts always serialize.
    Digest::of(serde_json::to_string(data).unwrap_or_default().as_bytes()).to_string()
}
