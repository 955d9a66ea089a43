//! With the components that `make plugins` built, and a job in the index.

use std::{
    collections::BTreeSet,
    sync::atomic::{AtomicUsize, Ordering},
};

use coxswain_model::{
    api::MpiJob,
    desired::Gang,
    job::{ValidJob, Verdict as Parsed},
    observed::{ObservedConfig, ObservedObject, Uid},
    pin::{Pin, PinnedPlugin},
    status::RenderError,
};
use coxswain_sandbox::{Child, Compiler, Sandbox};
use futures::future::join_all;
use http::{Request, Response};
use kube::client::Body;
use serde_json::json;
use tower::service_fn;

use super::*;
use crate::{
    Access, LiveJobs, Load, NoPlan, Rules, Signatures, Trust, registry::Registry, source::Rollback,
    store::Store,
};
use coxswain_cluster::{index::Shared, job_row::JobRow, key::JobKey, named::Named};
use coxswain_test_support::{components::bytes as component, job::Job};

const PUBLIC: &str = "-----BEGIN PUBLIC KEY-----
MCowBQYDK2VwAyEAzzlKWmxHpoSn1cm31JprQS+TmN06dHP6ADuahGwfxoQ=
-----END PUBLIC KEY-----
";

/// The same component with other bytes: a custom section more, which nobody reads.
fn rebuilt(name: &str, build: u8) -> Vec<u8> {
    [component(name), vec![0, 3, 1, b'b', build]].concat()
}

fn request(name: &str, bytes: Vec<u8>, settings: &[(&str, &str)]) -> PluginRequest {
    let settings = settings.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect();
    let candidate = Candidate { settings, ..Candidate::of(name, bytes) };
    PluginRequest { candidate, vectors: None, holds: false, approved: None, rollback: None }
}

fn raw(annotations: &serde_json::Value) -> MpiJob {
    Job::new("pi", 2)
        .stored("team-a", "u1")
        .containers("command", json!(["mpirun"]))
        .set("/metadata/annotations", annotations.clone())
        .read()
}

fn named(name: &str, uid: &str) -> MpiJob {
    let mut job = raw(&json!({}));
    (job.metadata.name, job.metadata.uid) = (name.into(), uid.into());
    job
}

fn valid(raw: &MpiJob) -> ValidJob {
    let Parsed::Valid(job) = ValidJob::parse(raw, None) else { panic!("the job is valid") };
    *job
}

fn plugins(trust: Trust) -> (Plugins, Shared) {
    let index = Shared::default();
    let mut plugins = Plugins::new(Rules { trust, ..Rules::default() }).unwrap();
    plugins.jobs = Some(LiveJobs { index: index.clone(), gang: Gang::Off, synced: Vec::new() });
    (plugins, index)
}

/// A job that is pinned to what serves now.
fn lives(plugins: &Plugins, index: &Shared, annotations: &serde_json::Value) -> Pin {
    let pin = plugins.choose(&valid(&raw(&json!({})))).unwrap();
    let key = JobKey::new("team-a", "pi");
    let config = ObservedConfig {
        object: ObservedObject::default(),
        content: None,
        pin: Some(pin.to_annotation().into()),
    };
    let mut index = index.write();
    index.jobs.shown(&key, JobRow::new(&raw(annotations)));
    index.configs.shown(&key, Named { name: "pi-config".into(), observed: config });
    pin
}

fn refused(verdict: Verdict) -> Refusal {
    let Verdict::Refused(refusal) = verdict else { panic!("it is not refused: {verdict:?}") };
    refusal
}

#[tokio::test]
async fn another_build_that_renders_the_same_serves_and_tells_of_the_live_jobs() {
    let (plugins, index) = plugins(Trust::default());
    assert_eq!(
        plugins.offer(request("openmpi", component("openmpi"), &[])).await,
        Verdict::Serves(String::new())
    );
    lives(&plugins, &index, &json!({}));

    let verdict = plugins.offer(request("openmpi", rebuilt("openmpi", 1), &[])).await;

    let Verdict::Serves(beside) = verdict else { panic!("{verdict:?}") };
    assert!(beside.contains("of 1 live jobs with it 1 would be rendered the same"), "{beside}");
    let served = plugins.serving("openmpi").unwrap();
    assert_eq!(served.digest, Digest::of(&rebuilt("openmpi", 1)));
    assert_eq!(plugins.offer(request("openmpi", rebuilt("openmpi", 1), &[])).await, Verdict::Unchanged);
}

