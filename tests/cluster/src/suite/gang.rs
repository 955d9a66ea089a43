//! Gangs: scheduler-plugins' scheduler for real, Volcano's `PodGroups` as objects.

use std::{
    collections::BTreeMap,
    env, fs,
    process::Stdio,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use crate::{
    Job, Objects, Operator, Space,
    objects::{Kind, gates, text},
    operator::{NAME, NAMESPACE},
    space::{LIMIT, launchers, workers},
    tool::run,
};
use anyhow::{Context as _, Result, bail, ensure};
use kube::ResourceExt;
use serde_json::{Value, json};
use tokio::process::{Child, Command};

const SCHEDULER: &str = "scheduler-plugins-scheduler";
/// Pods that the plugin refused wait for the next pod or group, or for this long, 5 minutes by default: it does not ask to
/// be told of pods that went.
const FLUSH: &str = "--pod-max-in-unschedulable-pods-duration=5s";
/// A gang that was refused is looked at again every half minute at most, and one job comes after the other.
const LONG: Duration = Duration::from_mins(5);
const OURS: &str = "coxswain.dev/workers";

/// There is one operator, and each test here gives it another flag.
static OPERATOR: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());

/// Volcano's own has some hundred fields; the API server checks none of those that matter here.
const VOLCANO: &str = r"
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: podgroups.scheduling.volcano.sh
spec:
  group: scheduling.volcano.sh
  names: {kind: PodGroup, listKind: PodGroupList, plural: podgroups, singular: podgroup}
  scope: Namespaced
  versions:
  - name: v1beta1
    served: true
    storage: true
    subresources: {status: {}}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              minMember: {type: integer, format: int32}
              queue: {type: string}
              priorityClassName: {type: string}
              minResources:
                type: object
                additionalProperties:
                  x-kubernetes-int-or-string: true
                  anyOf: [{type: integer}, {type: string}]
          status: {type: object, x-kubernetes-preserve-unknown-fields: true}
";

/// The scheduler of scheduler-plugins, beside the cluster's own, as its guide has it.
fn scheduler() -> Result<Child> {
    let configuration = env::temp_dir().join(format!("gang-scheduler-{}.yaml", std::process::id()));
    let kubeconfig = env::var("KUBECONFIG").context("KUBECONFIG must name the bed's")?;
    let profile = json!({
        "schedulerName": SCHEDULER,
        "plugins": {"multiPoint": {"enabled": [{"name": "Coscheduling"}], "disabled": [{"name": "PrioritySort"}]}},
        "pluginConfig": [{
            "name": "Coscheduling",
            "args": {"permitWaitingTimeSeconds": 20, "podGroupBackoffSeconds": 1},
        }],
    });
    let content = json!({
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "leaderElection": {"leaderElect": false},
        "clientConnection": {"kubeconfig": kubeconfig},
        "profiles": [profile],
    });
    fs::write(&configuration, content.to_string())?;
    let log = fs::File::create(env::var("COXSWAIN_SCHEDULER_LOG").context("COXSWAIN_SCHEDULER_LOG")?)?;
    let node = env::var("COXSWAIN_NODE").context("COXSWAIN_NODE must name the bed's program")?;
    let child = Command::new(node)
        .args(["kube-scheduler", "--bind-address=127.0.0.1", "--secure-port=10269", FLUSH, "--config"])
        .arg(&configuration)
        .stdout(Stdio::null())
        .stderr(log)
        .kill_on_drop(true)
        .spawn();
    child.context("starting the gang scheduler")
}

/// Gives the operator another argument, or takes it away.
pub(super) async fn gang_argument(argument: Option<&str>) -> Result<()> {
    let deployment = format!("deployment/{NAME}");
    let template = "jsonpath={.spec.template.spec.containers[0].args}";
    let args = run("kubectl", &["-n", NAMESPACE, "get", &deployment, "-o", template]).await?;
    let mut args: Vec<String> = serde_json::from_str(&args).context("reading the operator's arguments")?;
    args.retain(|arg| !arg.starts_with("--gang-scheduling"));
    args.extend(argument.map(|name| format!("--gang-scheduling={name}")));
    let patch = json!([{"op": "replace", "path": "/spec/template/spec/containers/0/args", "value": args}]);
    run("kubectl", &["-n", NAMESPACE, "patch", &deployment, "--type=json", "-p", &patch.to_string()])
        .await
        .map(drop)
}

