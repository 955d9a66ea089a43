//! `coxswain drain`: opens every start gate, so that no launcher waits for an operator that does not know it.
//!
//! In: the cluster of the kubeconfig, or of the pod. Out: a line for each gate that was opened, and what to look after.
//! Run it when the operator has been scaled to 0, before another one takes over.

use std::{
    fmt,
    io::{self, Write},
    time::Duration,
};

use anyhow::{Context as _, Result};
use clap::Args;
use coxswain_model::api::{labels, scheduling};
use k8s_openapi::api::{
    batch::v1::Job,
    coordination::v1::Lease,
    core::v1::{Pod, PodSpec},
};
use kube::{
    Api, Client, ResourceExt,
    api::{ListParams, Patch, PatchParams},
};
use serde_json::{Value, json};

/// Between two looks of `--follow`: about as long as a launcher pod takes to be replaced.
const PAUSE: Duration = Duration::from_secs(2);

/// Arguments of `drain`.
#[derive(Debug, Args)]
pub struct Arguments {
    /// Only jobs of this namespace.
    #[arg(long, short)]
    namespace: Option<String>,
    /// Namespace of the operator's lease.
    #[arg(long, default_value = "mpi-operator")]
    lock_namespace: String,
    /// Go on until no launcher is left that could be made anew with a gate.
    #[arg(long)]
    follow: bool,
}

/// Something that keeps a launcher from starting, or may do so later.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Held {
    /// A launcher's pod waits at the gate of this position.
    Pod { position: usize },
    /// A Job that is suspended would make such a pod; its template can be changed.
    Template { position: usize },
    /// A Job that runs would make such a pod if it has to replace its own; its template cannot be changed.
    Fixed,
}

/// Opens them.
pub async fn run(arguments: Arguments) -> Result<()> {
    let client = Client::try_default().await.context("connecting to the cluster")?;
    let mut out = io::stdout().lock();
    if let Some(holder) = leader(&client, &arguments.lock_namespace).await? {
        writeln!(
            out,
            "note: {holder} holds the lease {}/{}. If that is Coxswain, scale it to 0 first, or new jobs will wait at \
             new gates",
            arguments.lock_namespace,
            labels::OPERATOR_NAME,
        )?;
    }
    let mut total = Opened::default();
    loop {
        let round = open_all(&client, arguments.namespace.as_deref(), &mut out).await?;
        total.pods += round.pods;
        total.templates += round.templates;
        if !arguments.follow || round.fixed == 0 {
            total.fixed = round.fixed;
            break;
        }
        tokio::time::sleep(PAUSE).await;
    }
    writeln!(out, "{total}")?;
    Ok(())
}

/// How many there were.
#[derive(Debug, Default)]
struct Opened {
    pods: usize,
    templates: usize,
    fixed: usize,
}

impl fmt::Display for Opened {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} launchers released, {} suspended launchers will not wait when they are resumed",
            self.pods, self.templates
        )?;
        if self.fixed > 0 {
            write!(
                f,
                "\n{} running launchers would wait if their pod had to be replaced (its node is lost, or restartPolicy is \
                 Never): run `coxswain drain --follow` until they have ended",
                self.fixed
            )?;
        }
        Ok(())
    }
}

async fn open_all(client: &Client, namespace: Option<&str>, out: &mut impl Write) -> Result<Opened> {
    let mut opened = Opened::default();
    // Jobs first: a template that is changed now makes no pod with a gate afterwards.
    let jobs: Api<Job> = api(client, namespace);
    let ours = ListParams::default().labels(labels::LABEL_JOB);
    for job in jobs.list(&ours).await.context("listing launcher Jobs")? {
        match held_by(&job) {
            Some(Held::Template { position }) => {
                let gates = "/spec/template/spec/schedulingGates";
                if patch(client, &job, removal(job.metadata.resource_version.as_deref(), gates, position))
                    .await?
                {
                    opened.templates += 1;
                    writeln!(out, "job {} will not wait", shown(&job))?;
                }
            }
            Some(_) => opened.fixed += 1,
            None => {}
        }
    }
    let pods: Api<Pod> = api(client, namespace);
    let launchers = format!(
        "{}={},{}={}",
        labels::LABEL_OPERATOR_NAME,
        labels::OPERATOR_NAME,
        labels::LABEL_JOB_ROLE,
        labels::ROLE_LAUNCHER
    );
    for pod in pods.list(&ListParams::default().labels(&launchers)).await.context("listing launcher pods")? {
        if let Some(Held::Pod { position }) = held(&pod)
            && patch(
                client,
                &pod,
                removal(pod.metadata.resource_version.as_deref(), "/spec/schedulingGates", position),
            )
            .await?
        {
            opened.pods += 1;
            writeln!(out, "pod {} starts", shown(&pod))?;
        }
    }
    Ok(opened)
}