#[tokio::test]
async fn a_component_whose_compiler_was_killed_may_be_offered_again() {
    let (mut plugins, _) = plugins(Trust::default());
    let killed = Child { program: "/bin/sh".into(), words: vec!["-c".into(), "kill -KILL $$".into()] };
    plugins.sandbox = Arc::new(Sandbox::with(Compiler::Child(killed), None).unwrap());

    let refusal = refused(plugins.offer(request("openmpi", component("openmpi"), &[])).await);

    assert!(!refusal.bytes && refusal.why.contains("the compiler was killed"), "{}", refusal.why);
    plugins.sandbox = Arc::new(Sandbox::new().unwrap());
    let again = plugins.offer(request("openmpi", component("openmpi"), &[])).await;
    assert_eq!(again, Verdict::Serves(String::new()));
}

#[tokio::test]
async fn a_component_on_which_the_compiler_computes_without_an_end_is_refused_for_good() {
    let (mut plugins, _) = plugins(Trust::default());
    let endless = "ulimit -St 1; while :; do :; done";
    let endless = Child { program: "/bin/sh".into(), words: vec!["-c".into(), endless.into()] };
    plugins.sandbox = Arc::new(Sandbox::with(Compiler::Child(endless), None).unwrap());

    let refusal = refused(plugins.offer(request("openmpi", component("openmpi"), &[])).await);

    assert!(refusal.bytes && refusal.why.contains("the compiler used up its 60 seconds"), "{}", refusal.why);
    plugins.sandbox = Arc::new(Sandbox::new().unwrap());
    let again = refused(plugins.offer(request("openmpi", component("openmpi"), &[])).await);
    assert_eq!(again.why, refusal.why, "it was compiled again");
}

#[tokio::test]
async fn a_request_that_holds_waits_for_approval_if_it_changes_a_live_job() {
    let (plugins, index) = plugins(Trust::default());
    plugins.offer(request("openmpi", component("openmpi"), &[])).await;
    lives(&plugins, &index, &json!({}));
    let changed =
        PluginRequest { holds: true, ..request("openmpi", component("openmpi"), &[("ssh-args", "-q")]) };

    let held = plugins.offer(changed.clone()).await;
    let before = plugins.serving("openmpi").unwrap();
    let approved = plugins.offer(PluginRequest { approved: Some(changed.identity()), ..changed }).await;

    let Verdict::Held(why) = held else { panic!("{held:?}") };
    assert!(why.contains("1 otherwise") && why.contains("team-a/pi: launcher env"), "{why}");
    assert!(why.contains("coxswain plugin approve openmpi"), "{why}");
    assert!(before.settings.is_empty());
    assert!(matches!(approved, Verdict::Serves(_)), "{approved:?}");
    assert_eq!(plugins.serving("openmpi").unwrap().settings["ssh-args"], "-q");
}

#[tokio::test]
async fn a_candidate_with_which_a_live_job_would_fail_is_refused_and_may_be_offered_again() {
    let (plugins, index) = plugins(Trust::default());
    assert_eq!(
        plugins.offer(request("hostile", component("hostile"), &[])).await,
        Verdict::Serves(String::new())
    );
    // Pinned before the job's user wrote the annotation.
    lives(&plugins, &index, &json!({ "hostile.coxswain.dev/behaviour": "loop" }));

    let refusal = refused(plugins.offer(request("hostile", rebuilt("hostile", 1), &[])).await);
    let last_good = plugins.serving("hostile").unwrap();
    index.write().jobs.listing();
    index.write().jobs.listed_all(coxswain_model::observed::Version::default());
    let later = plugins.offer(request("hostile", rebuilt("hostile", 1), &[])).await;

    assert!(refusal.why.contains("team-a/pi: plugin hostile: it used up its"), "{}", refusal.why);
    assert_eq!(last_good.digest, Digest::of(&component("hostile")));
    assert!(matches!(later, Verdict::Serves(_)), "{later:?}");
}

