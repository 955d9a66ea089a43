//! What the administrator says of plugins.

/// What the cluster's administrator allows beyond the fixed rules.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClusterPolicy {
    /// Plugins that may put words before the user's command.
    pub prefix_command: Vec<String>,
    /// Capabilities that are granted to every job (a job annotation may allow more).
    pub capabilities: Vec<String>,
    /// Variables that plugins may set although they are withheld by default (`PATH`, `LD_*`, proxies, …), by full
    /// name. The plugin must declare them, too.
    pub env: Vec<String>,
}
