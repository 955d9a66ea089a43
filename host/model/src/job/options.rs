//! The job annotations that are ours: what each says, or why it cannot be read.

use std::{collections::BTreeMap, time::Duration};

use super::violation::FieldError;
use crate::{
    api::{annotations, capabilities, job_annotations::PREFIX, scheduling},
    names::{MAX_LABEL, subdomain_violation},
};

/// How long a launcher waits for its workers where the job says nothing: long enough for a node to be added
/// and an image of several GB to be pulled.
pub const DEFAULT_GATE_TIMEOUT: Duration = Duration::from_mins(10);

/// What becomes of a job whose launcher exits 0 although a worker was lost while it ran.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LostWorker {
    /// It has failed if the launcher ended soon after the loss; a launcher that went on without the worker succeeds.
    #[default]
    Auto,
    /// It has failed.
    Fail,
    /// It has succeeded.
    Ignore,
}

impl LostWorker {
    /// The value of annotation and flag.
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "auto" => Some(Self::Auto),
            "fail" => Some(Self::Fail),
            "ignore" => Some(Self::Ignore),
            _ => None,
        }
    }
}

/// Whether a job that may choose is a gang.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobGang {
    /// Of Kubernetes' own scheduler.
    Native,
    /// Its pods are placed one by one.
    Off,
}

impl JobGang {
    fn parse(text: &str) -> Option<Self> {
        match text {
            "native" => Some(Self::Native),
            "none" => Some(Self::Off),
            _ => None,
        }
    }
}

/// Everything that a job's annotations say to us.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobOptions {
    /// The launcher waits for its workers.
    pub start_gate: bool,
    /// And for how long at most.
    pub start_gate_timeout: Duration,
    /// Ready workers at which an elastic job may start.
    pub start_min_workers: Option<u32>,
    /// Port for a TCP readiness probe on the workers.
    pub ssh_probe: Option<u16>,
    /// ssh accepts the job's own key as host key and no other.
    pub checks_host_keys: bool,
    /// The plugin renders the launcher's command.
    pub renders_command: bool,
    /// What a lost worker means for the result; nothing where the cluster decides.
    pub lost_worker: Option<LostWorker>,
    /// Whether the job is a gang; nothing where the cluster decides.
    pub gang: Option<JobGang>,
    /// The node label of which all pods of the gang are to have one value.
    pub topology: Option<String>,
    /// Entries of the pods' resource claims of which the gang has one together.
    pub shared_claims: Vec<String>,
    /// Launcher plugin by name.
    pub plugin: Option<String>,
    /// Tuners after the cluster's.
    pub tuners: Vec<String>,
    /// Capabilities that the job's plugins may have.
    pub allow_capabilities: Vec<String>,
    /// By plugin, then by key.
    pub settings: BTreeMap<String, BTreeMap<String, String>>,
    /// Annotations that look like ours and are none.
    pub unknown: Vec<String>,
    /// Annotations that were read under a name of an earlier version, each with the name that it has now.
    pub renamed: Vec<(&'static str, &'static str)>,
}

/// Names that annotations had in an earlier version, which jobs may still carry, each with the one that it has now.
const RENAMED: [(&str, &str); 1] =
    [(annotations::ANNOTATION_ALLOW_WANTS, annotations::ANNOTATION_ALLOW_CAPABILITIES)];

impl Default for JobOptions {
    fn default() -> Self {
        Self {
            start_gate: true,
            start_gate_timeout: DEFAULT_GATE_TIMEOUT,
            start_min_workers: None,
            ssh_probe: None,
            checks_host_keys: false,
            renders_command: false,
            lost_worker: None,
            gang: None,
            topology: None,
            shared_claims: Vec::new(),
            plugin: None,
            tuners: Vec::new(),
            allow_capabilities: Vec::new(),
            settings: BTreeMap::new(),
            unknown: Vec::new(),
            renamed: Vec::new(),
        }
    }
}

impl JobOptions {
    /// Reads the annotations; every one that cannot be read is an error of its own.
    pub fn parse(annotations: &BTreeMap<String, String>) -> Result<Self, Vec<FieldError>> {
        let mut options = Self::default();
        let mut errors = Vec::new();
        for (key, value) in annotations {
            let renamed = RENAMED.iter().find(|(old, new)| old == key && !annotations.contains_key(*new));
            options.renamed.extend(renamed);
            if let Err(error) = options.read(key, renamed.map_or(key, |(_, new)| new), value) {
                errors.push(error);
            }
        }
        if errors.is_empty() { Ok(options) } else { Err(errors) }
    }

    /// The topology as Volcano has it: the highest tier that the gang may span, where the job names one.
    pub fn topology_tier(&self) -> Option<u32> {
        self.topology.as_ref()?.parse().ok().filter(|tier| *tier > 0)
    }

