//! One role of a kind.

use super::restart_policy::RestartPolicy;

/// What the pods of one group are for, and what holds of them in every job of the kind.
#[derive(Debug, PartialEq, Eq)]
pub struct Role {
    /// Its own, in its kind.
    pub id: RoleId,
    /// Key of the role in a job's replica specs and in `replicaStatuses`.
    pub key: &'static str,
    /// Its name in labels, in names of pods and to plugins.
    pub name: &'static str,
    /// How many pods there may be.
    pub replicas: Replicas,
    /// How many there are if a job says nothing; refused if there may not be as many.
    pub default_replicas: i32,
    /// What becomes of them when they have ended, if a job says nothing.
    pub default_restart: RestartPolicy,
}

/// How the pods of a group come about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunBy {
    /// The operator makes a batch Job of one pod, and Kubernetes runs and retries that pod.
    Job,
    /// The operator makes every pod itself, each under a name with its index.
    Pods,
}

/// How many pods a group may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Replicas {
    /// No other number.
    Exactly(i32),
    /// Or more.
    AtLeast(i32),
}

impl Replicas {
    /// What is wrong with so many.
    pub fn violation(self, count: i32) -> Option<String> {
        match self {
            Self::Exactly(n) => (count != n).then(|| format!("must be {n}")),
            Self::AtLeast(n) => (count < n).then(|| format!("must be greater than or equal to {n}")),
        }
    }
}

/// Which role of a kind, and how its pods come about. One byte, as the row of every pod has one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RoleId(u8);

/// The bit of a role that is run by a batch Job; those come after the others.
const JOB: u8 = 1 << 7;

impl RoleId {
    /// Of the role at `place` among those of its kind, at most 127. The driver is at 0.
    pub(super) const fn new(place: u8, run_by: RunBy) -> Self {
        match run_by {
            RunBy::Job => Self(place | JOB),
            RunBy::Pods => Self(place & !JOB),
        }
    }

    /// It decides how a job ends.
    pub fn is_driver(self) -> bool {
        self.0 & !JOB == 0
    }

    /// How its pods come about.
    pub fn run_by(self) -> RunBy {
        if self.0 & JOB == 0 { RunBy::Pods } else { RunBy::Job }
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn a_role_knows_whether_it_is_the_driver_and_how_it_is_run() {
        for run_by in [RunBy::Job, RunBy::Pods] {
            for place in [0, 1, 127] {
                let id = RoleId::new(place, run_by);

                assert_eq!((id.is_driver(), id.run_by()), (place == 0, run_by));
            }
        }
        assert_eq!(size_of::<RoleId>(), 1);
    }

    #[test]
    fn a_count_out_of_bounds_is_told_what_would_be_right() {
        let one = Replicas::Exactly(1);
        let any = Replicas::AtLeast(1);

        assert_eq!([0, 1, 2].map(|n| one.violation(n).is_some()), [true, false, true]);
        assert_eq!(one.violation(2).as_deref(), Some("must be 1"));
        assert_eq!([-1, 0, 1].map(|n| any.violation(n).is_some()), [true, true, false]);
        assert_eq!(any.violation(0).as_deref(), Some("must be greater than or equal to 1"));
    }
}
