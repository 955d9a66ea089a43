//! Names of what runs: pods of groups, and the launcher.

use std::fmt;

use super::label::{InvalidLabel, label_violations};
use crate::object::{Kind, ObjectName};

/// What a launcher Job's name has after the job's.
const LAUNCHER: &str = "-launcher";

/// A pod of the job has this name for its host: a DNS label.
pub trait HostName: AsRef<str> {}

/// Name of a pod that the operator makes itself, and of its host.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PodName(String);

/// Name of the launcher's Job, and of its pod's host.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LauncherName(String);

impl PodName {
    /// `<job>-<role>-<index>`, or every reason why that is no host's name. What holds of one index holds of all below it,
    /// and that of a worker also of the launcher's name.
    pub fn new(job: &str, role: &str, index: u32) -> Result<Self, InvalidName> {
        let name = Self::of_job(job, role, index);
        let violations = label_violations(&name.0);
        if violations.is_empty() { Ok(name) } else { Err(InvalidName { name: name.0, violations }) }
    }

    /// Of a job whose last pod of the role has such a name.
    pub(super) fn of_job(job: &str, role: &str, index: u32) -> Self {
        Self(format!("{job}-{role}-{index}"))
    }

    /// The index of the pod of that name, 3 of `pi-worker-3`; nothing if that is not how the pod of that index is called.
    pub fn index(name: &str, job: &str, role: &str) -> Option<u32> {
        let digits = name.strip_prefix(job)?.strip_prefix('-')?.strip_prefix(role)?.strip_prefix('-')?;
        let index: u32 = digits.parse().ok()?;
        (index.to_string() == digits).then_some(index)
    }
}

impl LauncherName {
    /// Of a job whose last worker has a name.
    pub(super) fn of_job(job: &str) -> Self {
        Self(format!("{job}{LAUNCHER}"))
    }
}

/// A host cannot have this name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidName {
    /// What it would be.
    pub name: String,
    /// In the API machinery's order.
    pub violations: Vec<InvalidLabel>,
}

impl fmt::Display for InvalidName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let reasons: Vec<String> = self.violations.iter().map(ToString::to_string).collect();
        write!(f, "invalid DNS label {:?}: {}", self.name, reasons.join(", "))
    }
}

/// The job of which this is the name of the launcher Job.
pub fn job_of_launcher(name: &str) -> Option<&str> {
    name.strip_suffix(LAUNCHER)
}

/// This is the name of that job's launcher Job.
pub fn is_launcher(name: &str, job: &str) -> bool {
    job_of_launcher(name) == Some(job)
}

impl HostName for PodName {}

impl HostName for LauncherName {}

impl AsRef<str> for PodName {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl AsRef<str> for LauncherName {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for PodName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for LauncherName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<PodName> for ObjectName {
    fn from(name: PodName) -> Self {
        Self { kind: Kind::Pod, name: name.0 }
    }
}

impl From<LauncherName> for ObjectName {
    fn from(name: LauncherName) -> Self {
        Self { kind: Kind::Job, name: name.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_workers_name_is_a_dns_label_or_none() {
        assert_eq!(
            PodName::new("pi", "worker", 12).map(|name| name.to_string()),
            Ok("pi-worker-12".to_owned())
        );
        let too_long = PodName::new(&"a".repeat(55), "worker", 0).unwrap_err();
        assert_eq!(too_long.violations, [InvalidLabel::TooLong]);
        assert_eq!(
            PodName::new("1pi", "worker", 0).unwrap_err().to_string().split(": ").next(),
            Some("invalid DNS label \"1pi-worker-0\"")
        );
    }

    #[test]
    fn what_holds_of_a_workers_name_holds_of_the_launchers() {
        for length in 50..60 {
            let job = "a".repeat(length);
            let launcher = LauncherName::of_job(&job);

            assert_eq!(
                PodName::new(&job, "worker", 0).is_ok(),
                label_violations(launcher.as_ref()).is_empty()
            );
        }
    }

    #[test]
    fn a_worker_is_a_pod_and_a_launcher_a_job() {
        let names = |kind: Kind, name: &str| ObjectName { kind, name: name.to_owned() };

        assert_eq!(ObjectName::from(PodName::of_job("pi", "worker", 3)), names(Kind::Pod, "pi-worker-3"));
        assert_eq!(ObjectName::from(LauncherName::of_job("pi")), names(Kind::Job, "pi-launcher"));
        assert!(is_launcher("pi-launcher", "pi") && !is_launcher("pi-launcher", "p"));
    }
}