/// The same, and waits until the new pod leads.
pub(super) async fn operator_with(argument: Option<&str>) -> Result<()> {
    gang_argument(argument).await?;
    let deployment = format!("deployment/{NAME}");
    run("kubectl", &["-n", NAMESPACE, "rollout", "status", &deployment, "--timeout=120s"]).await?;
    let operator = Operator::connect().await?;
    let pod = operator.pod().await?.name_any();
    operator.leader_until("the new pod leads", |holder| holder.contains(&pod).then_some(())).await
}

async fn applied(name: &str, manifest: &str) -> Result<()> {
    let file = env::temp_dir().join(format!("{name}-{}.yaml", std::process::id()));
    fs::write(&file, manifest)?;
    let file = file.display().to_string();
    run("kubectl", &["apply", "--server-side", "-f", &file]).await?;
    run("kubectl", &["wait", "--for=condition=Established", "--timeout=30s", "-f", &file]).await.map(drop)
}

/// The CRD of scheduler-plugins' gangs, of the version that the bed's scheduler is built with.
async fn coscheduling_crd() -> Result<()> {
    let crd = env::var("COXSWAIN_POD_GROUP_CRD").unwrap_or_default();
    ensure!(
        !crd.is_empty(),
        "the bed's scheduler has no such plugin: BED_KUBERNETES=coscheduling takes one that has"
    );
    applied("scheduler-plugins", &fs::read_to_string(crd)?).await
}

/// Thousandths of a core that pods may request on the only node.
async fn capacity() -> Result<u64> {
    let cpu = run("kubectl", &["get", "nodes", "-o", "jsonpath={.items[0].status.allocatable.cpu}"]).await?;
    let milli = match cpu.strip_suffix('m') {
        Some(milli) => milli.parse(),
        None => cpu.parse().map(|cores: u64| cores * 1000),
    };
    milli.with_context(|| format!("reading {cpu:?} as processors"))
}

/// Two workers that request 60 % of the node together, and a launcher of next to nothing.
async fn half_and_more(name: &str) -> Result<Job> {
    let each = capacity().await? * 30 / 100;
    let program = json!(["mpirun", "-n", "2", "/home/mpiuser/pi", "1000000", "3"]);
    Ok(Job::pi(name)
        .worker_container("resources", json!({"requests": {"cpu": format!("{each}m"), "memory": "32Mi"}}))
        .set("/spec/mpiReplicaSpecs/Launcher/template/spec/containers/0/command", program))
}

/// Workers of each job that have a node and have not ended.
fn placed(pods: &Objects) -> BTreeMap<String, usize> {
    let mut count = BTreeMap::new();
    for pod in workers(pods) {
        let ended = matches!(text(pod, "/status/phase"), "Succeeded" | "Failed");
        if !text(pod, "/spec/nodeName").is_empty() && !ended && pod.metadata.deletion_timestamp.is_none() {
            let job =
                pod.metadata.labels.as_ref().and_then(|labels| labels.get("training.kubeflow.org/job-name"));
            *count.entry(job.cloned().unwrap_or_default()).or_default() += 1;
        }
    }
    count
}

