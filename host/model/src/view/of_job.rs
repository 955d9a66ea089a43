//! What plugins get to see of a job, and of its pods.

use serde_json::Value;

use super::{ClaimView, ContainerView, GroupView, HostEntry, JobView, Member, MemberState, Setting, SshView};
use crate::{
    api::volumes,
    claims::Source,
    job::{Group, ValidJob},
    json::at,
    kind::{Role, RunBy},
    names::HostName,
    observed::{ObservedPod, ObservedState, PodPhase},
    pin::Pin,
    quantity::Quantity,
};

/// Where sshd listens unless something is said.
const SSH_PORT: u16 = 22;

impl ValidJob {
    /// The job as plugins see it. `gated`: its launcher waits for the workers
    /// ([`crate::desired::launcher::gated`]). Settings stay empty; each plugin of the chain gets its own.
    pub fn view(&self, gated: bool) -> JobView {
        let view = |group: &Group| GroupView {
            name: group.role().name.to_owned(),
            driver: group.id().is_driver(),
            runs_ranks: group.runs_ranks(),
            hosts: self.hosts(group),
            ..self::group(group)
        };
        JobView {
            name: self.names().job().to_owned(),
            namespace: self.names().namespace().to_owned(),
            id: self.uid().to_string(),
            flavor: self.implementation().to_owned(),
            flavor_version: None,
            groups: self.groups().all().map(view).collect(),
            cluster_domain: self.names().cluster_domain().map(str::to_owned),
            files_dir: volumes::CONFIG_MOUNT_PATH.to_owned(),
            ssh: Some(SshView {
                mount_path: self.ssh_mount_path().to_owned(),
                port: self.options().ssh_probe.filter(|port| *port != SSH_PORT),
                known_hosts: self
                    .options()
                    .checks_host_keys
                    .then(|| self.ssh_file(volumes::SSH_KNOWN_HOSTS_FILE)),
            }),
            elastic: self.options().start_min_workers.is_some(),
            gated,
            renders_command: self.options().renders_command,
            settings: Vec::new(),
            facts: Vec::new(),
        }
    }

    /// [`ValidJob::view`] with what the pin says of the job's claims.
    pub fn view_pinned(&self, pin: &Pin, gated: bool) -> JobView {
        let mut view = self.view(gated);
        for claim in view.groups.iter_mut().flat_map(|group| &mut group.claims) {
            if let Some(known) = pin.claims.get(&claim.source) {
                claim.classes.clone_from(&known.classes);
                claim.network_interface.clone_from(&known.interface);
            }
        }
        view
    }

    /// The pods that may execute ranks, for host discovery: workers by group and index, then the launcher if it runs ranks.
    /// Pods of others and workers that are about to be removed do not count.
    pub fn members(&self, observed: &ObservedState) -> Vec<Member> {
        let mut workers: Vec<&ObservedPod> = observed.wanted_workers_of(self).collect();
        workers.sort_by_key(|pod| pod.id());
        let workers = workers.into_iter().map(|pod| {
            let role = self.kind().role(pod.role);
            member(role.name, self.worker_host(role, pod.index), pod)
        });
        // A retried launcher has several pods; the last one counts.
        let launcher = observed.launcher_pods().filter(|_| self.driver().runs_ranks()).last();
        let launcher = launcher.map(|pod| member(self.driver().role().name, self.launcher_host(), pod));
        workers.chain(launcher).collect()
    }

    fn hosts(&self, group: &Group) -> Vec<HostEntry> {
        match group.id().run_by() {
            RunBy::Job => vec![self.launcher_host()],
            RunBy::Pods => (0..group.replicas()).map(|index| self.worker_host(group.role(), index)).collect(),
        }
    }

    fn launcher_host(&self) -> HostEntry {
        self.host(&self.names().launcher(), 0)
    }

    fn worker_host(&self, role: &Role, index: u32) -> HostEntry {
        self.host(&self.names().pod(role.name, index), self.replica_index(index))
    }

    fn host(&self, host: &impl HostName, index: u32) -> HostEntry {
        HostEntry {
            name: self.names().fqdn(host),
            short_name: host.as_ref().to_owned(),
            index,
            slots: self.slots(),
        }
    }
}

