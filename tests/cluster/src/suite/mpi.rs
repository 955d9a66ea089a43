//! Every implementation of MPI over real ssh: plain `command: [mpirun]`, no entry point that waits for anything.
//!
//! In five runs each (two in the short form), no launcher may start twice and every rank must be on its worker.

use std::collections::BTreeSet;

use crate::{Job, Space, is_long};
use anyhow::{Result, ensure};
use serde_json::json;

/// An image's tag and the name in `spec.mpiImplementation`.
#[derive(Clone, Copy)]
struct Mpi {
    tag: &'static str,
    name: &'static str,
}

const OPENMPI4: Mpi = Mpi { tag: "openmpi4", name: "OpenMPI" };
const OPENMPI5: Mpi = Mpi { tag: "openmpi5", name: "OpenMPI" };
const INTEL: Mpi = Mpi { tag: "intel", name: "Intel" };
const MPICH: Mpi = Mpi { tag: "mpich", name: "MPICH" };

/// Under new names, so that each asks DNS for names that nobody has asked for before.
async fn runs(mpi: Mpi) -> Result<()> {
    let space = Space::new(mpi.tag).await?;
    for turn in 0..if is_long() { 5 } else { 2 } {
        let name = format!("pi-{turn}");
        space.create(&Job::pi(&name).with_mpi(mpi.tag, mpi.name)).await?;
        space.succeeds(&name).await?;
        space.launcher_started_once(&name).await?;
        space.ran_on_workers(&name, 2).await?;
    }
    environment(&space, mpi).await?;
    checks_host_keys(&space, mpi).await?;
    ranks_of_the_launcher(&space, mpi).await?;
    as_root(&space, mpi).await?;
    space.remove().await
}

/// A variable of the launcher is there in both ranks, which sshd started. Open MPI has to be told.
async fn environment(space: &Space, mpi: Mpi) -> Result<()> {
    let job = Job::pi("environment")
        .with_mpi(mpi.tag, mpi.name)
        .annotate("openmpi.coxswain.dev/forward-env", "SOLVER_MODE PI_PRINT_ENV")
        .launcher_env("SOLVER_MODE", "fast, exact")
        .launcher_env("PI_PRINT_ENV", "SOLVER_MODE");
    space.create(&job).await?;
    space.succeeds("environment").await?;
    let output = space.output("environment").await?;
    let values: Vec<&str> =
        output.lines().filter_map(|line| Some(line.split_once(" env SOLVER_MODE=")?.1)).collect();
    ensure!(values == ["fast, exact"; 2], "{}: both ranks have the variable:\n{output}", mpi.tag);
    space.ran_on_workers("environment", 2).await
}

/// The arguments of ssh reach it word by word, and the job's key is the workers' host key.
async fn checks_host_keys(space: &Space, mpi: Mpi) -> Result<()> {
    let job = Job::pi("checked").with_mpi(mpi.tag, mpi.name).annotate("coxswain.dev/ssh-host-keys", "job");
    space.create(&job).await?;
    space.succeeds("checked").await?;
    space.launcher_started_once("checked").await?;
    space.ran_on_workers("checked", 2).await
}

async fn ranks_of_the_launcher(space: &Space, mpi: Mpi) -> Result<()> {
    let ranks = json!(["mpirun", "-n", "3", "/home/mpiuser/pi", "1000000"]);
    let job = Job::pi("both").with_mpi(mpi.tag, mpi.name).set("/spec/runLauncherAsWorker", true);
    space.create(&job.set(&command("Launcher"), ranks)).await?;
    space.succeeds("both").await?;
    space.launcher_started_once("both").await?;
    let hosts = ["both-launcher", "both-worker-0", "both-worker-1"];
    space.ran_on("both", BTreeSet::from(hosts.map(str::to_owned))).await
}

/// With the key where root's ssh looks for it by default, and sshd's own configuration.
async fn as_root(space: &Space, mpi: Mpi) -> Result<()> {
    let root = json!({ "runAsUser": 0 });
    let context = |role| format!("/spec/mpiReplicaSpecs/{role}/template/spec/containers/0/securityContext");
    let mut job = Job::pi("root")
        .with_mpi(mpi.tag, mpi.name)
        .set("/spec/sshAuthMountPath", "/root/.ssh")
        .set(&context("Launcher"), root.clone())
        .set(&context("Worker"), root)
        .set(&command("Worker"), json!(["/usr/sbin/sshd", "-De"]));
    if mpi.name == "OpenMPI" {
        // Open MPI refuses root unless it is told twice; 5 reads its runtime's names.
        for name in ["OMPI_ALLOW_RUN_AS_ROOT", "PRTE_ALLOW_RUN_AS_ROOT"] {
            job = job.launcher_env(name, "1").launcher_env(&format!("{name}_CONFIRM"), "1");
        }
    }
    space.create(&job).await?;
    space.succeeds("root").await?;
    space.launcher_started_once("root").await?;
    space.ran_on_workers("root", 2).await
}

fn command(role: &str) -> String {
    format!("/spec/mpiReplicaSpecs/{role}/template/spec/containers/0/command")
}

#[tokio::test]
async fn open_mpi_4_runs_five_times_without_a_restart_also_in_the_launcher_and_as_root() -> Result<()> {
    runs(OPENMPI4).await
}

#[tokio::test]
async fn open_mpi_5_runs_five_times_without_a_restart_also_in_the_launcher_and_as_root() -> Result<()> {
    runs(OPENMPI5).await
}

#[tokio::test]
async fn intel_mpi_runs_five_times_without_a_restart_also_in_the_launcher_and_as_root() -> Result<()> {
    runs(INTEL).await
}

#[tokio::test]
async fn mpich_runs_five_times_without_a_restart_also_in_the_launcher_and_as_root() -> Result<()> {
    runs(MPICH).await
}
