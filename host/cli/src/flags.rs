//! Command-line flags: those of the MPI Operator under their names and defaults, and ours.
//!
//! In: words as Go's `flag` package takes them (`-x` and `--x` are one, `-x=v` and `-x v` likewise). Out:
//! [`Flags`], or a message and exit code 2.

use std::{fs, path::PathBuf};

use anyhow::Context;
use clap::{
    ArgAction, CommandFactory, Parser, ValueEnum,
    builder::{PossibleValue, PossibleValuesParser, TypedValueParser},
    error::ErrorKind,
};
use coxswain_model::{api::capabilities, desired::Gang, job::LostWorker, policy::ClusterPolicy};
use coxswain_operator::options::Options;

use coxswain_cluster::{client::ApiServer, rate::Rate};
use coxswain_plugins::{Rules, Signatures, Trust};

/// How log lines look.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// For people.
    Text,
    /// For collectors.
    Json,
}

/// Heading of the flags that the MPI Operator does not have.
pub(crate) const OURS: &str = "Coxswain's own";

/// Everything that can be set when the operator starts.
#[derive(Clone, Debug, Parser)]
#[command(name = "coxswain", about = "A Kubernetes operator for MPI jobs", disable_version_flag = true)]
#[command(args_override_self = true)]
pub struct Flags {
    /// URL of the API server, in place of the kubeconfig's.
    #[arg(long, value_name = "URL", default_value = "")]
    pub master: String,
    /// Path of a kubeconfig; the variable `KUBECONFIG` goes before it. Without either: the pod's `ServiceAccount`.
    #[arg(long = "kubeConfig", value_name = "PATH", default_value = "")]
    pub kubeconfig: String,
    /// Look at this namespace only. Unset: all.
    #[arg(long, env = "KUBEFLOW_NAMESPACE", default_value = "")]
    pub namespace: String,
    /// Jobs that are worked on at once; of four or more, one namespace gets three quarters at most. Unset: 64.
    #[arg(long)]
    pub threadiness: Option<usize>,
    /// Print the version and exit.
    #[arg(long, num_args = 0..=1, require_equals = true, default_value_t = false, default_missing_value = "true")]
    #[arg(action = ArgAction::Set)]
    pub version: bool,
    /// Port of `/metrics`; 0 for none. The manifests set 9090.
    #[arg(long, default_value_t = 0)]
    pub monitoring_port: u16,
    /// Port of `/healthz` and `/readyz`; 0 for none.
    #[arg(long, help_heading = OURS, default_value_t = 8080)]
    pub health_port: u16,
    /// Gang scheduling: `native` (Kubernetes' own scheduler, 1.37), `native-by-job` (for jobs that ask), `volcano`, or the name of a scheduler with the Coscheduling
    /// plugin.
    #[arg(long, default_value = "")]
    pub gang_scheduling: String,
    /// Namespace of the lease, which is called `mpi-operator`.
    #[arg(long, default_value = "mpi-operator")]
    pub lock_namespace: String,
    /// Upper bound on requests a second. Unset: as many as the API server takes.
    #[arg(long = "kube-api-qps", value_name = "N")]
    pub kube_api_qps: Option<f64>,
    /// Upper bound on requests at once after a rest, with `--kube-api-qps`.
    #[arg(long = "kube-api-burst", value_name = "N")]
    pub kube_api_burst: Option<u32>,
    /// Upper bound on reconciles a second. Unset: none.
    #[arg(long, value_name = "N")]
    pub controller_queue_rate_limit: Option<f64>,
    /// Upper bound on reconciles at once after a rest, with `--controller-queue-rate-limit`.
    #[arg(long, value_name = "N")]
    pub controller_queue_burst: Option<u32>,
    /// Suffix of host names, such as `cluster.local`.
    #[arg(long, default_value = "")]
    pub cluster_domain: String,