#[tokio::test]
async fn a_component_that_breaks_on_plain_jobs_is_refused_before_any_job_sees_it() {
    let (plugins, _) = plugins(Trust::default());

    let refusal =
        refused(plugins.offer(request("hostile", component("hostile"), &[("behaviour", "loop")])).await);

    assert!(refusal.why.contains("it fails on jobs that it must serve"), "{}", refusal.why);
    assert_eq!(plugins.serving("hostile"), None);
}

#[tokio::test]
async fn refused_bytes_stay_refused_and_what_served_goes_on() {
    let (plugins, _) = plugins(Trust::default());
    plugins.offer(request("openmpi", component("openmpi"), &[])).await;
    let half = component("openmpi").split_at(20_000).0.to_vec();

    let first = refused(plugins.offer(request("openmpi", half.clone(), &[])).await);
    let again = refused(plugins.offer(request("openmpi", half.clone(), &[])).await);

    assert!(first.bytes && first == again, "{first:?}, then {again:?}");
    assert_eq!(plugins.serving("openmpi").unwrap().digest, Digest::of(&component("openmpi")));
    let waiting = plugins.statuses.lock().await.of("openmpi").candidate.unwrap();
    assert_eq!((waiting.digest, waiting.held), (Digest::of(&half), false));
}

#[tokio::test]
async fn vectors_that_a_component_does_not_meet_refuse_it_and_their_correction_does_not() {
    let (plugins, _) = plugins(Trust::default());
    let vectors = |value: &str| {
        let text = format!(
            r#"[{{"name": "two workers", "expect": {{"launcher": {{"env": {{"OMPI_MCA_orte_keep_fqdn_hostnames": "{value}"}}}}}}}}]"#
        );
        PluginRequest { vectors: Some(text), ..request("openmpi", component("openmpi"), &[]) }
    };

    let wrong = refused(plugins.offer(vectors("nonsense")).await);
    let right = plugins.offer(vectors("true")).await;

    assert!(wrong.why.contains("two workers"), "{}", wrong.why);
    assert_eq!(right, Verdict::Serves(String::new()));
}

#[tokio::test]
async fn the_jobs_that_a_candidate_would_change_are_named_in_order() {
    let (plugins, index) = plugins(Trust::default());
    plugins.offer(request("openmpi", component("openmpi"), &[])).await;
    let pin: Arc<str> = lives(&plugins, &index, &json!({})).to_annotation().into();
    for n in 0..40 {
        shows(&index, &format!("pi-{n:02}"), "u1", "u1", Some(&pin));
    }

    let verdict = plugins.offer(request("openmpi", component("openmpi"), &[("ssh-args", "-q")])).await;

    let Verdict::Serves(beside) = verdict else { panic!("{verdict:?}") };
    assert!(
        beside.contains("of 41 live jobs with it 0 would be rendered the same, 41 otherwise"),
        "{beside}"
    );
    let named: Vec<&str> = beside.matches("team-a/pi").collect();
    assert_eq!(named.len(), 10);
    let jobs = plugins.jobs.as_ref().unwrap().pinned();
    let places = jobs.iter().take(10).map(|(key, _)| beside.find(&format!("{key}: ")));
    assert!(places.clone().all(|place| place.is_some()) && places.is_sorted(), "{beside}");
}

