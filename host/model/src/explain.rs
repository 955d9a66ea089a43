//! Who set what: every variable, file, port, command and capability of a job's pods, whose it is and what it
//! replaced.
//!
//! In goes what the plugins asked for, what of it was granted and the objects that came of it; the objects decide what
//! is true.

use serde::Serialize;
use serde_json::Value;

use crate::{
    api::{capabilities, volumes},
    desired::{Desired, config_map},
    job::{Group, ValidJob},
    json::at,
    kind::RunBy,
    places,
    plan::{Change, Edit, EnvValue, File, Place, Plan},
    policy::{Grant, Granted},
};

/// The author of what the job's user wrote. No plugin can have this name.
pub const USER: &str = "(user)";
/// The author of what the operator sets itself. No plugin can have this name.
pub const OPERATOR: &str = "(operator)";

/// What a thing is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[allow(missing_docs, reason = "the contract's own words")]
pub enum Item {
    Variable,
    File,
    Port,
    Command,
    PrefixCommand,
    Capability,
}

/// A value and who asked for it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Claim {
    /// A plugin, [`USER`] or [`OPERATOR`].
    pub by: String,
    /// As it stands in the pod; of a file what it says.
    pub value: String,
}

/// One thing that a pod group has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Explained {
    /// `launcher`, `worker`, or `all`.
    pub group: &'static str,
    /// What it is.
    pub item: Item,
    /// Its name; of a file its path.
    pub name: String,
    /// What is there, and whose it is. Absent: a request that was not granted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub is: Option<Claim>,
    /// What it replaced or what gave way to it, in the order of the chain, the user's first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub over: Vec<Claim>,
}

/// Explains everything, by group and kind, in the order of the pods.
pub fn explain(job: &ValidJob, plan: &Plan, granted: &Granted, desired: &Desired) -> Vec<Explained> {
    let mut all = commands(job, plan, granted);
    for group in job.groups().all() {
        if let Some(container) = container(group, desired) {
            let group = Explaining { group, grant: granted.of(group.id()), container: &container };
            all.extend(group.variables(plan));
            all.extend(group.ports(plan));
        }
    }
    all.extend(files(job, plan, granted));
    all.extend(capabilities(job, plan, granted));
    all
}

/// The main container of a group's pods, the first of them where they differ.
fn container(group: &Group, desired: &Desired) -> Option<Value> {
    const MAIN: &str = "/spec/containers/0";
    match group.id().run_by() {
        RunBy::Job => Some(at(at(&desired.launcher, "/spec/template"), MAIN).clone()),
        RunBy::Pods => {
            let template = desired.workers.iter().find(|template| template.role() == group.id())?;
            let pod: Value = serde_json::from_str(&template.manifest(0)).ok()?;
            Some(at(&pod, MAIN).clone())
        }
    }
}

/// One group's main container: as the user wrote it, as it is, and what lies between.
struct Explaining<'a> {
    group: &'a Group,
    grant: &'a Grant,
    container: &'a Value,
}

