//! Rules for the launcher's command.

use super::{cluster_policy::ClusterPolicy, findings::Findings};
use crate::{
    api::annotations,
    job::ValidJob,
    json::at,
    plan::{Change, Edit, Plan},
};

/// Most words beside the user's own.
const MAX_WORDS: usize = 64;
/// Longest word beside the user's own, bytes.
const MAX_WORD: usize = 4 << 10;

/// The whole command, where the job asks for it.
pub(super) fn launch(job: &ValidJob, plan: &Plan, found: &mut Findings) -> Option<Vec<String>> {
    const ITEM: &str = "launch-command";
    let mut command = None;
    for edit in &plan.edits {
        let Change::LaunchCommand(words) = &edit.change else { continue };
        driver_only(job, edit, ITEM, found);
        if !job.options().renders_command {
            let text = format!(
                "the job does not ask for a rendered command: that takes annotation {}: render",
                annotations::ANNOTATION_LAUNCH_COMMAND
            );
            found.refuse(&edit.by, ITEM, text);
        }
        if words.is_empty() {
            found.refuse(&edit.by, ITEM, "is empty: it needs a program at least");
        }
        check(&edit.by, ITEM, words, &users(job), found);
        command = Some(words.clone());
    }
    if command.is_none() && job.options().renders_command {
        found.refuse_at(
            format!("metadata.annotations[{}]", annotations::ANNOTATION_LAUNCH_COMMAND),
            "no plugin of this job renders commands: remove the annotation and write the launcher's command",
        );
    }
    command
}

/// Words before the command; the last edit wins.
pub(super) fn prefix(
    job: &ValidJob,
    plan: &Plan,
    policy: &ClusterPolicy,
    found: &mut Findings,
) -> Vec<String> {
    const ITEM: &str = "prefix-command";
    let mut prefix = Vec::new();
    let has_command = job.options().renders_command || !at(job.driver().container(), "/command").is_null();
    for edit in &plan.edits {
        let Change::PrefixCommand(words) = &edit.change else { continue };
        driver_only(job, edit, ITEM, found);
        if !policy.prefix_command.contains(&edit.by) {
            let text = "the cluster's policy does not let this plugin put words before commands";
            found.refuse(&edit.by, ITEM, text);
        }
        check(&edit.by, ITEM, words, &[], found);
        if has_command {
            prefix.clone_from(words);
        } else if !words.is_empty() {
            let text = "the launcher runs its image's own command, before which nothing can be put: write the \
                        command in the launcher's template";
            found.note(&edit.by, text.to_owned());
        }
    }
    prefix
}

fn driver_only(job: &ValidJob, edit: &Edit, item: &str, found: &mut Findings) {
    let driver = job.driver().role().name;
    if edit.group.as_deref().is_some_and(|group| group != driver) {
        found.refuse(&edit.by, item, format!("works on the {driver} alone: leave the group out"));
    }
}

/// The user's own words, which a rendered command carries on and no bound of ours concerns.
fn users(job: &ValidJob) -> Vec<&str> {
    let container = job.driver().container();
    let lists = ["/command", "/args"].map(|field| at(container, field).as_array());
    lists.into_iter().flatten().flatten().filter_map(|word| word.as_str()).collect()
}

fn check(by: &str, item: &str, words: &[String], users: &[&str], found: &mut Findings) {
    let ours: Vec<&String> = words.iter().filter(|word| !users.contains(&word.as_str())).collect();
    if ours.len() > MAX_WORDS {
        found.refuse(by, item, format!("{} words: at most {MAX_WORDS} are allowed", ours.len()));
    }
    if ours.iter().any(|word| word.len() > MAX_WORD) {
        found.refuse(by, item, format!("a word is longer than {MAX_WORD} bytes: put the text into a file"));
    }
    if words.iter().any(|word| word.contains('\0')) {
        found.refuse(by, item, "a word holds a NUL");
    }
}
