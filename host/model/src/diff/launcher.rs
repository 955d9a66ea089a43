//! The launcher Job: created, suspended, resumed; the gate on its pod.

use serde_json::{Value, json};

use super::ownership::{Held, held};
use crate::{
    api::annotations,
    desired::{self, Desired},
    gate::{self, Gate},
    job::{LauncherCreation, ValidJob},
    json::at,
    object::ObjectName,
    observed::{LauncherGone, ObservedLauncher, ObservedState},
    phase,
    step::{Step, Wave},
};

/// Creates the Job, if the creation policy allows it by now.
pub fn create(job: &ValidJob, observed: &ObservedState, desired: &Desired) -> Option<Step> {
    (is_free(job, observed) && is_due(job, observed)).then(|| creation(job, desired.launcher.clone()))
}

/// Creates the Job so that its pod does not start yet.
pub fn create_suspended(job: &ValidJob, observed: &ObservedState, desired: &Desired) -> Option<Step> {
    is_free(job, observed).then(|| creation(job, desired::launcher::with_suspend(&desired.launcher)))
}

/// Stops the launcher: Kubernetes deletes the pod of a suspended Job.
pub fn suspend(job: &ValidJob, observed: &ObservedState) -> Option<Step> {
    let launcher = ours(job, observed).filter(|launcher| !launcher.suspended && launcher.end.is_none())?;
    Some(Step::Patch {
        object: name(job),
        uid: launcher.object.uid.clone(),
        version: launcher.object.version,
        patch: json!({"spec": {"suspend": true}}),
        subresource: None,
        wave: Wave::LauncherUpdate,
    })
}

/// Makes way for a Job of this pin in place of a suspended one of another operator: Kubernetes lets little of a
/// Job be changed, so the new one is created in the next reconcile.
pub fn replace(job: &ValidJob, observed: &ObservedState, desired: &Desired) -> Option<Step> {
    let launcher =
        ours(job, observed).filter(|launcher| !is_pinned(launcher, desired) && launcher.suspended)?;
    let (uid, version) = (launcher.object.uid.clone(), Some(launcher.object.version));
    Some(Step::Delete { object: name(job), uid, version })
}

/// Makes way for a Job whose pods join the gang of this start: Kubernetes lets a Job's `schedulingGroup` not be changed.
pub fn renew(job: &ValidJob, observed: &ObservedState, desired: &Desired) -> Option<Step> {
    let is_member = !at(&desired.launcher, "/spec/template/spec/schedulingGroup/podGroupName").is_null();
    let launcher = ours(job, observed).filter(|launcher| launcher.suspended && is_member)?;
    let (uid, version) = (launcher.object.uid.clone(), Some(launcher.object.version));
    Some(Step::Delete { object: name(job), uid, version })
}

/// Lets a suspended Job run, if the creation policy allows it by now.
pub fn resume(job: &ValidJob, observed: &ObservedState, desired: &Desired) -> Option<Step> {
    let launcher =
        ours(job, observed).filter(|launcher| launcher.suspended && is_pinned(launcher, desired))?;
    if !is_due(job, observed) {
        return None;
    }
    let uid = launcher.object.uid.clone();
    Some(Step::Resume { object: name(job), uid, launcher: desired.launcher.clone() })
}

/// Opens the gate, if that is what was decided.
pub fn open_gate(gate: &Gate) -> Option<Step> {
    match gate {
        Gate::NotUsed | Gate::Closed { .. } => None,
        Gate::Open { pod, version, position, because: _ } => {
            Some(Step::OpenGate { pod: pod.clone(), version: *version, position: *position })
        }
    }
}

/// `WaitForWorkersReady` holds again after each suspension.
fn is_due(job: &ValidJob, observed: &ObservedState) -> bool {
    match job.launcher_creation() {
        LauncherCreation::AtStartup => true,
        LauncherCreation::WaitForWorkersReady => gate::is_launcher_due(job, observed),
    }
}

fn is_pinned(launcher: &ObservedLauncher, desired: &Desired) -> bool {
    let annotations = at(&desired.launcher, "/metadata/annotations");
    launcher.pin.as_deref() == annotations.get(annotations::ANNOTATION_PIN).and_then(Value::as_str)
}

fn ours<'a>(job: &ValidJob, observed: &'a ObservedState) -> Option<&'a ObservedLauncher> {
    match held(job, observed.launcher.as_ref(), |launcher| &launcher.object) {
        Held::Ours(launcher) => Some(launcher),
        Held::Free | Held::Taken => None,
    }
}

/// Nothing has the name, and no launcher of this job can have run under it, unless somebody deleted it while it ran:
/// it is made anew then, as under the MPI Operator.
fn is_free(job: &ValidJob, observed: &ObservedState) -> bool {
    let free = matches!(held(job, observed.launcher.as_ref(), |launcher| &launcher.object), Held::Free);
    free && (!phase::had_launcher(job) || observed.launcher_gone == LauncherGone::Deleted)
}

fn name(job: &ValidJob) -> ObjectName {
    job.names().launcher().into()
}

fn creation(job: &ValidJob, manifest: Value) -> Step {
    Step::Create { object: name(job), manifest, wave: Wave::Pods }
}