/// Both jobs at once on a node that holds one of them. Were each to get one worker, both would wait for ever.
async fn never_both_half(space: &Space, shape: impl Fn(Job) -> Job) -> Result<()> {
    let halves = Arc::new(Mutex::new(None));
    let (watched, found) = (space.api(Kind::Pod), Arc::clone(&halves));
    let watching = tokio::spawn(async move {
        let all = kube::runtime::watcher::Config::default();
        let both_half = |pods: &Objects| {
            let placed = placed(pods);
            let half = placed.values().filter(|count| **count == 1).count();
            (half > 1).then(|| format!("{placed:?}"))
        };
        if let Err(wrong) = crate::watch::never(&watched, all, LONG * 2, both_half).await {
            *found.lock().unwrap_or_else(PoisonError::into_inner) = Some(wrong.to_string());
        }
    });
    for name in ["left", "right"] {
        space.create(&shape(half_and_more(name).await?)).await?;
    }
    for name in ["left", "right"] {
        space.succeeds_within(name, LONG).await?;
        space.ran_on_workers(name, 2).await?;
    }
    watching.abort();
    let wrong = halves.lock().unwrap_or_else(PoisonError::into_inner).take();
    wrong.map_or(Ok(()), |wrong| bail!("both jobs were half scheduled: {wrong}"))
}

async fn group(space: &Space, kind: &str, name: &str) -> Result<Value> {
    let words = ["-n", space.name(), "get", kind, name, "-o", "json"];
    Ok(serde_json::from_str(&run("kubectl", &words).await?)?)
}

/// A group of that name that belongs to nobody: the job is told, and makes no pod that would join it.
async fn taken(space: &Space, api_version: &str) -> Result<()> {
    let group = json!({
        "apiVersion": api_version,
        "kind": "PodGroup",
        "metadata": {"name": "taken", "namespace": space.name()},
        "spec": {"minMember": 1},
    });
    let file = env::temp_dir().join(format!("{}-taken.json", space.name()));
    fs::write(&file, group.to_string())?;
    run("kubectl", &["create", "-f", &file.display().to_string()]).await?;

    space.create(&Job::pi("taken")).await?;
    let message = space.condition("taken", "Accepted", "False").await?;
    ensure!(message.contains("PodGroup") && message.contains("not managed by MPIJob"), "{message}");
    let pods = space.all(Kind::Pod).await?;
    ensure!(
        !pods.keys().any(|name| name.starts_with("taken-")),
        "pods beside a group of somebody else: {pods:?}"
    );
    space.delete(Kind::MpiJob, "taken").await
}

#[tokio::test]
async fn two_jobs_of_more_than_half_the_node_are_never_both_half_scheduled() -> Result<()> {
    let _alone = OPERATOR.lock().await;
    coscheduling_crd().await?;
    let mut scheduler = scheduler()?;
    operator_with(Some(SCHEDULER)).await?;

    // The launcher is not of the gang: it waits at the gate until its workers answer.
    let space = Space::new("gang-gate").await?;
    never_both_half(&space, |job| job.run_policy("schedulingPolicy", json!({"minAvailable": 2}))).await?;
    for name in ["left", "right"] {
        space.launcher_started_once(name).await?;
    }
    space.remove().await?;

    // The launcher does not exist until the gang runs.
    let space = Space::new("gang-wait").await?;
    never_both_half(&space, |job| job.set("/spec/launcherCreationPolicy", "WaitForWorkersReady")).await?;
    let spec = group(&space, "podgroups.scheduling.x-k8s.io", "left").await;
    ensure!(spec.is_err(), "the group goes with the workers");
    space.remove().await?;

    // The launcher is of the gang, and may not wait at a gate.
    let space = Space::new("gang-all").await?;
    never_both_half(&space, |job| job).await?;
    space.remove().await?;

    ensure!(scheduler.try_wait()?.is_none(), "the gang scheduler has ended, see its log");
    operator_with(None).await
}