impl Explaining<'_> {
    /// Every name of the container once, in its order; Kubernetes takes the last value.
    fn variables(&self, plan: &Plan) -> Vec<Explained> {
        let given = list(self.group.container(), "/env");
        let mut names: Vec<&str> = Vec::new();
        for entry in list(self.container, "/env") {
            let name = text(entry, "name");
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names.into_iter().map(|name| self.variable(name, given, plan)).collect()
    }

    fn variable(&self, name: &str, given: &[Value], plan: &Plan) -> Explained {
        let users = last(given, name).map(|entry| Claim { by: USER.into(), value: value(entry) });
        let mut asked: Vec<Claim> = Vec::new();
        for (by, edit) in self.edits(plan) {
            if let Change::Env(env) = &edit.change
                && env.name == name
            {
                asked.push(Claim { by: by.to_owned(), value: shown(&env.value) });
            }
        }
        let granted = self.grant.env.iter().find(|env| env.name == name);
        let now = last(list(self.container, "/env"), name).map(value).unwrap_or_default();
        let (is, over) = match (granted, users) {
            (Some(env), users) if env.force || users.is_none() => {
                let is = Claim { by: env.by.clone(), value: shown(&env.value) };
                take_last(&mut asked, &is);
                (is, users.into_iter().chain(asked).collect())
            }
            // The operator's own goes before the user's, as in the MPI Operator.
            (_, Some(users)) if users.value == now => (users, asked),
            (_, users) => {
                (Claim { by: OPERATOR.into(), value: now }, users.into_iter().chain(asked).collect())
            }
        };
        Explained {
            group: self.group.role().name,
            item: Item::Variable,
            name: name.to_owned(),
            is: Some(is),
            over,
        }
    }

    fn ports(&self, plan: &Plan) -> Vec<Explained> {
        let declared = list(self.container, "/ports").iter();
        declared.map(|port| self.port(text(port, "name"), at(port, "/containerPort"), plan)).collect()
    }

    fn port(&self, name: &str, number: &Value, plan: &Plan) -> Explained {
        let asked = self.edits(plan).filter_map(|(by, edit)| match &edit.change {
            Change::Port(port) if port.name == name => {
                Some(Claim { by: by.to_owned(), value: port.number.to_string() })
            }
            _ => None,
        });
        let mut asked: Vec<Claim> = asked.collect();
        let users = list(self.group.container(), "/ports").iter().any(|port| text(port, "name") == name);
        let by = match (users, asked.last()) {
            (false, Some(request)) => request.by.clone(),
            _ => USER.to_owned(),
        };
        let is = Claim { by, value: number.to_string() };
        take_last(&mut asked, &is);
        Explained {
            group: self.group.role().name,
            item: Item::Port,
            name: name.to_owned(),
            is: Some(is),
            over: asked,
        }
    }

    /// Those that reach this group.
    fn edits<'a>(&'a self, plan: &'a Plan) -> impl Iterator<Item = (&'a str, &'a Edit)> {
        let reaches =
            |edit: &&Edit| edit.group.as_deref().is_none_or(|group| group == self.group.role().name);
        plan.edits.iter().filter(reaches).map(|edit| (edit.by.as_str(), edit))
    }
}

/// The launcher's command: rendered, prefixed, or as the user wrote it.
fn commands(job: &ValidJob, plan: &Plan, granted: &Granted) -> Vec<Explained> {
    let asked = |item: Item| -> Vec<Claim> {
        let words = plan.edits.iter().filter_map(|edit| match (&edit.change, item) {
            (Change::LaunchCommand(words), Item::Command)
            | (Change::PrefixCommand(words), Item::PrefixCommand) => {
                Some(Claim { by: edit.by.clone(), value: words.join(" ") })
            }
            _ => None,
        });
        words.collect()
    };
    let driver = job.driver().role().name;
    let explained = |item, name: &str, is: Claim, mut over: Vec<Claim>| {
        take_last(&mut over, &is);
        Explained { group: driver, item, name: name.to_owned(), is: Some(is), over }
    };
    let container = job.driver().container();
    let users = [at(container, "/command"), at(container, "/args")];
    let users: Vec<&str> =
        users.into_iter().filter_map(Value::as_array).flatten().filter_map(Value::as_str).collect();
    let mut rendered = asked(Item::Command);
    let is = match (&granted.launch_command, rendered.last()) {
        (Some(words), Some(last)) => Claim { by: last.by.clone(), value: words.join(" ") },
        _ => Claim { by: USER.into(), value: users.join(" ") },
    };
    if granted.launch_command.is_some() {
        rendered.insert(0, Claim { by: USER.into(), value: users.join(" ") });
    }
    let mut found = vec![explained(Item::Command, "command", is, rendered)];
    let prefixes = asked(Item::PrefixCommand);
    if let Some(last) = prefixes.last().filter(|_| !granted.prefix_command.is_empty()) {
        let is = Claim { by: last.by.clone(), value: granted.prefix_command.join(" ") };
        found.push(explained(Item::PrefixCommand, "prefix", is, prefixes));
    }
    found
}

