//! The operator as a process: started, led to leadership, weighed, ended.

use std::{
    fs::{self, File},
    process::{Child, Command, Stdio},
    time::Duration,
};

use anyhow::{Context as _, Result, bail};
use http::Method;
use serde::Serialize;

use crate::{
    api::JSON,
    audit::now,
    setting::{OPERATOR_NAMESPACE, Setting},
};

/// Longest that a start may take on a busy machine.
const START: Duration = Duration::from_mins(2);

/// The operator under test, ended when this is dropped.
pub struct Operator {
    child: Child,
}

/// What a process has used.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Used {
    /// Seconds of computing.
    pub cpu: f64,
    /// Resident memory now, in MB (10⁶ bytes).
    pub resident: f64,
    /// The most there was.
    pub peak: f64,
}

impl Operator {
    /// Starts it with its default flags and waits until it leads. The lease is removed before, as after a clean end.
    /// Returns also when it got the lease.
    pub async fn start(setting: &Setting) -> Result<(Self, f64)> {
        Self::start_with(setting, &[]).await
    }

    /// The same with further flags.
    pub async fn start_with(setting: &Setting, flags: &[&str]) -> Result<(Self, f64)> {
        let lease = format!(
            "/apis/coordination.k8s.io/v1/namespaces/{OPERATOR_NAMESPACE}/leases/{OPERATOR_NAMESPACE}"
        );
        setting.admin.ask(Method::DELETE, &lease, JSON, String::new()).await?;
        let log = setting.out.join("operator.log");
        let log =
            File::options().create(true).append(true).open(&log).context("opening the operator's log")?;
        let begin = now();
        let child = Command::new(&setting.operator)
            .arg("--kubeConfig")
            .arg(&setting.kubeconfig)
            .arg("--plugin-dir")
            .arg(&setting.plugins)
            .args(["--lock-namespace", OPERATOR_NAMESPACE, "--health-port", "0"])
            .args(flags)
            .env_remove("KUBECONFIG")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .with_context(|| format!("starting {}", setting.operator.display()))?;
        let mut operator = Self { child };
        let leads = setting.log.until(OPERATOR_NAMESPACE, START, "the operator leads", |requests| {
            let lease = requests.iter().rev().find(|r| {
                r.ours() && &*r.kind == "leases" && r.writes() && r.code < 300 && r.received > begin
            });
            lease.map(|request| request.answered)
        });
        let leads = leads.await;
        if let Some(status) = operator.child.try_wait()? {
            bail!("the operator has ended ({status}); see operator.log in {}", setting.out.display());
        }
        Ok((operator, leads?))
    }

    /// What it has used so far.
    pub fn used(&self) -> Result<Used> {
        used(self.child.id())
    }

    /// Ends it at once, as a crash does.
    pub fn kill(mut self) -> Result<()> {
        self.child.kill().context("ending the operator")?;
        self.child.wait().context("waiting for the operator's end")?;
        Ok(())
    }
}

impl Drop for Operator {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Linux counts in hundredths of a second.
const TICKS: f64 = 100.0;

fn used(process: u32) -> Result<Used> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).context("the operator has ended")?;
    // The name, in parentheses, may hold blanks; user and system time are the 14th and 15th fields.
    let fields = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
    let ticks = fields.split_whitespace().skip(11).take(2).filter_map(|field| field.parse::<f64>().ok());
    let cpu = ticks.sum::<f64>() / TICKS;
    let status = fs::read_to_string(format!("/proc/{process}/status")).context("the operator has ended")?;
    let kilobytes = |key: &str| {
        let line = status.lines().find(|line| line.starts_with(key))?;
        line.split_whitespace().nth(1)?.parse::<f64>().ok()
    };
    let megabytes = |key| kilobytes(key).unwrap_or_default() * 1.024e-3;
    Ok(Used { cpu, resident: megabytes("VmRSS:"), peak: megabytes("VmHWM:") })
}
