//! What is written together, and in which order.

use pretty_assertions::assert_eq;

use super::*;

#[tokio::test(start_paused = true)]
async fn a_wave_begins_when_the_one_before_it_has_ended() {
    let bench = Bench::new(all_well);

    let (done, left) = bench
        .apply(vec![
            workers(0..2),
            create(Kind::Job, "pi-launcher", Wave::Pods),
            create(Kind::Service, "pi", Wave::Dependencies),
            Step::CreateSecret { object: object(Kind::Secret, "pi-ssh"), manifest: manifest("pi-ssh") },
        ])
        .await;

    let mut lines = bench.fake.lines();
    lines[..2].sort();
    lines[2..].sort();
    assert_eq!(
        lines,
        [
            "POST secrets pi-ssh",
            "POST services pi",
            "POST jobs pi-launcher",
            "POST pods pi-worker-0",
            "POST pods pi-worker-1"
        ]
    );
    assert_eq!((done.created, done.failures.len(), left), (5, 0, false));
}

#[tokio::test(start_paused = true)]
async fn what_was_created_is_seen_at_once() {
    let bench = Bench::new(all_well);

    bench
        .apply(vec![
            create(Kind::Service, "pi", Wave::Dependencies),
            create(Kind::ConfigMap, "pi-config", Wave::Dependencies),
            create(Kind::Job, "pi-launcher", Wave::Pods),
            workers(0..3),
        ])
        .await;

    let observed = bench.observed();
    let uid = Uid::from(UID);
    assert!(observed.service.unwrap().object.is_controlled_by(&uid));
    assert!(observed.config.unwrap().object.is_controlled_by(&uid));
    assert!(observed.launcher.unwrap().object.is_controlled_by(&uid));
    let pods: Vec<_> = observed.pods.iter().map(|pod| (pod.index, pod.phase)).collect();
    assert_eq!(pods, [(0, PodPhase::Pending), (1, PodPhase::Pending), (2, PodPhase::Pending)]);
}

#[tokio::test(start_paused = true)]
async fn the_private_key_goes_into_the_request_and_only_metadata_comes_back() {
    let bench = Bench::new(all_well);

    bench
        .apply(vec![Step::CreateSecret {
            object: object(Kind::Secret, "pi-ssh"),
            manifest: manifest("pi-ssh"),
        }])
        .await;

    let asked = &bench.fake.asked()[0];
    assert!(asked.body["data"]["ssh-privatekey"].as_str().unwrap().len() > 200);
    assert!(asked.accept.starts_with("application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"));
}

#[tokio::test(start_paused = true)]
async fn workers_start_slowly_and_then_as_fast_as_the_pace_allows() {
    let bench = Bench::new(all_well);
    let start = Instant::now();

    let (done, _) = bench.apply(vec![workers(0..2000)]).await;

    assert_eq!(done.created, 2000);
    let most = bench.fake.most();
    assert!((64..=96).contains(&most), "{most} at once");
    assert!(start.elapsed() < Duration::from_secs(2), "{:?}", start.elapsed());
    assert_eq!(bench.fake.lines()[0], "POST pods pi-worker-0");
}

#[tokio::test(start_paused = true)]
async fn a_quota_costs_one_request_and_not_thousands() {
    let bench = Bench::new(|_, _| Reply::refused(403, "Forbidden"));

    let (done, _) = bench.apply(vec![workers(0..5000)]).await;

    assert_eq!(bench.fake.asked().len(), 1);
    assert_eq!(done.failures[0].reason, FailureReason::Forbidden);
    assert_eq!(done.failures[0].object, object(Kind::Pod, "pi-worker-0"));
    assert_eq!(done.failures[0].message, "refused: Forbidden");
}

#[tokio::test(start_paused = true)]
async fn a_quota_met_on_the_way_stops_what_stands_in_line() {
    let bench = Bench::new(|fake, asked| {
        if fake.asked().len() > 300 { Reply::refused(403, "Forbidden") } else { all_well(fake, asked) }
    });

    let (done, _) = bench.apply(vec![workers(0..5000)]).await;

    assert!(bench.fake.asked().len() < 400, "{} requests", bench.fake.asked().len());
    assert_eq!(done.failures.len(), REPORTED);
    assert_eq!(bench.observed().pods.len(), done.created);
}