fn files(job: &ValidJob, plan: &Plan, granted: &Granted) -> Vec<Explained> {
    let driver = job.driver().role().name;
    let claim = |file: &File| Claim { by: file.by.clone(), value: file.content.clone() };
    let beside = granted.job_files.iter().map(|file| {
        let name = format!("{}/{}", volumes::CONFIG_MOUNT_PATH, file.name);
        (driver, name, file)
    });
    let everywhere = granted.everywhere.iter().filter_map(|file| {
        let spot = places::spot(config_map::key(file))?;
        Some(("all", spot.path.to_owned(), file))
    });
    let explained = beside.chain(everywhere).map(|(group, name, file)| {
        let same = |other: &&File| match &file.place {
            Place::Job => other.place == Place::Job && other.name == file.name,
            place @ Place::Everywhere(_) => other.place == *place,
        };
        let mut over: Vec<Claim> = plan.files.iter().filter(same).map(claim).collect();
        let ours = claim(file);
        // A path that the user mounts himself stays his.
        let is = if group != driver && mounts(job, &name) {
            Claim { by: USER.into(), value: "a volume of the user's".into() }
        } else {
            take_last(&mut over, &ours);
            ours
        };
        Explained { group, item: Item::File, name, is: Some(is), over }
    });
    explained.collect()
}

fn mounts(job: &ValidJob, path: &str) -> bool {
    let groups = job.groups().all();
    let mut mounts = groups.flat_map(|group| list(group.container(), "/volumeMounts"));
    mounts.any(|mount| text(mount, "mountPath") == path)
}

fn capabilities(job: &ValidJob, plan: &Plan, granted: &Granted) -> Vec<Explained> {
    let mut found: Vec<Explained> = Vec::new();
    for edit in &plan.edits {
        let Change::Capability(request) = &edit.change else { continue };
        let is_granted = match request.kind.as_str() {
            capabilities::CAPABILITY_SHARED_MEMORY => granted.shared_memory.is_some(),
            capabilities::CAPABILITY_LOCK_MEMORY => granted.lock_memory,
            capabilities::CAPABILITY_WAIT_FOR_MEMBERS => job.options().start_gate,
            _ => false,
        };
        let claim = Claim { by: edit.by.clone(), value: request.parameter.clone().unwrap_or_default() };
        let earlier = found.iter_mut().find(|one| one.name == request.kind);
        match earlier {
            Some(one) if is_granted => one.over.extend(one.is.replace(claim)),
            Some(one) => one.over.push(claim),
            None => {
                let (is, over) = if is_granted { (Some(claim), Vec::new()) } else { (None, vec![claim]) };
                let name = request.kind.clone();
                found.push(Explained { group: "all", item: Item::Capability, name, is, over });
            }
        }
    }
    found
}

/// Removes the request that was granted.
fn take_last(asked: &mut Vec<Claim>, is: &Claim) {
    if let Some(position) = asked.iter().rposition(|request| request == is) {
        asked.remove(position);
    }
}

fn list<'a>(container: &'a Value, pointer: &str) -> &'a [Value] {
    at(container, pointer).as_array().map(Vec::as_slice).unwrap_or_default()
}

fn text<'a>(object: &'a Value, key: &str) -> &'a str {
    object.get(key).and_then(Value::as_str).unwrap_or_default()
}

fn last<'a>(env: &'a [Value], name: &str) -> Option<&'a Value> {
    env.iter().rev().find(|entry| text(entry, "name") == name)
}

/// A literal as it is, a reference as what it refers to.
fn value(entry: &Value) -> String {
    match entry.get("valueFrom") {
        None | Some(Value::Null) => text(entry, "value").to_owned(),
        Some(from) => match from.pointer("/fieldRef/fieldPath").and_then(Value::as_str) {
            Some(path) => format!("the pod's {path}"),
            None => format!("from {from}"),
        },
    }
}

fn shown(value: &EnvValue) -> String {
    match value {
        EnvValue::Literal(text) => text.clone(),
        EnvValue::Field(field) => format!("the pod's {}", field.path()),
    }
}

#[cfg(test)]
mod tests;