    /// Namespace of the plugins' `ConfigMap`s. Unset: the operator's own (`$POD_NAMESPACE`). The operator needs the
    /// rights of the Role `mpi-operator-own-namespace` there.
    #[arg(long, help_heading = OURS, value_name = "NAMESPACE")]
    pub plugin_namespace: Option<String>,
    /// Directory of the plugins that serve where no `ConfigMap` of their name has been healthy.
    #[arg(long, help_heading = OURS, value_name = "DIR", default_value = "/plugins")]
    pub plugin_dir: PathBuf,
    /// Tuner plugins for every job, in order, comma-separated.
    #[arg(long, help_heading = OURS, value_name = "NAMES", value_delimiter = ',')]
    pub tuners: Vec<String>,
    /// Capabilities that plugins get for every job if they ask for them, comma-separated: memory at `/dev/shm`, the right to
    /// lock it.
    #[arg(long, help_heading = OURS, value_name = "KINDS", value_delimiter = ',')]
    #[arg(value_parser = [capabilities::CAPABILITY_SHARED_MEMORY, capabilities::CAPABILITY_LOCK_MEMORY])]
    pub allow_capabilities: Vec<String>,
    /// What `--allow-capabilities` was called before; read for one more release, where that one is absent.
    #[arg(long, hide = true, value_name = "KINDS", value_delimiter = ',')]
    #[arg(value_parser = [capabilities::CAPABILITY_SHARED_MEMORY, capabilities::CAPABILITY_LOCK_MEMORY])]
    pub allow_wants: Vec<String>,
    /// Whether a job has failed whose launcher exits 0 although a worker was lost while it ran: if it ended soon after, in
    /// any case, or never.
    #[arg(long, help_heading = OURS, value_name = "WHEN", default_value = "auto", value_parser = ["auto", "fail", "ignore"])]
    pub lost_worker: String,
    /// Whether a trusted key must have signed a plugin's component before it serves. The image's components need no
    /// signature.
    #[arg(long, help_heading = OURS, value_name = "WHETHER", default_value = "off", value_parser = signatures())]
    pub plugin_signatures: Signatures,
    /// File of the ed25519 public keys (PEM) that are trusted to sign plugins.
    #[arg(long, help_heading = OURS, value_name = "FILE")]
    pub plugin_keys: Option<PathBuf>,
    /// Form of the log's lines.
    #[arg(long, help_heading = OURS, value_enum, default_value_t = LogFormat::Text)]
    pub log_format: LogFormat,
    /// The operator's own namespace.
    #[arg(long, hide = true, env = "POD_NAMESPACE", default_value = "")]
    pub pod_namespace: String,

    /// Verbosity of the log, as klog has it: 4 and more is debug, 8 and more trace.
    #[arg(long = "v", value_name = "LEVEL", default_value_t = 0)]
    pub verbosity: u8,
}

/// Values of `--plugin-signatures`.
fn signatures() -> impl TypedValueParser<Value = Signatures> {
    let value = |of: Signatures| PossibleValue::new(of.name()).help(of.meaning());
    PossibleValuesParser::new(Signatures::ALL.map(value))
        .map(|name| Signatures::named(&name).unwrap_or_default())
}

/// klog's switches and settings that manifests may pass. The log goes to standard error in any case.
const IGNORED_SWITCHES: [&str; 7] = [
    "logtostderr",
    "alsologtostderr",
    "one_output",
    "skip_headers",
    "skip_log_headers",
    "add_dir_header",
    "legacy_stderr_threshold_behavior",
];
const IGNORED_SETTINGS: [&str; 6] =
    ["vmodule", "stderrthreshold", "log_dir", "log_file", "log_file_max_size", "log_backtrace_at"];

impl Flags {
    /// Reads the words after the program's name; prints help or a usage error and exits (0 or 2) where there is
    /// nothing to return.
    pub fn parse_or_exit(words: impl IntoIterator<Item = String>) -> Self {
        Self::read(words).unwrap_or_else(|error| error.exit())
    }

    /// Reads the words after the program's name.
    pub fn read(words: impl IntoIterator<Item = String>) -> Result<Self, clap::Error> {
        let words = std::iter::once("coxswain".to_owned()).chain(normalized(words));
        let flags = Self::try_parse_from(words)?;
        let bad = |message: &str| Err(Self::command().error(ErrorKind::ValueValidation, message));
        if flags.kube_api_qps.is_some_and(|qps| !(qps > 0.0 && qps.is_finite())) {
            return bad("--kube-api-qps must be greater than 0; leave it out for no bound");
        }
        if flags.controller_queue_rate_limit.is_some_and(|rate| !(rate > 0.0 && rate.is_finite())) {
            return bad("--controller-queue-rate-limit must be greater than 0; leave it out for no bound");
        }
        if flags.threadiness == Some(0) {
            return bad("--threadiness must be at least 1; leave it out for 64");
        }
        Ok(flags)
    }