    /// Reads `value` as that of annotation `key`, which the job may call by its earlier name `written`.
    fn read(&mut self, written: &str, key: &str, value: &str) -> Result<(), FieldError> {
        let path = || format!("metadata.annotations[{written}]");
        let invalid = |detail: &str| FieldError::invalid(path(), value, detail);
        match key {
            annotations::ANNOTATION_START_GATE => match value {
                "none" => self.start_gate = false,
                scheduling::GATE_WORKERS | "workers" => self.start_gate = true,
                _ => return Err(FieldError::not_supported(path(), value, ["none", "workers"])),
            },
            annotations::ANNOTATION_START_GATE_TIMEOUT => {
                self.start_gate_timeout = duration(value)
                    .ok_or_else(|| invalid("must be a duration such as \"90s\", \"10m\" or \"1h30m\""))?;
            }
            annotations::ANNOTATION_START_MIN_WORKERS => {
                let count = value.parse().ok().filter(|n| *n > 0);
                self.start_min_workers =
                    Some(count.ok_or_else(|| invalid("must be a number greater than or equal to 1"))?);
            }
            annotations::ANNOTATION_SSH_PROBE => {
                let port = value.parse().ok().filter(|port| *port > 0);
                self.ssh_probe = Some(port.ok_or_else(|| invalid("must be a port number, 1 to 65535"))?);
            }
            annotations::ANNOTATION_SSH_HOST_KEYS => match value {
                "job" => self.checks_host_keys = true,
                "image" => self.checks_host_keys = false,
                _ => return Err(FieldError::not_supported(path(), value, ["image", "job"])),
            },
            annotations::ANNOTATION_LAUNCH_COMMAND => match value {
                "render" => self.renders_command = true,
                "user" => self.renders_command = false,
                _ => return Err(FieldError::not_supported(path(), value, ["render", "user"])),
            },
            annotations::ANNOTATION_LOST_WORKER => {
                const KNOWN: [&str; 3] = ["auto", "fail", "ignore"];
                let policy = LostWorker::parse(value);
                self.lost_worker =
                    Some(policy.ok_or_else(|| FieldError::not_supported(path(), value, KNOWN))?);
            }
            annotations::ANNOTATION_GANG_SCHEDULING
            | annotations::ANNOTATION_TOPOLOGY
            | annotations::ANNOTATION_SHARED_CLAIMS => self.read_gang(path(), key, value)?,
            annotations::ANNOTATION_PLUGIN => {
                self.plugin = Some(value.trim().to_owned()).filter(|p| !p.is_empty());
            }
            annotations::ANNOTATION_TUNERS => self.tuners = list(value),
            annotations::ANNOTATION_ALLOW_CAPABILITIES => {
                self.allow_capabilities = capabilities(value)
                    .map_err(|(unknown, known)| FieldError::not_supported(path(), &unknown, known))?;
            }
            _ if key.starts_with(PREFIX) => self.unknown.push(key.to_owned()),
            _ => self.read_setting(key, value),
        }
        Ok(())
    }

    /// What says how the job's pods are placed together.
    fn read_gang(&mut self, path: String, key: &str, value: &str) -> Result<(), FieldError> {
        match key {
            annotations::ANNOTATION_GANG_SCHEDULING => {
                let gang = JobGang::parse(value);
                let known = ["native", "none"];
                self.gang = Some(gang.ok_or_else(|| FieldError::not_supported(path, value, known))?);
            }
            annotations::ANNOTATION_TOPOLOGY => {
                let key = Some(value.trim().to_owned()).filter(|key| is_label_key(key));
                let wrong = "must be the key of a node label, such as \"example.com/rack\"";
                self.topology = Some(key.ok_or_else(|| FieldError::invalid(path, value, wrong))?);
            }
            _ => self.shared_claims = list(value),
        }
        Ok(())
    }

    /// `PLUGIN.coxswain.dev/KEY: value`; any other annotation is none of our business.
    fn read_setting(&mut self, key: &str, value: &str) {
        let Some((prefix, setting)) = key.split_once('/') else { return };
        let Some(plugin) = prefix.strip_suffix(annotations::ANNOTATION_SETTING_SUFFIX) else { return };
        self.settings.entry(plugin.to_owned()).or_default().insert(setting.to_owned(), value.to_owned());
    }
}