#[tokio::test]
async fn a_job_that_can_never_fit_holds_no_node_and_its_group_says_what_it_needs() -> Result<()> {
    let _alone = OPERATOR.lock().await;
    coscheduling_crd().await?;
    let mut scheduler = scheduler()?;
    operator_with(Some(SCHEDULER)).await?;
    let space = Space::new("gang-pending").await?;
    taken(&space, "scheduling.x-k8s.io/v1alpha1").await?;
    let policy = json!({"minResources": {"cpu": "100k", "memory": "100000Gi"}, "scheduleTimeoutSeconds": 30});
    space.create(&Job::pi("pi").run_policy("schedulingPolicy", policy)).await?;

    space
        .pods_until("pi", LIMIT, "workers and launcher are there", |pods| {
            (workers(pods).len() == 2 && launchers(pods).len() == 1).then_some(())
        })
        .await?;
    let spec = group(&space, "podgroups.scheduling.x-k8s.io", "pi").await?["spec"].clone();
    assert_eq!(
        spec,
        json!({
            "minMember": 3,
            "minResources": {"cpu": "100k", "memory": "100000Gi"},
            "scheduleTimeoutSeconds": 30,
        })
    );
    let on_a_node = |pods: &Objects| pods.values().any(|pod| !text(pod, "/spec/nodeName").is_empty());
    let wrong = |pods: &Objects| on_a_node(pods).then(|| "a pod of it has a node".to_owned());
    space.pods_never("pi", Duration::from_secs(4), wrong).await?;
    let pods = space.all(Kind::Pod).await?;
    assert!(
        launchers(&pods).iter().all(|pod| !gates(pod).contains(&OURS)),
        "gang and gate would wait for each other"
    );

    let patch = json!({"spec": {"runPolicy": {"schedulingPolicy": {"minResources": null}}}});
    space.patch(Kind::MpiJob, "pi", patch).await?;
    space.succeeds_within("pi", LONG).await?;
    space.remove().await?;
    ensure!(scheduler.try_wait()?.is_none(), "the gang scheduler has ended, see its log");
    operator_with(None).await
}

#[tokio::test]
async fn volcano_finds_the_group_that_the_job_asks_for_and_its_pods_in_it() -> Result<()> {
    let _alone = OPERATOR.lock().await;
    applied("volcano", VOLCANO).await?;
    operator_with(Some("volcano")).await?;
    let space = Space::new("volcano").await?;
    taken(&space, "scheduling.volcano.sh/v1beta1").await?;
    let policy = json!({"minAvailable": 2, "queue": "research", "priorityClass": "system-cluster-critical"});
    space.create(&Job::pi("pi").run_policy("schedulingPolicy", policy)).await?;

    space
        .pods_until("pi", LIMIT, "workers and launcher ask Volcano for a place in the group", |pods| {
            let joins = |pod: &&crate::Object| {
                let group =
                    pod.metadata.annotations.as_ref().and_then(|all| all.get("scheduling.k8s.io/group-name"));
                text(pod, "/spec/schedulerName") == "volcano" && group.is_some_and(|group| group == "pi")
            };
            let all = workers(pods).into_iter().chain(launchers(pods));
            (all.filter(joins).count() == 3).then_some(())
        })
        .await?;
    let kind = "podgroups.scheduling.volcano.sh";
    let object = group(&space, kind, "pi").await?;
    assert_eq!(object["metadata"]["ownerReferences"][0]["kind"], "MPIJob");
    // Two pods are placed first: the launcher among equals, then a worker.
    let resources = json!({"cpu": "40m", "memory": "64Mi"});
    assert_eq!(
        object["spec"],
        json!({
            "minMember": 2,
            "queue": "research",
            "priorityClassName": "system-cluster-critical",
            "minResources": resources,
        })
    );

    let patch = json!({"spec": {"runPolicy": {"schedulingPolicy": {"minAvailable": 3, "queue": "urgent"}}}});
    space.patch(Kind::MpiJob, "pi", patch).await?;
    let words =
        ["-n", space.name(), "wait", "--for=jsonpath={.spec.minMember}=3", "--timeout=30s", kind, "pi"];
    run("kubectl", &words).await?;
    assert_eq!(group(&space, kind, "pi").await?["spec"]["queue"], "urgent");

    space
        .patch(
            Kind::MpiJob,
            "pi",
            json!({"spec": {"runPolicy": {"suspend": true, "cleanPodPolicy": "None"}}}),
        )
        .await?;
    let words = ["-n", space.name(), "wait", "--for=delete", "--timeout=30s", kind, "pi"];
    run("kubectl", &words).await?;
    space.remove().await?;
    operator_with(None).await
}
