use coxswain_model::observed::{ObservedLauncher, ObservedObject, ObservedSecret};

use super::*;
use crate::named::Named;

type Rows = Table<Named<ObservedSecret>>;

fn job() -> JobKey {
    JobKey::new("team-a", "pi")
}

fn object(name: &str, uid: &str, version: u64) -> Named<ObservedSecret> {
    let object =
        ObservedObject { uid: Uid::from(uid), version: Version(version), ..ObservedObject::default() };
    Named { name: name.into(), observed: ObservedSecret { object, ..ObservedSecret::default() } }
}

fn leaving(mut row: Named<ObservedSecret>) -> Named<ObservedSecret> {
    row.observed.object.deleting = true;
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

    assert!(!table.of(&job())[0].observed.object.deleting);
    assert_eq!(table.of(&job())[0].observed.object.version, Version(20));
}

#[test]
fn a_delete_that_was_accepted_is_not_undone_by_older_news() {
    let mut table = Rows::default();
    table.shown(&job(), object("a", "1", 10));

    table.deleting(&job(), &Uid::from("1"), Version(12));
    table.shown(&job(), object("a", "1", 11));

    assert!(table.of(&job())[0].observed.object.deleting);
}

#[test]
fn the_end_of_an_object_does_not_take_its_successor_along() {
    let mut table = Rows::default();
    table.shown(&job(), object("a", "1", 10));

    table.wrote(&job(), object("a", "2", 12), Instant::now());
    assert!(!table.ended(&job(), &object("a", "1", 11)));

    assert_eq!(table.of(&job())[0].observed.object.uid, Uid::from("2"));
}

#[test]
fn a_version_alone_wakes_nobody_and_is_remembered() {
    let mut table = Rows::default();
    table.shown(&job(), object("a", "1", 10));

    assert!(!table.shown(&job(), object("a", "1", 11)));
    assert!(table.shown(&job(), leaving(object("a", "1", 12))));

    assert_eq!(table.of(&job())[0].observed.object.version, Version(12));
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
fn what_a_list_confirms_stays() {
    let mut table = Rows::default();
    let start = Instant::now();
    table.wrote(&job(), object("a", "1", 10), start);
    table.listing();
    table.listed(&job(), object("a", "1", 10));
    table.listed_all(Version(12));

    assert_eq!(table.expire(start + UNCONFIRMED), []);

    assert_eq!(names(&table), ["a"]);
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

    assert_eq!(table.listed_all(Version(20)), [job()]);
    assert_eq!(names(&table), ["b"]);
}

#[test]
fn what_was_written_during_a_list_survives_it() {
    let mut table = Rows::default();
    table.listing();
    table.listed(&job(), object("a", "1", 10));
    table.wrote(&job(), object("b", "2", 11), Instant::now());

    table.listed_all(Version(10));

    assert_eq!(names(&table), ["a", "b"]);
}

#[test]
fn what_a_list_should_have_shown_and_did_not_is_gone() {
    let mut table = Rows::default();
    table.wrote(&job(), object("b", "2", 11), Instant::now());

    table.listing();
    table.listed(&job(), object("a", "1", 12));
    let changed = table.listed_all(Version(12));

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

#[test]
fn what_was_written_before_a_list_and_is_not_in_it_is_gone_whatever_the_list_shows() {
    let mut table = Rows::default();
    table.shown(&job(), object("a", "1", 10));
    table.shown(&job(), object("b", "2", 11));
    table.wrote(&job(), leaving(object("b", "2", 60)), Instant::now());

    table.listing();
    table.listed(&job(), object("a", "1", 10));
    let changed = table.listed_all(Version(100));

    assert_eq!((names(&table), changed), (vec!["a"], vec![job()]));
}

#[test]
fn a_cluster_that_was_restored_from_a_backup_counts_anew() {
    let mut table = Rows::default();
    table.shown(&job(), object("a", "1", 1000));

    table.listing();
    table.listed_all(Version(500));
    table.wrote(&job(), object("b", "2", 501), Instant::now());

    assert_eq!(names(&table), ["b"]);
}

#[test]
fn the_row_of_an_object_that_a_list_shows_but_nobody_can_decode_stays() {
    let mut table = Rows::default();
    table.shown(&job(), object("a", "1", 10));

    for listed in [20, 30] {
        table.listing();
        table.listed_unread(&Uid::from("1"));
        assert_eq!(table.listed_all(Version(listed)), []);
        assert_eq!(names(&table), ["a"]);
    }
    table.listing();
    assert_eq!(table.listed_all(Version(40)), [job()]);
}

fn picture<const N: usize>(objects: [(&str, u64); N]) -> HashMap<Uid, Version> {
    objects.into_iter().map(|(uid, version)| (Uid::from(uid), Version(version))).collect()
}

#[test]
fn a_comparison_drops_what_is_gone_and_counts_what_was_missed() {
    let mut table = Rows::default();
    table.shown(&job(), object("ghost", "1", 10));
    table.shown(&job(), object("old", "2", 11));
    table.shown(&job(), object("same", "3", 12));

    table.checking(true);
    let repairs = table.check(Version(30), &picture([("2", 20), ("3", 12), ("4", 25)]), &HashSet::new());

    assert_eq!(repairs, Repairs { ghosts: vec![job()], lost: 2 });
    assert_eq!(names(&table), ["old", "same"]);
}

#[test]
fn a_comparison_knows_what_is_under_way() {
    let mut table = Rows::default();
    table.shown(&job(), object("deleted", "1", 10));
    table.shown(&job(), object("aside", "2", 11));
    table.checking(true);
    table.ended(&job(), &object("deleted", "1", 31));
    table.shown(&job(), object("later", "3", 32));
    table.wrote(&job(), object("written", "4", 29), Instant::now());
    table.wrote(&job(), object("unconfirmed", "5", 40), Instant::now());

    let aside = HashSet::from([Uid::from("2"), Uid::from("6")]);
    let repairs = table.check(Version(30), &picture([("1", 10), ("6", 20)]), &aside);

    assert_eq!(repairs, Repairs::default());
    assert_eq!(names(&table), ["aside", "later", "unconfirmed"]);
}

type Launchers = Table<Named<ObservedLauncher>>;

fn launcher(name: &str, uid: &str, version: u64) -> Named<ObservedLauncher> {
    let object =
        ObservedObject { uid: Uid::from(uid), version: Version(version), ..ObservedObject::default() };
    Named { name: name.into(), observed: ObservedLauncher { object, ..ObservedLauncher::default() } }
}

#[test]
fn a_row_that_is_to_be_remembered_is_handed_out_once_however_it_goes() {
    let mut table = Launchers::default();
    for (uid, version) in [("1", 10), ("2", 20), ("3", 30)] {
        table.shown(&job(), launcher(uid, uid, version));
    }

    table.ended(&job(), &launcher("1", "1", 40));
    table.gone(&job(), &Uid::from("2"));
    table.listing();
    table.listed_all(Version(50));

    let gone: Vec<_> = table.remembered().into_iter().map(|gone| (gone.row.name, gone.is_final)).collect();
    assert_eq!(gone, [("1".into(), true), ("2".into(), false), ("3".into(), false)]);
    assert!(table.remembered().is_empty());
}

#[test]
fn the_end_of_an_object_whose_successor_stands_is_not_remembered() {
    let mut table = Launchers::default();
    table.shown(&job(), launcher("a", "1", 10));
    table.wrote(&job(), launcher("a", "2", 12), Instant::now());

    table.ended(&job(), &launcher("a", "1", 11));

    assert!(table.remembered().is_empty());
}
