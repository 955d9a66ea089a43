//! Components, jobs and chains to start from.

use std::{
    collections::BTreeMap,
    sync::{Mutex, OnceLock, PoisonError},
};

use coxswain_model::view::{ContainerView, GroupView, HostEntry, JobView, Member, MemberState, Setting};
use coxswain_sandbox::{Chain, Link, Plugin, Sandbox};
pub use coxswain_test_support::components::bytes;

/// Room for everything that tests load.
pub const BOUND: usize = 1 << 20;

/// One sandbox for all tests of the process, as in the operator.
pub fn sandbox() -> &'static Sandbox {
    static SANDBOX: OnceLock<Sandbox> = OnceLock::new();
    SANDBOX.get_or_init(|| Sandbox::new().unwrap())
}

/// Loaded once a process: unoptimized, the compiler takes its time.
pub fn plugin(name: &str) -> Plugin {
    static PLUGINS: Mutex<BTreeMap<String, Plugin>> = Mutex::new(BTreeMap::new());
    let mut plugins = PLUGINS.lock().unwrap_or_else(PoisonError::into_inner);
    let load =
        || sandbox().load(name, &bytes(name), BOUND).unwrap_or_else(|refused| panic!("{name}: {refused}"));
    plugins.entry(name.to_owned()).or_insert_with(load).clone()
}

/// A chain of one launcher with its defaults and these settings.
pub fn chain(name: &str, settings: &[(&str, &str)]) -> Chain {
    let plugin = plugin(name);
    let settings = merged(&plugin, settings);
    Chain { launcher: Link { plugin, settings }, tuners: vec![] }
}

/// Declared defaults under `given`, as the host merges them.
pub fn merged(plugin: &Plugin, given: &[(&str, &str)]) -> Vec<Setting> {
    let kinds = &plugin.descriptor().settings;
    let mut merged: BTreeMap<String, String> =
        kinds.iter().filter_map(|kind| Some((kind.key.clone(), kind.default.clone()?))).collect();
    merged.extend(given.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())));
    merged.into_iter().map(|(key, value)| Setting { key, value }).collect()
}

/// `pi` in `default`: one launcher and `workers` workers with `slots` each.
pub fn job(flavor: &str, workers: u32, slots: u32) -> JobView {
    let hosts = (0..workers).map(|index| host(&format!("pi-worker-{index}"), index, slots)).collect();
    JobView {
        name: "pi".into(),
        namespace: "default".into(),
        id: "0c8b3d8e-7c55-4c3e-9a55-5f0a4f0d6f0e".into(),
        flavor: flavor.into(),
        groups: vec![
            GroupView {
                name: "launcher".into(),
                driver: true,
                hosts: vec![host("pi-launcher", 0, slots)],
                container: container(),
                ..GroupView::default()
            },
            GroupView {
                name: "worker".into(),
                runs_ranks: true,
                hosts,
                container: container(),
                ..GroupView::default()
            },
        ],
        files_dir: "/etc/mpi".into(),
        ..JobView::default()
    }
}

/// The launcher executes ranks, too.
pub fn launcher_as_worker(mut job: JobView) -> JobView {
    job.groups[0].runs_ranks = true;
    for host in &mut job.groups[1].hosts {
        host.index += 1;
    }
    job
}

/// Every worker of `job` in `state`, the last one first.
pub fn members(job: &JobView, state: MemberState) -> Vec<Member> {
    let hosts = job.groups[1].hosts.iter().rev();
    hosts.map(|host| Member { group: "worker".into(), host: host.clone(), state, topology: vec![] }).collect()
}

fn host(short: &str, index: u32, slots: u32) -> HostEntry {
    HostEntry { name: format!("{short}.pi.default.svc"), short_name: short.into(), index, slots }
}

fn container() -> ContainerView {
    ContainerView {
        image: "pi:1".into(),
        cpu_millis: 1000,
        memory_bytes: 1 << 30,
        ..ContainerView::default()
    }
}