#[tokio::test]
async fn a_switch_concerns_jobs_without_a_pin_and_those_whose_component_it_brings() {
    let (plugins, index) = plugins(Trust::default());
    plugins.offer(request("openmpi", component("openmpi"), &[])).await;
    let pin = lives(&plugins, &index, &json!({}));
    let lost = Digest::of(&rebuilt("openmpi", 1));
    let lost = Pin { launcher: PinnedPlugin { digest: lost.clone(), ..pin.launcher.clone() }, ..pin.clone() };
    shows(&index, "new", "u2", "u2", None);
    shows(&index, "lost", "u3", "u3", Some(&lost.to_annotation().into()));
    shows(&index, "rendered", "u4", "u4", Some(&pin.to_annotation().into()));
    shows(&index, "namesake", "u5", "an earlier job", Some(&pin.to_annotation().into()));

    let jobs = plugins.jobs.as_ref().unwrap();
    let concerned = jobs.concerned(&lost.launcher.digest);

    let names: BTreeSet<&str> = concerned.iter().map(|job| &*job.name).collect();
    // `pi`'s pin is on an object that belongs to nobody.
    assert_eq!(names, ["lost", "namesake", "new", "pi"].into());
}

/// A job, and a ConfigMap of its name that `owner` controls.
fn shows(index: &Shared, name: &str, uid: &str, owner: &str, pin: Option<&Arc<str>>) {
    let key = JobKey::new("team-a", name);
    let object = ObservedObject { controller: Some(Uid::from(owner)), ..ObservedObject::default() };
    let observed = ObservedConfig { object, content: None, pin: pin.cloned() };
    let mut index = index.write();
    index.jobs.shown(&key, JobRow::new(&named(name, uid)));
    index.configs.shown(&key, Named { name: format!("{name}-config").into(), observed });
}

/// Counts.
struct Counting(Sandbox, AtomicUsize);

impl Load for Counting {
    fn load(&self, name: &str, bytes: &[u8], bound: usize) -> Result<Plugin, Refused> {
        self.1.fetch_add(1, Ordering::Relaxed);
        self.0.load(name, bytes, bound)
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_copy_that_many_jobs_want_at_once_is_compiled_once() {
    let (mut plugins, index) = plugins(Trust::default());
    plugins.offer(request("openmpi", component("openmpi"), &[])).await;
    let pinned = lives(&plugins, &index, &json!({})).launcher;
    plugins.write(|registry| *registry = Registry::default());
    let counting = Arc::new(Counting(Sandbox::new().unwrap(), AtomicUsize::new(0)));
    plugins.sandbox = counting.clone();
    plugins.store = Some(Store::new(copy_of("openmpi"), "coxswain"));

    let fetched = join_all((0..8).map(|_| plugins.copied(&pinned))).await;

    assert!(fetched.iter().all(Result::is_ok));
    assert_eq!(counting.1.load(Ordering::Relaxed), 1);
}

/// An API server that has nothing but the copy of a plugin.
fn copy_of(name: &'static str) -> kube::Client {
    let binary = k8s_openapi::ByteString(component(name));
    let copy = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": { "name": "copy", "labels": { "coxswain.dev/plugin-copy": name } },
        "binaryData": { "plugin.wasm": binary },
    })
    .to_string();
    let answer = move |_: Request<Body>| {
        let body = Body::from(copy.clone().into_bytes());
        async move { Ok::<_, tower::BoxError>(Response::new(body)) }
    };
    kube::Client::new(service_fn(answer), "default")
}

#[tokio::test]
async fn where_signatures_are_required_nothing_unsigned_serves() {
    let (plugins, _) = plugins(Trust::new(Signatures::Require, Some(PUBLIC)).unwrap());

    let refusal = refused(plugins.offer(request("openmpi", component("openmpi"), &[])).await);

    assert!(refusal.why.contains("it is not signed") && !refusal.bytes, "{}", refusal.why);
    assert_eq!(plugins.serving("openmpi"), None);
}

