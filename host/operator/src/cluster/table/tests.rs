use coxswain_model::seen::{ObjectSeen, SecretSeen};

use super::*;
use crate::cluster::index::Named;

type Rows = Table<Named<SecretSeen>>;

fn job() -> JobKey {
    JobKey::new("team-a", "pi")
}

fn object(name: &str, uid: &str, version: u64) -> Named<SecretSeen> {
    let object = ObjectSeen { uid: Uid::from(uid), version: Version(version), ..ObjectSeen::default() };
    Named { name: name.into(), seen: SecretSeen { object, ..SecretSeen::default() } }
}

fn leaving(mut row: Named<SecretSeen>) -> Named<SecretSeen> {
    row.seen.object.deleting = true;
    row
}

fn names(table: &Rows) -> Vec<&str> {
    table.of(&job()).iter().map(|row| &*row.name).collect()
}

#[test]
fn an_object_just_written_is_there_before_the_watch_shows_it() {
    let mut table = Rows::default();

    table.wrote(&job(), object("a", "1", 10), Instant::now());

    assert_eq!(names(&table), ["a"]);
    assert!(!table.shown(&job(), object("a", "1", 10)), "the watch's confirmation is no news");
}

#[test]
fn a_deletion_that_overtook_the_answer_to_a_creation_leaves_no_ghost() {
    let mut table = Rows::default();

    table.shown(&job(), object("a", "1", 10));
    table.ended(&job(), &object("a", "1", 11));
    table.wrote(&job(), object("a", "1", 10), Instant::now());

    assert_eq!(names(&table), Vec::<&str>::new());
}

#[test]
fn the_watch_does_not_overwrite_what_is_newer() {
    let mut table = Rows::default();

    table.wrote(&job(), object("a", "1", 20), Instant::now());
    assert!(!table.shown(&job(), leaving(object("a", "1", 15))));

    assert!(!table.of(&job())[0].seen.object.deleting);
    assert_eq!(table.of(&job())[0].seen.object.version, Version(20));
}

#[test]
fn a_delete_that_was_accepted_is_not_undone_by_older_news() {
    let mut table = Rows::default();
    table.shown(&job(), object("a", "1", 10));

    table.deleting(&job(), &Uid::from("1"), Version(12));
    table.shown(&job(), object("a", "1", 11));

    assert!(table.of(&job())[0].seen.object.deleting);
}

#[test]
fn the_end_of_an_object_does_not_take_its_successor_along() {
    let mut table = Rows::default();
    table.shown(&job(), object("a", "1", 10));

    table.wrote(&job(), object("a", "2", 12), Instant::now());
    assert!(!table.ended(&job(), &object("a", "1", 11)));

    assert_eq!(table.of(&job())[0].seen.object.uid, Uid::from("2"));
}

#[test]
fn a_version_alone_wakes_nobody_and_is_remembered() {
    let mut table = Rows::default();
    table.shown(&job(), object("a", "1", 10));

    assert!(!table.shown(&job(), object("a", "1", 11)));
    assert!(table.shown(&job(), leaving(object("a", "1", 12))));

    assert_eq!(table.of(&job())[0].seen.object.version, Version(12));
}

#[test]
fn what_the_watch_never_confirms_is_forgotten_after_its_time() {
    let mut table = Rows::default();
    let start = Instant::now();
    table.wrote(&job(), object("a", "1", 10), start);
    table.wrote(&job(), object("b", "2", 11), start);
    table.shown(&job(), object("b", "2", 11));

    assert_eq!(table.expire(start + UNCONFIRMED / 2), []);
    assert_eq!(table.expire(start + UNCONFIRMED), [job()]);

    assert_eq!(names(&table), ["b"]);
}

#[test]
fn a_new_list_replaces_the_old_one_and_names_the_jobs_that_differ() {
    let mut table = Rows::default();
    let same = JobKey::new("team-a", "same");
    table.shown(&job(), object("a", "1", 10));
    table.shown(&same, object("s", "3", 11));

    table.listing();
    table.listed(&job(), object("b", "2", 20));
    table.listed(&same, object("s", "3", 19));
    assert_eq!(names(&table), ["a"], "until the list is complete the old one stands");

    assert_eq!(table.listed_all(), [job()]);
    assert_eq!(names(&table), ["b"]);
}

#[test]
fn what_was_written_during_a_list_survives_it() {
    let mut table = Rows::default();
    table.listing();
    table.listed(&job(), object("a", "1", 10));
    table.wrote(&job(), object("b", "2", 11), Instant::now());

    table.listed_all();

    assert_eq!(names(&table), ["a", "b"]);
}

#[test]
fn what_a_list_should_have_shown_and_did_not_is_gone() {
    let mut table = Rows::default();
    table.wrote(&job(), object("b", "2", 11), Instant::now());

    table.listing();
    table.listed(&job(), object("a", "1", 12));
    let changed = table.listed_all();

    assert_eq!(names(&table), ["a"]);
    assert_eq!(changed, [job()]);
}

#[test]
fn a_job_without_rows_leaves_nothing_behind() {
    let mut table = Rows::default();
    table.shown(&job(), object("a", "1", 10));
    table.shown(&job(), object("b", "2", 11));

    table.ended(&job(), &object("a", "1", 12));
    table.gone(&job(), &Uid::from("2"));

    assert_eq!((table.count(), table.jobs().count()), (0, 0));
}
