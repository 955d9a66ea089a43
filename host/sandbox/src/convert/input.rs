//! From the model to the contract.

use coxswain_model::{
    plan::{Change, Descriptor, EnvValue, Place, Plan, PodField},
    view::{ContainerView, GroupView, HostEntry, JobView, Member, MemberState, Setting},
};

use crate::bindings::v0_1::coxswain::plugin::types as wit;

/// A job with `settings`, and of variables and annotations only what `reader` declares to read.
pub fn job(job: &JobView, settings: &[Setting], reader: &Descriptor) -> wit::Job {
    wit::Job {
        name: job.name.clone(),
        namespace: job.namespace.clone(),
        id: job.id.clone(),
        flavor: job.flavor.clone(),
        flavor_version: job.flavor_version.clone(),
        groups: job.groups.iter().map(|view| group(view, reader)).collect(),
        cluster_domain: job.cluster_domain.clone(),
        files_dir: job.files_dir.clone(),
        ssh: job.ssh.as_ref().map(|ssh| wit::Ssh {
            mount_path: ssh.mount_path.clone(),
            port: ssh.port,
            known_hosts: ssh.known_hosts.clone(),
        }),
        elastic: job.elastic,
        gated: job.gated,
        renders_command: job.renders_command,
        settings: self::settings(settings),
        facts: self::settings(&job.facts),
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
        Change::Want(want) => {
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

fn group(group: &GroupView, reader: &Descriptor) -> wit::Group {
    wit::Group {
        name: group.name.clone(),
        driver: group.driver,
        runs_ranks: group.runs_ranks,
        hosts: group.hosts.iter().map(host).collect(),
        host_network: group.host_network,
        run_as_user: group.run_as_user,
        container: container(&group.container, reader),
        claims: group
            .claims
            .iter()
            .map(|claim| wit::Claim {
                name: claim.name.clone(),
                classes: claim.classes.clone(),
                network_interface: claim.network_interface.clone(),
            })
            .collect(),
        annotations: group
            .annotations
            .iter()
            .filter(|annotation| is_read(&annotation.key, &reader.reads_annotations))
            .map(setting)
            .collect(),
        facts: settings(&group.facts),
    }
}

fn container(container: &ContainerView, reader: &Descriptor) -> wit::Container {
    wit::Container {
        image: container.image.clone(),
        command: container.command.clone(),
        args: container.args.clone(),
        env: container
            .env
            .iter()
            .filter(|(name, _)| is_read(name, &reader.reads_env))
            .map(|(name, value)| wit::EnvSeen { name: name.clone(), value: value.clone() })
            .collect(),
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