fn member(group: &str, host: HostEntry, pod: &ObservedPod) -> Member {
    Member { group: group.to_owned(), host, state: state(pod), topology: Vec::new() }
}

fn state(pod: &ObservedPod) -> MemberState {
    if pod.is_terminal() {
        MemberState::Finished
    } else if pod.deleting {
        MemberState::Terminating
    } else if pod.ready {
        MemberState::Ready
    } else if pod.phase == PodPhase::Running {
        MemberState::Running
    } else {
        MemberState::Pending
    }
}

/// What the template says.
fn group(group: &Group) -> GroupView {
    let pod = group.pod_spec();
    let user = |of: &Value| at(of, "/securityContext/runAsUser").as_i64();
    GroupView {
        host_network: group.host_network(),
        run_as_user: user(group.container()).or_else(|| user(pod)),
        container: container(group.container()),
        claims: claims(pod),
        annotations: annotations(group.template()),
        ..GroupView::default()
    }
}

/// The claims that a pod's spec names. Which device classes they ask for, and how the driver names a network
/// interface, stands in other objects and is filled in from the pin ([`ValidJob::view_pinned`]).
fn claims(pod_spec: &Value) -> Vec<ClaimView> {
    let claim = |entry: &Value| {
        let name = at(entry, "/name").as_str()?.to_owned();
        let source = Source::of(entry).map(|source| source.key()).unwrap_or_default();
        Some(ClaimView { name, source, ..ClaimView::default() })
    };
    elements(at(pod_spec, "/resourceClaims")).iter().filter_map(claim).collect()
}

fn annotations(template: &Value) -> Vec<Setting> {
    let Some(annotations) = at(template, "/metadata/annotations").as_object() else { return Vec::new() };
    let texts = annotations.iter().filter_map(|(key, value)| Some((key, value.as_str()?)));
    let mut settings: Vec<Setting> =
        texts.map(|(key, value)| Setting { key: key.clone(), value: value.to_owned() }).collect();
    settings.sort();
    settings
}

fn container(container: &Value) -> ContainerView {
    let amount = |name: &str| resource(container, name).unwrap_or_default();
    ContainerView {
        image: at(container, "/image").as_str().unwrap_or_default().to_owned(),
        command: words(at(container, "/command")),
        args: words(at(container, "/args")),
        env: elements(at(container, "/env")).iter().filter_map(variable).collect(),
        cpu_millis: amount("cpu").millis(),
        memory_bytes: amount("memory").units(),
        devices: devices(container),
    }
}

/// A value that is not written counts as empty, as in Kubernetes; a reference has none.
fn variable(entry: &Value) -> Option<(String, Option<String>)> {
    let name = at(entry, "/name").as_str()?.to_owned();
    let literal = at(entry, "/valueFrom").is_null();
    Some((name, literal.then(|| at(entry, "/value").as_str().unwrap_or_default().to_owned())))
}

/// The limit, else the request.
fn resource(container: &Value, name: &str) -> Option<Quantity> {
    let of = |kind: &str| Quantity::read(at(container, kind).get(name)?);
    of("/resources/limits").or_else(|| of("/resources/requests"))
}

/// Extended resources: those with a domain before their name.
fn devices(container: &Value) -> Vec<(String, u64)> {
    let kinds = ["/resources/limits", "/resources/requests"];
    let mut names: Vec<&String> = kinds
        .iter()
        .filter_map(|kind| at(container, kind).as_object())
        .flat_map(|resources| resources.keys())
        .filter(|name| name.contains('/'))
        .collect();
    names.sort();
    names.dedup();
    names.into_iter().filter_map(|name| Some((name.clone(), resource(container, name)?.units()))).collect()
}

fn words(list: &Value) -> Vec<String> {
    elements(list).iter().filter_map(Value::as_str).map(str::to_owned).collect()
}

fn elements(list: &Value) -> &[Value] {
    list.as_array().map(Vec::as_slice).unwrap_or_default()
}

#[cfg(test)]
mod tests;
