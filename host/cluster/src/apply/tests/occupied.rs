//! Objects whose name is taken.

use pretty_assertions::assert_eq;

use super::*;

#[tokio::test(start_paused = true)]
async fn what_the_mpi_operator_made_gets_the_label_that_our_watches_select() {
    let bench = Bench::new(occupied(existing(&owners(), &json!({"app": "pi"}))));

    let (done, _) = bench.apply(vec![create(Kind::Job, "pi-launcher", Wave::Pods)]).await;

    assert_eq!(done, Done::default());
    assert_eq!(bench.fake.lines(), ["POST jobs pi-launcher", "GET pi-launcher", "PATCH pi-launcher"]);
    let patch = &bench.fake.asked()[2];
    assert_eq!(patch.body, json!({"metadata": {"uid": "l", "labels": {labels::LABEL_JOB: "pi"}}}));
    assert_eq!(patch.content, "application/merge-patch+json");
    assert!(bench.observed().launcher.unwrap().suspended);
}

#[tokio::test(start_paused = true)]
async fn a_creation_whose_answer_was_lost_counts_as_done() {
    let bench = Bench::new(occupied(existing(&owners(), &json!({labels::LABEL_JOB: "pi"}))));

    let (done, _) = bench.apply(vec![create(Kind::Job, "pi-launcher", Wave::Pods)]).await;

    assert_eq!(done.failures, []);
    assert_eq!(bench.fake.lines(), ["POST jobs pi-launcher", "GET pi-launcher"]);
    assert!(bench.observed().launcher.is_some());
}

#[tokio::test(start_paused = true)]
async fn what_belongs_to_someone_else_is_left_alone() {
    let bench = Bench::new(occupied(existing(&json!([]), &json!({}))));

    let (done, _) = bench.apply(vec![create(Kind::Job, "pi-launcher", Wave::Pods)]).await;

    assert_eq!(done.failures[0].reason, FailureReason::Foreign);
    assert_eq!(bench.fake.lines(), ["POST jobs pi-launcher", "GET pi-launcher"]);
    assert_eq!(bench.observed().launcher, None);
}

#[tokio::test(start_paused = true)]
async fn leftovers_of_an_earlier_job_of_the_name_are_waited_for() {
    let mut owners = owners();
    owners[0]["uid"] = "an earlier one".into();
    let bench = Bench::new(occupied(existing(&owners, &json!({}))));

    let (done, _) = bench.apply(vec![create(Kind::Job, "pi-launcher", Wave::Pods)]).await;

    assert_eq!(done.failures[0].reason, FailureReason::Conflict);
}

#[tokio::test(start_paused = true)]
async fn what_another_operator_made_is_found_by_name_and_the_launcher_last() {
    let bench = Bench::new(|_, asked| {
        let name = asked.path.rsplit('/').next().unwrap_or_default();
        let mut object = existing(&owners(), &json!({"app": "pi"}));
        object["metadata"]["name"] = name.into();
        match (asked.method.as_str(), name) {
            ("GET", "pi-ssh") => Reply::refused(404, "NotFound"),
            ("GET", _) => Reply::ok(object),
            _ => {
                object["metadata"]["labels"] = asked.body["metadata"]["labels"].clone();
                Reply::ok(object)
            }
        }
    });
    let applier = Applier {
        rest: &bench.rest,
        index: &bench.index,
        metrics: &bench.metrics,
        job: &bench.job,
        key: key(),
        deadline: Instant::now() + BUDGET,
    };

    applier.claim().await.unwrap();

    assert_eq!(
        bench.fake.lines(),
        [
            "GET pi",
            "PATCH pi",
            "GET pi-config",
            "PATCH pi-config",
            "GET pi-ssh",
            "GET pi-launcher",
            "PATCH pi-launcher"
        ]
    );
    let observed = bench.observed();
    assert!(observed.service.is_some() && observed.config.is_some() && observed.launcher.is_some());
}
