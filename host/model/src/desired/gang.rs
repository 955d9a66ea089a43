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
    /// `--gang-scheduling=native-by-job`: the same for jobs that ask for it.
    NativeByJob,
    /// Any other value: scheduler-plugins under that scheduler name.
    SchedulerPlugins(String),
}

impl Gang {
    /// Kubernetes' own scheduler places gangs, of all jobs or of some.
    pub fn is_native(&self) -> bool {
        matches!(self, Self::Native | Self::NativeByJob)
    }
}
