//! One plugin alone on one job, called and judged as in the operator: what a component is tried with before it
//! serves, and on its author's machine.

use std::collections::BTreeMap;

use coxswain_model::{
    api::{MpiJob, resource},
    desired::{self, Gang},
    job::{ValidJob, Verdict, violation},
    plan::{Change, Descriptor, File, Plan, Violation},
    policy::{self, ClusterPolicy, Granted},
    view::{JobView, Member, MemberState},
};
use coxswain_sandbox::{Chain, Fault, Link, Plugin};
use serde_json::Value;

use crate::{registry, settings::as_settings};

/// Stands where the API server would put the job's uid.
const NO_UID: &str = "00000000-0000-0000-0000-000000000000";
/// Author of the plan that a tuner finds, where nobody else is known.
pub const SO_FAR: &str = "launcher";

/// A plugin, and what it is tried on.
pub struct Trial<'a> {
    /// Who is asked.
    pub plugin: &'a Plugin,
    /// The administrator's settings, over the declared defaults.
    pub given: &'a BTreeMap<String, String>,
    /// What the cluster allows.
    pub policy: &'a ClusterPolicy,
    /// The job.
    pub job: &'a ValidJob,
    /// How plugins see it: [`view`], or something that hosts to come could say.
    pub view: JobView,
    /// The plan that a tuner finds, by [`SO_FAR`].
    pub so_far: Option<Plan>,
}

/// Words for [`Tried::Unsteady`].
pub const UNSTEADY: &str = "it answered differently when it was asked a second time";

/// What came of it.
#[derive(Clone, Debug, PartialEq)]
pub enum Tried {
    /// The job would run.
    Granted(Box<(Plan, Granted)>),
    /// The plugin refused the settings or the job, or the job asks for what cannot be, in words for its user.
    Refused(String),
    /// The plugin asks for what it may not have.
    Forbidden(Vec<Violation>),
    /// The plugin broke.
    Broken(String),
    /// It answered differently when it was asked again.
    Unsteady,
}

impl Trial<'_> {
    /// Asks twice: the same input must give the same answer.
    pub fn run(&self) -> Tried {
        let first = self.once();
        match (&first, self.once()) {
            (Tried::Broken(_), _) => first,
            (one, other) if *one != other => Tried::Unsteady,
            _ => first,
        }
    }

    fn once(&self) -> Tried {
        match self.plugin.check_settings(&as_settings(self.given)) {
            Ok(violations) if violations.is_empty() => {}
            Ok(violations) => return Tried::Refused(words(&violations)),
            Err(fault) => return Tried::Broken(format!("check-settings: {fault}")),
        }
        if self.is_tuner() { self.tune() } else { self.launch() }
    }

    /// A component that is both is tried as what the job asks for.
    fn is_tuner(&self) -> bool {
        self.plugin.is_tuner() && (self.so_far.is_some() || !self.plugin.is_launcher())
    }

    fn launch(&self) -> Tried {
        let settings = as_settings(&self.settings());
        let chain = Chain { launcher: Link { plugin: self.plugin.clone(), settings }, tuners: Vec::new() };
        let plan = match chain.plan(&self.view, &[]) {
            Ok(plan) => plan,
            Err(fault) => return unanswered(fault.fault, "render"),
        };
        let granted = match self.grant(&plan, &[self.plugin.descriptor()]) {
            Ok(granted) => granted,
            Err(violations) => return ungranted(&violations),
        };
        match self.follow(&chain, &granted) {
            Some(failed) => failed,
            None => Tried::Granted(Box::new((plan, granted))),
        }
    }

    /// Once all hosts are up, the files that follow them are asked for, too.
    fn follow(&self, chain: &Chain, granted: &Granted) -> Option<Tried> {
        let files: Vec<File> = match chain.follow(&self.view, &members(&self.view)) {
            Ok(files) => files,
            Err(fault) => return Some(unanswered(fault.fault, "follow")),
        };
        policy::follow(self.job, granted, &files).err().map(|violations| ungranted(&violations))
    }

    fn tune(&self) -> Tried {
        let so_far = self.so_far.clone().unwrap_or_default();
        let view = JobView { settings: as_settings(&self.settings()), ..self.view.clone() };
        let own = match self.plugin.tune(&view, &so_far) {
            Ok(own) => own,
            Err(fault) => return unanswered(fault, "tune"),
        };
        // Nobody renders a command here, so the job is judged as one that does not ask for it.
        let mut job = self.job.clone();
        let asked = so_far.edits.iter().any(|edit| matches!(edit.change, Change::LaunchCommand(_)));
        if !asked {
            job = job.without_rendered_command();
        }
        let author = author(&so_far);
        let mut plan = so_far;
        plan.edits.extend(own.edits);
        plan.files.extend(own.files);
        plan.notes.extend(own.notes);
        let chain = [&author, self.plugin.descriptor()];
        match policy::grant(&job, &plan, &chain, self.policy) {
            Ok(granted) => Tried::Granted(Box::new((plan, granted))),
            Err(violations) => ungranted(&violations),
        }
    }

    fn grant(&self, plan: &Plan, chain: &[&Descriptor]) -> Result<Granted, Vec<Violation>> {
        policy::grant(self.job, plan, chain, self.policy)
    }

    fn settings(&self) -> BTreeMap<String, String> {
        let jobs = self.job.options().settings.get(self.plugin.name());
        registry::merged(self.plugin.descriptor(), self.given, jobs)
    }
}