fn held(pod: &Pod) -> Option<Held> {
    let waits = pod.metadata.deletion_timestamp.is_none();
    position(pod.spec.as_ref()?).filter(|_| waits).map(|position| Held::Pod { position })
}

fn held_by(job: &Job) -> Option<Held> {
    let spec = job.spec.as_ref()?;
    let status = job.status.clone().unwrap_or_default();
    let ended = status.conditions.iter().flatten();
    let ended =
        ended.filter(|one| matches!(one.type_.as_str(), "Complete" | "Failed") && one.status == "True");
    if ended.count() > 0 {
        return None;
    }
    let position = position(spec.template.spec.as_ref()?)?;
    // Kubernetes lets the template of a Job be changed while it is suspended and has not begun.
    let changeable = spec.suspend == Some(true) && status.start_time.is_none();
    Some(if changeable { Held::Template { position } } else { Held::Fixed })
}

fn position(spec: &PodSpec) -> Option<usize> {
    spec.scheduling_gates.iter().flatten().position(|gate| gate.name == scheduling::GATE_WORKERS)
}

/// Takes our gate out of the list at `gates`, and only ours; other gates keep their places.
fn removal(version: Option<&str>, gates: &str, position: usize) -> Value {
    let gate = format!("{gates}/{position}");
    json!([
        {"op": "test", "path": "/metadata/resourceVersion", "value": version},
        {"op": "test", "path": format!("{gate}/name"), "value": scheduling::GATE_WORKERS},
        {"op": "remove", "path": gate},
    ])
}

/// False if the object has changed or gone since it was listed: the next look sees it as it is.
async fn patch<K>(client: &Client, object: &K, patch: Value) -> Result<bool>
where
    K: kube::Resource<DynamicType = (), Scope = k8s_openapi::NamespaceResourceScope>
        + Clone
        + fmt::Debug
        + serde::de::DeserializeOwned,
{
    let api: Api<K> = Api::namespaced(client.clone(), &object.namespace().unwrap_or_default());
    let patch = Patch::Json::<()>(serde_json::from_value(patch).context("making a patch")?);
    match api.patch(&object.name_any(), &PatchParams::default(), &patch).await {
        Ok(_) => Ok(true),
        Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409 | 422) => Ok(false),
        Err(error) => Err(error).with_context(|| format!("opening the gate of {}", shown(object))),
    }
}

fn api<K>(client: &Client, namespace: Option<&str>) -> Api<K>
where
    K: kube::Resource<DynamicType = (), Scope = k8s_openapi::NamespaceResourceScope>,
{
    match namespace {
        Some(namespace) => Api::namespaced(client.clone(), namespace),
        None => Api::all(client.clone()),
    }
}

fn shown(object: &impl ResourceExt) -> String {
    format!("{}/{}", object.namespace().unwrap_or_default(), object.name_any())
}

/// Who holds the operator's lease, if anybody does.
async fn leader(client: &Client, namespace: &str) -> Result<Option<String>> {
    let leases: Api<Lease> = Api::namespaced(client.clone(), namespace);
    let lease = leases.get_opt(labels::OPERATOR_NAME).await;
    let lease = lease.with_context(|| format!("reading the lease {namespace}/{}", labels::OPERATOR_NAME))?;
    let spec = lease.and_then(|lease| lease.spec).unwrap_or_default();
    let now = jiff::Timestamp::now();
    let lasts = Duration::from_secs(u64::try_from(spec.lease_duration_seconds.unwrap_or(0)).unwrap_or(0));
    let valid =
        spec.renew_time.is_some_and(|renewed| renewed.0.checked_add(lasts).is_ok_and(|end| end > now));
    Ok(spec.holder_identity.filter(|holder| valid && !holder.is_empty()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(suspend: bool, status: &Value) -> Job {
        let gates = json!([{"name": "example.com/license"}, {"name": scheduling::GATE_WORKERS}]);
        let template = json!({"spec": {"containers": [], "schedulingGates": gates}});
        serde_json::from_value(json!({
            "metadata": {"name": "pi-launcher"},
            "spec": {"suspend": suspend, "template": template},
            "status": status,
        }))
        .unwrap()
    }

    #[test]
    fn a_template_is_changed_only_where_kubernetes_lets_it() {
        let started = json!({"startTime": "2026-11-21T12:00:00Z"});
        let failed = json!({"conditions": [{"type": "Failed", "status": "True"}]});

        assert_eq!(held_by(&job(true, &json!({}))), Some(Held::Template { position: 1 }));
        assert_eq!(held_by(&job(true, &started)), Some(Held::Fixed));
        assert_eq!(held_by(&job(false, &started)), Some(Held::Fixed));
        assert_eq!(held_by(&job(false, &failed)), None);
    }
}