#[tokio::test]
async fn a_plugin_of_other_namespaces_is_refused_at_each_use() {
    let (plugins, index) = plugins(Trust::default());
    plugins.offer(request("openmpi", component("openmpi"), &[])).await;
    let pin = lives(&plugins, &index, &json!({}));
    let job = valid(&raw(&json!({})));

    plugins.write(|registry| registry.restrict("openmpi", Access::read("team-b").unwrap()));
    let chosen = plugins.choose(&job);
    // By a name that a tenant wrote into the pin: the component's own counts.
    let forged = Pin { launcher: PinnedPlugin { name: "mine".into(), ..pin.launcher }, ..pin };
    let rendered =
        plugins.render(&job, &forged, &coxswain_model::observed::ObservedState::default(), false).await;

    let not_allowed = RenderError::PluginNotAllowed { plugin: "openmpi".into(), namespace: "team-a".into() };
    assert_eq!(chosen, Err(not_allowed.clone()));
    assert!(matches!(rendered, Err(NoPlan::RenderError(render_error)) if render_error == not_allowed));
}

#[tokio::test]
async fn a_rollback_without_a_copy_says_so_and_ends_with_the_next_request() {
    let (plugins, _) = plugins(Trust::default());
    plugins.offer(request("openmpi", component("openmpi"), &[])).await;
    let new = request("openmpi", rebuilt("openmpi", 1), &[]);
    let rollback = Rollback { from: new.identity(), to: Digest::of(&component("openmpi")) };

    let refusal = refused(plugins.offer(PluginRequest { rollback: Some(rollback.clone()), ..new }).await);
    let next = PluginRequest { rollback: Some(rollback), ..request("openmpi", rebuilt("openmpi", 2), &[]) };
    let next = plugins.offer(next).await;

    assert!(refusal.why.contains("of which there is no copy"), "{}", refusal.why);
    assert!(matches!(next, Verdict::Serves(_)), "{next:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_job_of_a_healthy_plugin_is_rendered_before_a_hostile_ones_budget_has_run_out() {
    let (plugins, _) = plugins(Trust::default());
    for name in ["openmpi", "hostile"] {
        let verdict = plugins.offer(request(name, component(name), &[])).await;
        assert!(matches!(verdict, Verdict::Serves(_)), "{verdict:?}");
    }
    let healthy = valid(&raw(&json!({})));
    let wants = json!({ "coxswain.dev/plugin": "hostile", "hostile.coxswain.dev/behaviour": "loop" });
    let hostile = valid(&raw(&wants));
    let plugins = Arc::new(plugins);
    let render = |job: ValidJob| {
        let plugins = Arc::clone(&plugins);
        async move {
            let pin = plugins.choose(&job).unwrap();
            plugins.render(&job, &pin, &coxswain_model::observed::ObservedState::default(), false).await
        }
    };

    // On a busy machine the healthy job may not get a core in time, so it has some tries; were the calls to wait for each
    // other, none would succeed.
    let mut was_first = false;
    for _ in 0..20 {
        let free = plugins.calls.available_permits();
        let loops = tokio::spawn(render(hostile.clone()));
        while plugins.calls.available_permits() == free && !loops.is_finished() {
            tokio::task::yield_now().await;
        }
        let rendered = render(healthy.clone()).await;
        was_first |= !loops.is_finished();

        assert!(rendered.is_ok());
        let broken = loops.await.unwrap();
        assert!(
            matches!(&broken, Err(NoPlan::RenderError(RenderError::PluginFailed { fault, .. })) if fault.contains("instructions")),
            "{broken:?}"
        );
        if was_first {
            break;
        }
    }
    assert!(was_first, "the endless loop was always over first");
}

#[test]
fn a_rollback_of_settings_alone_goes_to_those_before() {
    let served = |settings: &[(&str, &str)]| {
        let Candidate { digest, settings, .. } = request("x", b"1".to_vec(), settings).candidate;
        Served { digest, settings }
    };
    let mut status = StoredStatus::default();
    status.serve(Some(served(&[("a", "1")])));
    status.serve(Some(served(&[("a", "2")])));
    let asked = request("x", b"1".to_vec(), &[("a", "2")]).candidate;

    let back = settings_before(&status, &asked, &asked.digest);
    status.serve(Some(served(&[("a", "1")])));
    let again = settings_before(&status, &asked, &asked.digest);

    assert_eq!(back.get("a").map(String::as_str), Some("1"));
    assert_eq!(again, back, "looked at again after it was rolled back");
}