/// What [`SO_FAR`] would have to declare.
fn author(so_far: &Plan) -> Descriptor {
    let name = |change: &Change| match change {
        Change::Env(edit) => Some(edit.name.clone()),
        _ => None,
    };
    let writes_env = so_far.edits.iter().filter_map(|edit| name(&edit.change)).collect();
    Descriptor { name: SO_FAR.into(), writes_env, ..Descriptor::default() }
}

fn unanswered(fault: Fault, function: &str) -> Tried {
    match fault {
        refused @ Fault::Refused(_) => Tried::Refused(refused.to_string()),
        Fault::Broken(how) => Tried::Broken(format!("{function}: {how}")),
    }
}

/// What only the job's user can mend (too many hosts for a ConfigMap, say) is not held against the plugin.
fn ungranted(violations: &[Violation]) -> Tried {
    let plugins = |violation: &Violation| violation.path.starts_with("plugins[");
    let its: Vec<Violation> = violations.iter().filter(|violation| plugins(violation)).cloned().collect();
    if its.is_empty() { Tried::Refused(words(violations)) } else { Tried::Forbidden(its) }
}

/// Every host that runs ranks, ready.
fn members(view: &JobView) -> Vec<Member> {
    let groups = view.groups.iter().filter(|group| group.runs_ranks);
    let member = |group: &str, host: &coxswain_model::view::HostEntry| Member {
        group: group.to_owned(),
        host: host.clone(),
        state: MemberState::Ready,
        topology: Vec::new(),
    };
    groups.flat_map(|group| group.hosts.iter().map(|host| member(&group.name, host))).collect()
}

/// `path: text; …`.
pub fn words(violations: &[Violation]) -> String {
    let one = |v: &Violation| format!("{}: {}", v.path, v.text);
    violations.iter().map(one).collect::<Vec<_>>().join("; ")
}

/// How plugins see a job that is alone in the cluster.
pub fn view(job: &ValidJob) -> JobView {
    job.view(desired::launcher::gated(job, &Gang::Off))
}

/// An `MPIJob` as a person wrote it, with what the API server would add.
pub fn raw_job(object: Value) -> Result<MpiJob, String> {
    let text = |key: &str| object.get(key).and_then(Value::as_str).unwrap_or_default();
    let (version, kind) = (text("apiVersion"), text("kind"));
    if (kind, version) != (resource::KIND, resource::API_VERSION) {
        return Err(format!("it is {version} {kind}, not {} {}", resource::API_VERSION, resource::KIND));
    }
    let mut job: MpiJob = serde_json::from_value(object).map_err(|error| error.to_string())?;
    if job.metadata.namespace.is_empty() {
        job.metadata.namespace = "default".into();
    }
    if job.metadata.uid.is_empty() {
        job.metadata.uid = NO_UID.into();
    }
    Ok(job)
}

/// The same, parsed.
pub fn job(object: Value) -> Result<ValidJob, String> {
    match ValidJob::parse(&raw_job(object)?, None) {
        Verdict::Valid(job) => Ok(*job),
        Verdict::Invalid(errors) => Err(violation::aggregate(&errors)),
        Verdict::NotOurs => {
            Err("it is managed by another controller (spec.runPolicy.managedBy) or being deleted".into())
        }
    }
}
