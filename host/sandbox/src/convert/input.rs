//! From the model to the contract.

use coxswain_model::{
    plan::{Change, Descriptor, EnvValue, Place, Plan, PodField},
    view::{ContainerView, GroupView, HostEntry, JobView, Member, MemberState, Setting},
};

use crate::bindings::v0_1::coxswain::plugin::types as wit;

/// A job in the contract's types, made once for a whole chain: hosts are most of it, and the same for all plugins.
pub struct Input<'a> {
    view: &'a JobView,
    job: wit::Job,
}

impl<'a> Input<'a> {
    /// Without what differs between plugins.
    pub fn of(view: &'a JobView) -> Self {
        let job = wit::Job {
            name: view.name.clone(),
            namespace: view.namespace.clone(),
            id: view.id.clone(),
            flavor: view.flavor.clone(),
            flavor_version: view.flavor_version.clone(),
            groups: view.groups.iter().map(group).collect(),
            cluster_domain: view.cluster_domain.clone(),
            files_dir: view.files_dir.clone(),
            ssh: view.ssh.as_ref().map(|ssh| wit::Ssh {
                mount_path: ssh.mount_path.clone(),
                port: ssh.port,
                known_hosts: ssh.known_hosts.clone(),
            }),
            elastic: view.elastic,
            gated: view.gated,
            renders_command: view.renders_command,
            settings: Vec::new(),
            facts: settings(&view.facts),
        };
        Self { view, job }
    }

    /// The job as it was given.
    pub fn view(&self) -> &'a JobView {
        self.view
    }

    /// The job with `settings`, and of variables and annotations only what `reader` declares to read.
    pub fn read_by(&mut self, reader: &Descriptor, settings: &[Setting]) -> &wit::Job {
        self.job.settings = self::settings(settings);
        for (group, view) in self.job.groups.iter_mut().zip(&self.view.groups) {
            let env = view.container.env.iter().filter(|(name, _)| is_read(name, &reader.reads_env));
            group.container.env =
                env.map(|(name, value)| wit::EnvSeen { name: name.clone(), value: value.clone() }).collect();
            let annotations = view.annotations.iter();
            group.annotations = annotations
                .filter(|annotation| is_read(&annotation.key, &reader.reads_annotations))
                .map(setting)
                .collect();
        }
        &self.job
    }
}

/// Members by group, as in the job, then by index. Those of groups that the job does not have come last.
pub fn members(job: &JobView, members: &[Member]) -> Vec<wit::Member> {
    let group = |name: &str| job.groups.iter().position(|group| group.name == name).unwrap_or(usize::MAX);
    let mut sorted: Vec<&Member> = members.iter().collect();
    sorted.sort_by_key(|member| (group(&member.group), member.host.index));
    sorted
        .into_iter()
        .map(|member| wit::Member {
            group: member.group.clone(),
            host: host(&member.host),
            state: match member.state {
                MemberState::Pending => wit::MemberState::Pending,
                MemberState::Running => wit::MemberState::Running,
                MemberState::Ready => wit::MemberState::Ready,
                MemberState::Terminating => wit::MemberState::Terminating,
                MemberState::Finished => wit::MemberState::Finished,
            },
            topology: member.topology.clone(),
        })
        .collect()
}

/// Keys and values.
pub fn settings(settings: &[Setting]) -> Vec<wit::Setting> {
    settings.iter().map(setting).collect()
}

/// A plan for a tuner to read.
pub fn so_far(plan: &Plan) -> wit::Plan {
    wit::Plan {
        edits: plan
            .edits
            .iter()
            .map(|edit| wit::Edit { group: edit.group.clone(), change: change(&edit.change) })
            .collect(),
        files: plan
            .files
            .iter()
            .map(|file| wit::File {
                name: file.name.clone(),
                place: match &file.place {
                    Place::Job => wit::Place::Job,
                    Place::Everywhere(place) => wit::Place::Everywhere(place.clone()),
                },
                executable: file.executable,
                content: file.content.clone(),
            })
            .collect(),
        notes: plan
            .notes
            .iter()
            .map(|note| wit::Note {
                level: if note.warning { wit::Level::Warning } else { wit::Level::Info },
                text: note.text.clone(),
            })
            .collect(),
    }
}

fn change(change: &Change) -> wit::Change {
    match change {
        Change::Env(env) => wit::Change::Env(wit::EnvEdit {
            name: env.name.clone(),
            value: match &env.value {
                EnvValue::Literal(text) => wit::EnvValue::Literal(text.clone()),
                EnvValue::Field(field) => wit::EnvValue::Field(pod_field(*field)),
            },
            precedence: if env.force { wit::Precedence::Force } else { wit::Precedence::Fallback },
        }),
        Change::LaunchCommand(words) => wit::Change::LaunchCommand(words.clone()),
        Change::PrefixCommand(words) => wit::Change::PrefixCommand(words.clone()),
        Change::Port(port) => wit::Change::Port(wit::Port { name: port.name.clone(), number: port.number }),
        Change::Capability(want) => {
            wit::Change::Want(wit::Want { kind: want.kind.clone(), parameter: want.parameter.clone() })
        }
    }
}

fn pod_field(field: PodField) -> wit::PodField {
    match field {
        PodField::Name => wit::PodField::Name,
        PodField::Namespace => wit::PodField::Namespace,
        PodField::Ip => wit::PodField::Ip,
        PodField::NodeName => wit::PodField::NodeName,
        PodField::HostIp => wit::PodField::HostIp,
        PodField::ReplicaIndex => wit::PodField::ReplicaIndex,
    }
}

/// Without variables and annotations.
fn group(group: &GroupView) -> wit::Group {
    wit::Group {
        name: group.name.clone(),
        driver: group.driver,
        runs_ranks: group.runs_ranks,
        hosts: group.hosts.iter().map(host).collect(),
        host_network: group.host_network,
        run_as_user: group.run_as_user,
        container: container(&group.container),
        claims: group
            .claims
            .iter()
            .map(|claim| wit::Claim {
                name: claim.name.clone(),
                classes: claim.classes.clone(),
                network_interface: claim.network_interface.clone(),
            })
            .collect(),
        annotations: Vec::new(),
        facts: settings(&group.facts),
    }
}

fn container(container: &ContainerView) -> wit::Container {
    wit::Container {
        image: container.image.clone(),
        command: container.command.clone(),
        args: container.args.clone(),
        env: Vec::new(),
        cpu_millis: container.cpu_millis,
        memory_bytes: container.memory_bytes,
        devices: container
            .devices
            .iter()
            .map(|(resource, count)| wit::Device { resource: resource.clone(), count: *count })
            .collect(),
    }
}

fn is_read(name: &str, prefixes: &[String]) -> bool {
    prefixes.iter().any(|prefix| name.starts_with(prefix.as_str()))
}

fn host(host: &HostEntry) -> wit::HostEntry {
    wit::HostEntry {
        name: host.name.clone(),
        short_name: host.short_name.clone(),
        index: host.index,
        slots: host.slots,
    }
}

fn setting(setting: &Setting) -> wit::Setting {
    wit::Setting { key: setting.key.clone(), value: setting.value.clone() }
}
