//! The launcher first, then the tuners, each signed.

use coxswain_model::{
    plan::{Change, EnvEdit, EnvValue, Plan},
    view::{JobView, Setting},
};
use coxswain_sandbox::{Chain, Link};
use pretty_assertions::assert_eq;

use crate::given::{chain, job, merged, plugin};

fn with_tuner(behaviour: &str) -> Chain {
    let tuner = plugin("hostile");
    let settings = merged(&tuner, &[("behaviour", behaviour)]);
    Chain { tuners: vec![Link { plugin: tuner, settings }], ..chain("openmpi", &[]) }
}

fn value<'a>(plan: &'a Plan, name: &str) -> Option<&'a str> {
    plan.edits.iter().find_map(|edit| match &edit.change {
        Change::Env(EnvEdit { name: found, value: EnvValue::Literal(value), .. }) if found == name => {
            Some(value.as_str())
        }
        _ => None,
    })
}

fn seen_by_everyone() -> JobView {
    let mut job = job("OpenMPI", 1, 1);
    job.groups[1].container.env = vec![
        ("SECRET".into(), Some("x".into())),
        ("SEEN_A".into(), None),
        ("SEEN_B".into(), Some("y".into())),
    ];
    job.groups[0].annotations = vec![
        Setting { key: "seen.example/a".into(), value: "1".into() },
        Setting { key: "unseen.example/b".into(), value: "2".into() },
    ];
    job
}

#[test]
fn each_part_of_a_plan_is_signed() {
    let plan = with_tuner("echo").render(&job("OpenMPI", 1, 1)).unwrap();

    assert_eq!(plan.edits.first().unwrap().by, "openmpi");
    assert_eq!(plan.edits.last().unwrap().by, "hostile");
    assert!(plan.files.iter().all(|file| file.by == "openmpi"));
}

#[test]
fn a_plugin_sees_only_what_it_declares_to_read() {
    let plan = with_tuner("echo").render(&seen_by_everyone()).unwrap();

    assert_eq!(value(&plan, "HOSTILE_SEEN"), Some("SEEN_A SEEN_B seen.example/a"));
}

#[test]
fn a_tuner_that_breaks_is_skipped_with_a_warning() {
    let job = job("OpenMPI", 1, 1);
    let mut expected = chain("openmpi", &[]).render(&job).unwrap();

    let mut plan = with_tuner("panic").render(&job).unwrap();

    let note = plan.notes.pop().unwrap();
    assert!(note.warning && note.by == "hostile");
    assert!(note.text.starts_with("tuner hostile was skipped: it trapped"), "{}", note.text);
    expected.notes.clear();
    assert_eq!(plan, expected);
}

#[test]
fn a_tuner_that_cannot_serve_is_skipped_with_its_words() {
    let plan = with_tuner("no-such-behaviour").render(&job("OpenMPI", 1, 1)).unwrap();

    assert_eq!(
        plan.notes.last().unwrap().text,
        "tuner hostile was skipped: no such behaviour: no-such-behaviour"
    );
}

#[test]
fn a_tuner_for_other_implementations_has_no_say() {
    let mut chain = chain("mpich", &[]);
    chain.tuners = with_tuner("panic").tuners;

    assert_eq!(chain.render(&job("MPICH", 1, 1)).unwrap().notes, []);
}

#[test]
fn a_mistake_that_a_tuner_finds_is_the_users() {
    let mut chain = with_tuner("none");
    chain.tuners[0].settings.push(Setting { key: "behavior".into(), value: "x".into() });

    let fault = chain.render(&job("OpenMPI", 1, 1)).unwrap_err();

    assert_eq!(fault.to_string(), "plugin hostile: behavior: is not a setting; did you mean \"behaviour\"?");
}

#[test]
fn settings_are_checked_on_request() {
    let plugin = plugin("openmpi");

    let violations = plugin.check_settings(&merged(&plugin, &[("tree-spawn", "yes")])).unwrap();

    assert_eq!(violations.len(), 1);
    assert_eq!(violations[0].path, "tree-spawn");
    assert_eq!(violations[0].text, "must be \"true\" or \"false\", not \"yes\"");
}
