//! The processes of pods as the node sees them, for whoever runs inside the bed.

use std::fs;

use anyhow::{Context as _, Result, bail, ensure};
use kube::ResourceExt as _;

use crate::{objects::Object, tool::run_in_shell};

/// The process of the operator in one of its pods.
#[derive(Clone, Debug)]
pub struct Process(u32);

impl Process {
    /// Of this pod, whose cgroup carries its uid. A compiler's process is in there too, with other arguments.
    pub fn of_operator(pod: &Object) -> Result<Self> {
        let uid = pod.uid().context("a pod without a uid")?;
        for entry in fs::read_dir("/proc").context("listing processes")? {
            let Ok(id) = entry?.file_name().to_string_lossy().parse::<u32>() else { continue };
            let words = |file: &str| fs::read_to_string(format!("/proc/{id}/{file}")).unwrap_or_default();
            let leads = words("cmdline").split('\0').any(|word| word.starts_with("--lock-namespace"));
            if leads && words("cgroup").contains(&uid) {
                return Ok(Self(id));
            }
        }
        bail!("no process of the operator's pod {} runs here", pod.name_any())
    }

    /// Ends it at once, as a crash does.
    pub async fn kill(&self) -> Result<()> {
        run_in_shell(&format!("kill -KILL {}", self.0)).await.map(drop)
    }

    /// The most memory that its container has had at a time, by the kernel's count, in bytes.
    pub fn peak_memory(&self) -> Result<u64> {
        let path = format!("/proc/{}/cgroup", self.0);
        let groups = fs::read_to_string(&path).with_context(|| format!("reading {path}"))?;
        let mut lines = groups.lines().filter_map(|line| line.split_once(':')?.1.split_once(':'));
        let file = lines.find_map(|(controllers, group)| match controllers {
            // Version 2, then version 1, of which a machine may have both: then the memory is with version 1.
            "" if !groups.contains(":memory:") => Some(format!("/sys/fs/cgroup{group}/memory.peak")),
            "memory" => Some(format!("/sys/fs/cgroup/memory{group}/memory.max_usage_in_bytes")),
            _ => None,
        });
        let file = file.with_context(|| format!("no memory cgroup in {groups}"))?;
        let peak = fs::read_to_string(&file).with_context(|| format!("reading {file}"))?;
        let peak = peak.trim().parse().with_context(|| format!("reading {file}"))?;
        ensure!(peak > 0, "{file} counts nothing");
        Ok(peak)
    }
}