/// Capabilities that need a grant; or the first that is none, and those that are.
fn capabilities(value: &str) -> Result<Vec<String>, (String, [&'static str; 2])> {
    const KNOWN: [&str; 2] = [capabilities::CAPABILITY_LOCK_MEMORY, capabilities::CAPABILITY_SHARED_MEMORY];
    let allowed = list(value);
    match allowed.iter().find(|kind| !KNOWN.contains(&kind.as_str())) {
        Some(unknown) => Err((unknown.clone(), KNOWN)),
        None => Ok(allowed),
    }
}

/// A name of at most 63 characters, optionally after a DNS subdomain and a slash.
fn is_label_key(key: &str) -> bool {
    let (prefix, name) = key.rsplit_once('/').unwrap_or(("", key));
    let inner = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let outer = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
    let named = name.len() <= MAX_LABEL && name.chars().all(inner);
    let bounded = outer(name.chars().next()) && outer(name.chars().last());
    named && bounded && (!key.contains('/') || subdomain_violation(prefix).is_none())
}

/// `a, b` → `[a, b]`; empty entries vanish.
fn list(text: &str) -> Vec<String> {
    text.split(',').map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

/// A duration as Kubernetes users write it: numbers with `h`, `m`, `s`, largest first, no sign.
pub fn duration(text: &str) -> Option<Duration> {
    let mut rest = text;
    let mut total = Duration::ZERO;
    while !rest.is_empty() {
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let (number, tail) = rest.split_at_checked(digits)?;
        let number: u64 = number.parse().ok()?;
        let mut units = tail.chars();
        let seconds = match units.next()? {
            'h' => 3600,
            'm' => 60,
            's' => 1,
            _ => return None,
        };
        total = total.checked_add(Duration::from_secs(number.checked_mul(seconds)?))?;
        rest = units.as_str();
    }
    Some(total).filter(|_| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(key: &str, value: &str) -> Result<JobOptions, Vec<FieldError>> {
        JobOptions::parse(&[(key.to_owned(), value.to_owned())].into())
    }

    #[test]
    fn a_job_without_annotations_waits_ten_minutes_at_most() {
        let options = JobOptions::parse(&BTreeMap::new()).unwrap();

        assert!(options.start_gate);
        assert_eq!(options.start_gate_timeout, Duration::from_mins(10));
    }

    #[test]
    fn durations_are_read_as_users_write_them() {
        assert_eq!(duration("90s"), Some(Duration::from_secs(90)));
        assert_eq!(duration("1h30m"), Some(Duration::from_mins(90)));
        for wrong in ["", "10", "m", "-5m", "5x", "10µ", "99999999999999999999h"] {
            assert_eq!(duration(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn an_unreadable_annotation_names_itself_and_the_way_out() {
        let errors = parse(annotations::ANNOTATION_START_GATE_TIMEOUT, "soon").unwrap_err();

        assert_eq!(
            errors[0].to_string(),
            "metadata.annotations[coxswain.dev/start-gate-timeout]: Invalid value: \"soon\": must be a duration \
             such as \"90s\", \"10m\" or \"1h30m\""
        );
    }

    #[test]
    fn no_worker_and_no_port_are_no_numbers_of_them() {
        for (key, least) in
            [(annotations::ANNOTATION_START_MIN_WORKERS, "1"), (annotations::ANNOTATION_SSH_PROBE, "1")]
        {
            assert!(parse(key, "0").is_err(), "{key}");
            assert!(parse(key, least).is_ok(), "{key}");
        }
    }

    #[test]
    fn a_capability_that_nobody_knows_is_a_mistake() {
        let allowed = |value| {
            parse(annotations::ANNOTATION_ALLOW_CAPABILITIES, value).map(|options| options.allow_capabilities)
        };

        assert_eq!(allowed("shared-memory, lock-memory").unwrap(), ["shared-memory", "lock-memory"]);
        assert_eq!(
            allowed("shared-memroy").unwrap_err()[0].to_string(),
            "metadata.annotations[coxswain.dev/allow-capabilities]: Unsupported value: \"shared-memroy\": \
             supported values: \"lock-memory\", \"shared-memory\""
        );
    }

    #[test]
    fn an_annotation_is_read_by_its_earlier_name_too_unless_the_new_one_is_there() {
        const OLD: &str = annotations::ANNOTATION_ALLOW_WANTS;
        const NEW: &str = annotations::ANNOTATION_ALLOW_CAPABILITIES;
        let old = parse(OLD, "lock-memory").unwrap();
        let both =
            [(OLD, "lock-memory"), (NEW, "shared-memory")].map(|(key, value)| (key.into(), value.into()));
        let both = JobOptions::parse(&both.into()).unwrap();

        assert_eq!((old.allow_capabilities, old.renamed), (vec!["lock-memory".to_owned()], vec![(OLD, NEW)]));
        assert_eq!(old.unknown, [""; 0]);
        assert_eq!((both.allow_capabilities, both.renamed), (vec!["shared-memory".to_owned()], vec![]));
        assert_eq!(both.unknown, [OLD]);
        let wrong = parse(OLD, "teleport").unwrap_err();
        assert!(
            wrong[0].to_string().starts_with("metadata.annotations[coxswain.dev/allow-wants]: "),
            "{wrong:?}"
        );
    }

    #[test]
    fn every_annotation_of_the_table_is_read_and_what_only_looks_like_one_is_kept_as_unknown() {
        for known in crate::api::job_annotations::JOB_ANNOTATIONS {
            let unknown = parse(known.name, "?").map(|options| options.unknown).unwrap_or_default();
            assert!(unknown.is_empty(), "{}", known.name);
        }
        assert_eq!(parse("coxswain.dev/start-gat", "none").unwrap().unknown, ["coxswain.dev/start-gat"]);
    }

    #[test]
    fn settings_are_kept_by_plugin_and_other_annotations_are_left_alone() {
        let options = parse("openmpi.coxswain.dev/ssh-args", "-q").unwrap();

        assert_eq!(options.settings["openmpi"]["ssh-args"], "-q");
        assert_eq!(parse("example.com/x", "y").unwrap(), JobOptions::default());
    }
}
