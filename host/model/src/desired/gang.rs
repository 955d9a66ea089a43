//! Which scheduler places a job's pods together.

/// How the operator was told to schedule gangs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Gang {
    /// Not at all.
    #[default]
    Off,
    /// `--gang-scheduling=volcano`.
    Volcano,
    /// `--gang-scheduling=native`: Kubernetes' own scheduler, since 1.37.
    Native,
    /// Any other value: scheduler-plugins under that scheduler name.
    SchedulerPlugins(String),
}
