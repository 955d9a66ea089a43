//! MPI flavours of one's own: the example plugins, one in Rust and one in C, each brought by a ConfigMap, selected by
//! `spec.mpiImplementation`, and run by real launchers over real ssh.

use std::{env, fs};

use crate::{
    Job, Operator, Space,
    objects::Kind,
    operator::NAMESPACE,
    space::LIMIT,
    tool::{run, run_in_shell},
    watch,
};
use anyhow::{Context as _, Result, ensure};
use coxswain_model::pin::Digest;
use kube::runtime::watcher;
use serde_json::json;

/// An example plugin, what it serves, and the image whose launcher understands what it renders.
struct Flavour {
    plugin: &'static str,
    implementation: &'static str,
    tag: &'static str,
    /// Set by the plugin alone.
    marker: &'static str,
}

const IN_RUST: Flavour =
    Flavour { plugin: "rust-mpi", implementation: "MyMPI", tag: "openmpi4", marker: "MYMPI_FLAVOUR" };
const IN_C: Flavour =
    Flavour { plugin: "c-mpi", implementation: "CMPI", tag: "mpich", marker: "CMPI_FLAVOUR" };

impl Flavour {
    /// The component; `COXSWAIN_EXAMPLE_PLUGINS` names the folder with them.
    fn path(&self) -> Result<String> {
        let folder = env::var("COXSWAIN_EXAMPLE_PLUGINS");
        let folder =
            folder.context("COXSWAIN_EXAMPLE_PLUGINS must name the folder with the example plugins")?;
        Ok(format!("{folder}/{}.wasm", self.plugin))
    }

    /// Applies its ConfigMap as the README says, and waits until the operator says that it serves. Returns the
    /// beginning of its digest.
    async fn deploy(&self) -> Result<String> {
        let path = self.path()?;
        let digest = Digest::of(&fs::read(&path).with_context(|| format!("reading {path}"))?).to_string();
        let coxswain = env::var("COXSWAIN_BINARY").context("COXSWAIN_BINARY must name it")?;
        run_in_shell(&format!("{coxswain} plugin pack {path} | kubectl apply -n {NAMESPACE} -f -")).await?;
        let api = Operator::connect().await?.api(Kind::Event);
        let selection = watcher::Config::default().fields(&format!("involvedObject.name={}", self.plugin));
        let short = digest.get(..12).unwrap_or_default().to_owned();
        let what = format!("an event on the ConfigMap of {} that names {short}", self.plugin);
        watch::until(&api, selection, LIMIT, &what, |events| {
            let loaded = events.values().any(|event| {
                let said = event.data.to_string();
                said.contains("PluginLoaded") && said.contains(&short)
            });
            Ok(loaded.then_some(()))
        })
        .await?;
        Ok(short)
    }

    /// The job of the tests, with what the ranks need to print the marker. Hydra hands on all variables, Open MPI those
    /// that it is told to.
    fn job(&self, name: &str) -> Job {
        Job::pi(name)
            .with_mpi(self.tag, self.implementation)
            .launcher_env("PI_PRINT_ENV", self.marker)
            .annotate("rust-mpi.coxswain.dev/forward-env", &format!("{} PI_PRINT_ENV", self.marker))
    }

    /// The job ended well, was rendered by this plugin, and both ranks are on workers and know the marker.
    async fn ran(&self, space: &Space, job: &Job, digest: &str) -> Result<()> {
        let name = job.name();
        space.create(job).await?;
        space.succeeds(name).await?;
        space.ran_on_workers(name, 2).await?;
        space.launcher_started_once(name).await?;
        let said = space.hears(name, "PluginsPinned").await?;
        ensure!(
            said.message.contains(self.plugin) && said.message.contains(digest),
            "{name} is to be pinned to {} {digest}: {}",
            self.plugin,
            said.message
        );
        let output = space.output(name).await?;
        let told = format!(" env {}={} ", self.marker, self.plugin);
        let ranks = output.lines().filter(|line| line.contains(&told)).count();
        ensure!(ranks == 2, "{name}: both ranks have {}:\n{output}", self.marker);
        Ok(())
    }
}

/// From the ConfigMap to the end of three jobs: one that was there before it, one with a command of its own, one whose
/// command the plugin renders.
async fn serves(flavour: Flavour) -> Result<()> {
    let space = Space::new(flavour.plugin).await?;
    space.create(&flavour.job("early")).await?;
    let told = space.condition("early", "Accepted", "False").await?;
    ensure!(told.contains(flavour.implementation), "nobody serves it yet: {told}");
    let digest = flavour.deploy().await?;

    space.succeeds("early").await?;
    space.ran_on_workers("early", 2).await?;
    flavour.ran(&space, &flavour.job("own"), &digest).await?;
    let container = "/spec/mpiReplicaSpecs/Launcher/template/spec/containers/0";
    let rendered = flavour
        .job("rendered")
        .annotate("coxswain.dev/launch-command", "render")
        .set(&format!("{container}/command"), json!([]))
        .set(&format!("{container}/args"), json!(["/home/mpiuser/pi", "1000000"]));
    flavour.ran(&space, &rendered, &digest).await?;

    run("kubectl", &["-n", NAMESPACE, "delete", "configmap", flavour.plugin]).await?;
    space.remove().await
}

#[tokio::test]
async fn a_flavour_in_rust_is_brought_by_a_config_map_and_selected_by_its_name() -> Result<()> {
    serves(IN_RUST).await
}

#[tokio::test]
async fn a_flavour_in_c_is_brought_by_a_config_map_and_selected_by_its_name() -> Result<()> {
    serves(IN_C).await
}
