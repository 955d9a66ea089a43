use coxswain_model::pin::PinnedPlugin;
use pretty_assertions::assert_eq;

use super::*;
use coxswain_plugins::source::PluginRequest;
use coxswain_plugins::source::{Candidate, Rollback};

fn request(bytes: &[u8]) -> PluginRequest {
    let candidate = Candidate::of("x", bytes.to_vec());
    PluginRequest { candidate, vectors: None, holds: false, approved: None, rollback: None }
}

fn asked(request: Result<PluginRequest, String>) -> Asked {
    Asked { plugin: "x".into(), config_map: "x".into(), request }
}

fn serving(bytes: &[u8]) -> StoredStatus {
    StoredStatus {
        active: Some(Served { digest: Digest::of(bytes), settings: BTreeMap::new() }),
        ..StoredStatus::default()
    }
}

fn waiting(held: bool) -> StoredStatus {
    let candidate = Waiting { digest: Digest::of(b"new"), held, why: "because".into() };
    StoredStatus { candidate: Some(candidate), ..serving(b"old") }
}

fn state_of(asked: Vec<Asked>, status: StoredStatus) -> (State, Option<String>) {
    let statuses = [("x".to_owned(), status)].into();
    let all = statuses_of(&Gathered { statuses, asked, ..Gathered::default() });
    assert_eq!(all.len(), 1);
    let PluginStatus { state, why, .. } = all.into_iter().next().unwrap();
    (state, why)
}

#[test]
fn a_plugin_stands_where_its_config_map_and_the_operator_have_brought_it() {
    let new = || vec![asked(Ok(request(b"new")))];
    let because = || Some("because".to_owned());

    assert_eq!(state_of(new(), serving(b"new")), (State::Active, None));
    assert_eq!(state_of(new(), serving(b"old")), (State::Unread, None));
    assert_eq!(state_of(new(), waiting(true)), (State::Held, because()));
    assert_eq!(state_of(new(), waiting(false)), (State::Refused, because()));
    assert_eq!(state_of(vec![asked(Err("because".into()))], serving(b"old")), (State::Refused, because()));
    assert_eq!(state_of(vec![], serving(b"old")), (State::Image, None));
    assert_eq!(state_of(vec![], StoredStatus::default()), (State::Gone, None));
    let two = vec![asked(Ok(request(b"new"))), asked(Ok(request(b"new")))];
    assert_eq!(state_of(two, serving(b"new")).0, State::Conflict);
}

#[test]
fn a_way_back_and_other_settings_are_told_from_what_the_config_map_asks_for() {
    let mut back = request(b"new");
    back.rollback = Some(Rollback { from: back.identity(), to: Digest::of(b"old") });
    let mut changed = request(b"new");
    changed.candidate.settings.insert("key".into(), "value".into());

    assert_eq!(state_of(vec![asked(Ok(back))], serving(b"old")).0, State::RolledBack);
    assert_eq!(state_of(vec![asked(Ok(changed))], serving(b"new")).0, State::Unread);
}

fn job(key: &str, digests: &[(&str, &[u8])], fault: Option<&str>) -> LiveJob {
    let mut plugins = digests.iter().map(|(name, bytes)| PinnedPlugin {
        name: (*name).to_owned(),
        digest: Digest::of(bytes),
        settings: BTreeMap::new(),
    });
    let pin = plugins.next().map(|launcher| Pin {
        launcher,
        tuners: plugins.collect(),
        cluster_domain: None,
        claims: BTreeMap::new(),
    });
    LiveJob { key: key.into(), pin, fault: fault.map(Into::into) }
}

#[test]
fn jobs_are_counted_by_component_and_faults_by_plugin() {
    let jobs = vec![
        job("b/2", &[("x", b"new"), ("t", b"t")], None),
        job("a/1", &[("x", b"new")], Some("plugin x@0123 failed: it trapped")),
        job("a/3", &[("x", b"old")], Some("plugin t@0123 failed: it trapped")),
        job("a/4", &[], None),
    ];
    let all = statuses_of(&Gathered { jobs: Some(jobs), ..Gathered::default() });

    let names: Vec<&str> = all.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(names, ["t", "x"]);
    let x = &all[1];
    let mut pinned: Vec<&[String]> = x.pinned.iter().flatten().map(|one| one.jobs.as_slice()).collect();
    pinned.sort();
    assert_eq!(pinned, [&["a/1".to_owned(), "b/2".to_owned()][..], &["a/3".to_owned()]]);
    let faults: Vec<&str> = x.faults.iter().flatten().map(|fault| fault.job.as_str()).collect();
    assert_eq!(faults, ["a/1"]);
    assert_eq!(x.state, State::Gone, "nothing new gets it");
}
