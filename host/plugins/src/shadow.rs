//! What a candidate would change: every live job that the plugin renders is rendered again with the candidate in its place.
//! Jobs keep their pins, so a difference is information; a candidate that fails where today's succeeds is refused.

use std::fmt;

use coxswain_model::policy::{self, ClusterPolicy, Granted, compare::differences};
use coxswain_sandbox::Chain;

use crate::jobs::ObservedJob;
use coxswain_cluster::key::JobKey;

/// Jobs that are named.
const NAMED: usize = 10;
/// Lines for each.
const LINES: usize = 3;
/// So many failures are enough: each may cost a whole budget.
pub const ENOUGH: usize = 10;

/// What came of it.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Shadow {
    /// Jobs that would be rendered as they are.
    same: usize,
    /// Jobs that would be rendered otherwise.
    changed: usize,
    /// Jobs that could not be rendered any more.
    failed: usize,
    /// The first of the changed and the failed: job and what is different.
    named: Vec<(String, String)>,
}

/// One job, rendered twice.
#[derive(Debug, PartialEq, Eq)]
pub enum Compared {
    /// The same, or today's plugin cannot render it either.
    Same,
    /// In what.
    Changed(Vec<String>),
    /// Why.
    Failed(String),
}

/// Renders a job by both chains. Takes some hundred microseconds, or as long as a budget lasts.
pub fn compare(observed: &ObservedJob, old: &Chain, new: &Chain, policy: &ClusterPolicy) -> Compared {
    let Ok(old) = granted(observed, old, policy) else { return Compared::Same };
    match granted(observed, new, policy) {
        Err(why) => Compared::Failed(why),
        Ok(new) => {
            let lines = differences(&old, &new);
            if lines.is_empty() { Compared::Same } else { Compared::Changed(lines) }
        }
    }
}

fn granted(observed: &ObservedJob, chain: &Chain, policy: &ClusterPolicy) -> Result<Granted, String> {
    let plan = chain.plan(&observed.view, &[]).map_err(|fault| fault.to_string())?;
    policy::grant(&observed.job, &plan, &chain.descriptors(), policy).map_err(|violations| {
        violations.iter().map(|v| format!("{}: {}", v.path, v.text)).collect::<Vec<_>>().join("; ")
    })
}

impl Shadow {
    /// Counts one job.
    pub fn add(&mut self, job: &JobKey, compared: Compared) {
        let words = match compared {
            Compared::Same => {
                self.same += 1;
                return;
            }
            Compared::Changed(lines) => {
                self.changed += 1;
                let more = lines.len().saturating_sub(LINES);
                let shown = lines.into_iter().take(LINES).collect::<Vec<_>>().join(", ");
                if more > 0 { format!("{shown} and {more} more") } else { shown }
            }
            Compared::Failed(why) => {
                self.failed += 1;
                why
            }
        };
        if self.named.len() < NAMED {
            self.named.push((job.to_string(), words));
        }
    }

    /// Nothing more can come of it.
    pub fn is_settled(&self) -> bool {
        self.failed >= ENOUGH
    }

    /// Some job could not be rendered any more.
    pub fn fails(&self) -> bool {
        self.failed > 0
    }

    /// Some job would be rendered otherwise.
    pub fn changes(&self) -> bool {
        self.changed > 0
    }

    /// There is nothing to report.
    pub fn is_empty(&self) -> bool {
        self.same + self.changed + self.failed == 0
    }
}

impl fmt::Display for Shadow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let jobs = self.same + self.changed + self.failed;
        let at_least = if self.is_settled() { "at least " } else { "" };
        write!(
            f,
            "of {jobs} live jobs with it {} would be rendered the same, {} otherwise, {at_least}{} not at all",
            self.same, self.changed, self.failed
        )?;
        for (at, (job, words)) in self.named.iter().enumerate() {
            write!(f, "{}{job}: {words}", if at == 0 { ": " } else { "; " })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jobs_are_counted_and_the_first_that_differ_are_named() {
        let mut shadow = Shadow::default();
        for n in 0..30 {
            shadow.add(&JobKey::new("team-a", &format!("same-{n}")), Compared::Same);
        }
        let lines = (0..5).map(|n| format!("worker env V{n}: \"1\" becomes \"2\"")).collect();
        shadow.add(&JobKey::new("team-a", "pi"), Compared::Changed(lines));

        assert!(shadow.changes() && !shadow.fails());
        assert_eq!(
            shadow.to_string(),
            "of 31 live jobs with it 30 would be rendered the same, 1 otherwise, 0 not at all: team-a/pi: worker env \
             V0: \"1\" becomes \"2\", worker env V1: \"1\" becomes \"2\", worker env V2: \"1\" becomes \"2\" and 2 more"
        );
    }

    #[test]
    fn ten_failures_are_enough() {
        let mut shadow = Shadow::default();
        for n in 0..ENOUGH {
            assert!(!shadow.is_settled());
            shadow.add(&JobKey::new("team-a", &format!("pi-{n}")), Compared::Failed("it trapped".into()));
        }

        assert!(shadow.is_settled());
        assert!(shadow.to_string().contains("at least 10 not at all: team-a/pi-0: it trapped; "));
    }
}
