use super::*;

fn meta(version: &str, token: &str) -> ListMeta {
    ListMeta { resource_version: version.into(), token: token.into() }
}

fn refused(code: u16) -> Failure {
    Failure::Refused(Box::new(Status { code, ..Status::default() }), None)
}

fn expired(token: &str) -> Failure {
    Failure::Refused(Box::new(Status { code: 410, metadata: meta("", token), ..Status::default() }), None)
}

fn list(token: &str) -> Ask {
    Ask::List { token: Some(token.into()) }
}

fn watch(version: &str) -> Ask {
    Ask::Watch { version: version.into() }
}

const FIRST_PAGE: Ask = Ask::List { token: None };

/// A course that watches from version 10.
fn watching() -> Course {
    let mut course = Course::default();
    course.page(meta("10", ""));
    course
}

#[test]
fn pages_follow_each_other_and_the_watch_the_last_one() {
    let mut course = Course::default();
    assert_eq!(course.ask(), &FIRST_PAGE);

    assert_eq!(course.page(meta("10", "a")), Listed::More);
    assert_eq!(course.ask(), &list("a"));
    assert_eq!(course.page(meta("10", "")), Listed::All { version: "10".into(), is_consistent: true });
    assert_eq!(course.ask(), &watch("10"));
    course.moved("12".into());
    assert_eq!(course.ask(), &watch("12"));
}

#[test]
fn a_page_that_failed_is_asked_for_again_with_growing_pauses() {
    let mut course = Course::default();
    course.page(meta("10", "a"));

    let pauses: Vec<u128> = (0..7)
        .map(|_| course.failed(&Failure::NoAnswer("x".into()), Duration::ZERO, 1.0).as_millis())
        .collect();

    assert_eq!(course.ask(), &list("a"));
    assert_eq!(pauses, [50, 500, 1000, 2000, 4000, 8000, 15000]);
    course.page(meta("10", "b"));
    assert_eq!(course.failed(&refused(500), Duration::ZERO, 0.0), FIRST_OF_PAGE / 2, "a page is progress");
}

#[test]
fn an_expired_token_is_followed_by_the_one_that_comes_with_the_refusal() {
    let mut course = Course::default();
    course.page(meta("10", "a"));

    course.failed(&expired("b"), Duration::ZERO, 0.0);

    assert_eq!(course.ask(), &list("b"));
    assert_eq!(course.page(meta("30", "")), Listed::All { version: "10".into(), is_consistent: false });
    assert_eq!(course.ask(), &watch("30"));
}

#[test]
fn lists_that_never_lead_to_a_watch_come_ever_more_slowly() {
    let mut course = Course::default();

    let pauses: Vec<u128> = (0..7)
        .map(|_| {
            course.page(meta("10", "a"));
            let pause = course.failed(&expired(""), Duration::ZERO, 1.0);
            assert_eq!(course.ask(), &FIRST_PAGE);
            pause.as_millis()
        })
        .collect();

    assert_eq!(pauses, [500, 1000, 2000, 4000, 8000, 15000, 15000]);
}

#[test]
fn a_watch_that_is_refused_with_410_is_followed_by_a_list() {
    let mut course = watching();

    course.failed(&refused(410), Duration::ZERO, 0.0);

    assert_eq!(course.ask(), &FIRST_PAGE);
    assert_eq!(course.page(meta("40", "")), Listed::All { version: "40".into(), is_consistent: true });
}

#[test]
fn a_watch_that_is_refused_for_a_while_goes_on_where_it_was() {
    for code in [401, 403, 408, 429, 500, 503, 504] {
        let mut course = watching();
        course.failed(&refused(code), Duration::ZERO, 0.0);
        assert_eq!(course.ask(), &watch("10"), "{code}");
    }
}

#[test]
fn a_watch_that_opens_and_ends_at_once_is_opened_ever_more_slowly() {
    let mut course = watching();

    let pauses: Vec<u128> =
        (0..4).map(|_| course.ended(Duration::from_millis(20), 1.0).as_millis()).collect();

    assert_eq!(pauses, [500, 1000, 2000, 4000]);
    assert_eq!(course.ended(HELD, 1.0), Duration::ZERO, "one that held has worked");
    course.failed(&refused(500), Duration::ZERO, 1.0);
    course.moved("11".into());
    assert_eq!(course.failed(&refused(500), Duration::ZERO, 1.0), FIRST, "an event is progress");
}

#[test]
fn the_api_server_is_left_alone_for_as_long_as_it_asks_within_reason() {
    let mut course = Course::default();
    let after = |seconds| {
        Failure::Refused(
            Box::new(Status { code: 429, ..Status::default() }),
            Some(Duration::from_secs(seconds)),
        )
    };

    assert_eq!(course.failed(&after(40), Duration::ZERO, 0.5), Duration::from_secs(40));
    assert_eq!(course.failed(&after(100_000), Duration::ZERO, 0.5), LONGEST_ASKED);
    let mut in_status = Status { code: 503, ..Status::default() };
    in_status.details.retry_after_seconds = 30;
    assert_eq!(
        course.failed(&Failure::Refused(Box::new(in_status), None), Duration::ZERO, 0.5),
        Duration::from_secs(30)
    );
}