    /// What they mean. Reads the file of `--plugin-keys`.
    pub fn options(&self) -> anyhow::Result<Options> {
        let keys = self.plugin_keys.as_deref().map(|file| {
            fs::read_to_string(file).with_context(|| format!("reading --plugin-keys {}", file.display()))
        });
        let domain = set(&self.cluster_domain);
        let api_server = ApiServer { kubeconfig: set(&self.kubeconfig), url: set(&self.master) };
        Ok(Options {
            api_server,
            namespace: set(&self.namespace),
            at_once: self.threadiness,
            api_rate: self.api_rate(),
            reconcile_rate: self.reconcile_rate(),
            monitoring_port: self.monitoring_port,
            health_port: self.health_port,
            gang: self.gang(),
            lock_namespace: self.lock_namespace.clone(),
            lost_worker: LostWorker::parse(&self.lost_worker).unwrap_or_default(),
            plugin_namespace: self.plugins().to_owned(),
            plugin_dir: self.plugin_dir.clone(),
            rules: Rules {
                tuners: self.tuners.clone(),
                cluster_domain: domain,
                policy: ClusterPolicy {
                    capabilities: either(&self.allow_capabilities, &self.allow_wants),
                    ..ClusterPolicy::default()
                },
                trust: Trust::new(self.plugin_signatures, keys.transpose()?.as_deref())?,
            },
        })
    }

    /// Flags that were given by the name of an earlier version, each with the name that it has now.
    pub fn renamed(&self) -> Vec<(&'static str, &'static str)> {
        let old = Some(("--allow-wants", "--allow-capabilities"));
        old.filter(|_| !self.allow_wants.is_empty()).into_iter().collect()
    }

    /// The bound on requests, if one is set; the MPI Operator's defaults fill in the other half.
    fn api_rate(&self) -> Option<Rate> {
        rate(self.kube_api_qps, self.kube_api_burst, Rate { qps: 5.0, burst: 10.0 })
    }

    /// The bound on reconciles, likewise.
    fn reconcile_rate(&self) -> Option<Rate> {
        let default = Rate { qps: 10.0, burst: 100.0 };
        rate(self.controller_queue_rate_limit, self.controller_queue_burst, default)
    }

    fn gang(&self) -> Gang {
        match self.gang_scheduling.as_str() {
            "" => Gang::Off,
            "volcano" => Gang::Volcano,
            "native" => Gang::Native,
            "native-by-job" => Gang::NativeByJob,
            scheduler => Gang::SchedulerPlugins(scheduler.to_owned()),
        }
    }

    /// Where the plugins' ConfigMaps are; outside a pod, beside the lease.
    fn plugins(&self) -> &str {
        let own = Some(self.pod_namespace.as_str()).filter(|namespace| !namespace.is_empty());
        self.plugin_namespace.as_deref().or(own).unwrap_or(&self.lock_namespace)
    }
}

/// The values of a flag, or else those that were given by its earlier name.
pub fn either(values: &[String], by_earlier_name: &[String]) -> Vec<String> {
    if values.is_empty() { by_earlier_name.to_vec() } else { values.to_vec() }
}

fn set(value: &str) -> Option<String> {
    Some(value.to_owned()).filter(|value| !value.is_empty())
}

fn rate(qps: Option<f64>, burst: Option<u32>, default: Rate) -> Option<Rate> {
    (qps.is_some() || burst.is_some())
        .then(|| Rate { qps: qps.unwrap_or(default.qps), burst: burst.map_or(default.burst, f64::from) })
}

/// Go's single dashes become double ones, and klog's flags vanish.
fn normalized(words: impl IntoIterator<Item = String>) -> Vec<String> {
    let mut words = words.into_iter();
    let mut kept = Vec::new();
    while let Some(word) = words.next() {
        let Some(flag) = word.strip_prefix("--").or_else(|| word.strip_prefix('-')).filter(|f| !f.is_empty())
        else {
            kept.push(word);
            continue;
        };
        let name = flag.split_once('=').map_or(flag, |(name, _)| name);
        if IGNORED_SETTINGS.contains(&name) {
            if name == flag {
                words.next();
            }
        } else if name == "h" {
            kept.push("--help".to_owned());
        } else if !IGNORED_SWITCHES.contains(&name) {
            kept.push(format!("--{flag}"));
        }
    }
    kept
}

/// The six lines of `--version`.
pub fn version() -> String {
    let or_unknown = |value: Option<&'static str>| value.unwrap_or("unknown");
    format!(
        "API Version: v2\nVersion: {}\nGit SHA: {}\nBuilt: {}\nGo Version: none (Rust {})\nGo OS/Arch: {}/{}\n",
        env!("CARGO_PKG_VERSION"),
        or_unknown(option_env!("COXSWAIN_GIT_SHA")),
        or_unknown(option_env!("COXSWAIN_BUILT")),
        env!("CARGO_PKG_RUST_VERSION"),
        std::env::consts::OS,
        std::env::consts::ARCH,
    )
}

#[cfg(test)]
mod tests;
