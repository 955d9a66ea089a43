//! `spec.runPolicy`, apart from what queues and gangs read.

use super::violation::FieldError;
use crate::api::mpijob::RunPolicy;

/// Which pods are removed when a job ends or is suspended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CleanPodPolicy {
    /// None: workers keep running.
    None,
    /// Those that are Running or Pending.
    Running,
    /// All.
    All,
}

/// What is copied to the launcher Job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Limits {
    pub ttl: Option<u32>,
    pub active_deadline: Option<u64>,
    pub backoff: Option<u32>,
}

impl Limits {
    pub fn parse(policy: &RunPolicy, errors: &mut Vec<FieldError>) -> Self {
        let ttl = policy.ttl_seconds_after_finished.map(i64::from);
        let backoff = policy.backoff_limit.map(i64::from);
        let path = |field: &str| format!("spec.runPolicy.{field}");
        Self {
            ttl: ttl.and_then(|n| natural(&path("ttlSecondsAfterFinished"), n, errors)),
            active_deadline: policy
                .active_deadline_seconds
                .and_then(|n| natural(&path("activeDeadlineSeconds"), n, errors)),
            backoff: backoff.and_then(|n| natural(&path("backoffLimit"), n, errors)),
        }
    }
}

impl CleanPodPolicy {
    pub(super) fn parse(policy: &RunPolicy, errors: &mut Vec<FieldError>) -> Option<Self> {
        match policy.clean_pod_policy.as_deref() {
            None | Some("None") => Some(CleanPodPolicy::None),
            Some("Running") => Some(CleanPodPolicy::Running),
            Some("All") => Some(CleanPodPolicy::All),
            Some(other) => {
                let path = "spec.runPolicy.cleanPodPolicy";
                errors.push(FieldError::not_supported(path, other, ["All", "None", "Running"]));
                None
            }
        }
    }
}

/// A number that may not be negative.
pub(super) fn natural<N: TryFrom<i64>>(path: &str, value: i64, errors: &mut Vec<FieldError>) -> Option<N> {
    let fits = N::try_from(value).ok();
    if fits.is_none() {
        errors.push(FieldError::invalid_number(path, value, "must be greater than or equal to 0"));
    }
    fits
}
