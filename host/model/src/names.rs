//! Every object name and host name of a job. Formatting a name happens here and nowhere else.

use std::fmt;

/// Longest DNS label.
pub const MAX_LABEL: usize = 63;

/// Why a text is no DNS-1035 label; `Display` uses the API machinery's own words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InvalidLabel {
    /// Over [`MAX_LABEL`] characters.
    TooLong,
    /// Not `[a-z]([-a-z0-9]*[a-z0-9])?`.
    Malformed,
}

impl fmt::Display for InvalidLabel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::TooLong => "must be no more than 63 characters",
            Self::Malformed => {
                "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an \
                 alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', \
                 regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')"
            }
        })
    }
}

/// Every reason why `text` is no DNS-1035 label, in the API machinery's order; empty if it is one.
pub fn label_violations(text: &str) -> Vec<InvalidLabel> {
    let mut found = Vec::new();
    if text.len() > MAX_LABEL {
        found.push(InvalidLabel::TooLong);
    }
    let alphanumeric = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    let well_formed = text.starts_with(|c: char| c.is_ascii_lowercase())
        && text.ends_with(alphanumeric)
        && text.chars().all(|c| alphanumeric(c) || c == '-');
    if !well_formed {
        found.push(InvalidLabel::Malformed);
    }
    found
}

/// The names that belong to one job. Made by [`crate::job::ValidJob`] only, so they are valid labels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Names {
    job: String,
    namespace: String,
    cluster_domain: Option<String>,
}

impl Names {
    /// `cluster_domain` is the operator's `--cluster-domain`, as pinned for this job.
    pub(crate) fn new(job: &str, namespace: &str, cluster_domain: Option<&str>) -> Self {
        Self { job: job.into(), namespace: namespace.into(), cluster_domain: cluster_domain.map(Into::into) }
    }

    /// `metadata.name` of the job, and the name of its Service and `PodGroup`.
    pub fn job(&self) -> &str {
        &self.job
    }

    /// Namespace of the job and of all that belongs to it.
    pub fn namespace(&self) -> &str {
        &self.namespace
    }

    /// Suffix of all host names, if one is set.
    pub fn cluster_domain(&self) -> Option<&str> {
        self.cluster_domain.as_deref()
    }

    /// ConfigMap with hostfile and `discover_hosts.sh`.
    pub fn config(&self) -> String {
        format!("{}-config", self.job)
    }

    /// ConfigMap with the files that every pod gets; ours alone.
    pub fn files(&self) -> String {
        format!("{}-files", self.job)
    }

    /// Secret with the ssh key pair.
    pub fn secret(&self) -> String {
        format!("{}-ssh", self.job)
    }

    /// Launcher Job, and the launcher pod's host name.
    pub fn launcher(&self) -> String {
        format!("{}-launcher", self.job)
    }

    /// Worker pod `index`, and its host name.
    pub fn worker(&self, index: u32) -> String {
        worker(&self.job, index)
    }

    /// What every pod of the job resolves to reach `host` (a worker's or the launcher's host name).
    pub fn fqdn(&self, host: &str) -> String {
        let (job, namespace) = (&self.job, &self.namespace);
        match &self.cluster_domain {
            Some(domain) => format!("{host}.{job}.{namespace}.svc.{domain}"),
            None => format!("{host}.{job}.{namespace}.svc"),
        }
    }

    /// Search domain of the workers, so that they resolve the launcher by its bare host name (Hydra's proxies
    /// call it back by that).
    pub fn search_domain(&self) -> String {
        let domain = self.cluster_domain.as_deref().unwrap_or("cluster.local");
        format!("{}.{}.svc.{domain}", self.job, self.namespace)
    }
}

/// Name of the worker pod `index` of `job`; for parsing, before [`Names`] exist.
pub(crate) fn worker(job: &str, index: u32) -> String {
    format!("{job}-worker-{index}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn host_names_carry_the_cluster_domain_only_when_one_is_set() {
        let plain = Names::new("pi", "team-a", None);
        let suffixed = Names::new("pi", "team-a", Some("k8s.example"));

        assert_eq!(plain.fqdn(&plain.worker(3)), "pi-worker-3.pi.team-a.svc");
        assert_eq!(suffixed.fqdn(&suffixed.launcher()), "pi-launcher.pi.team-a.svc.k8s.example");
        assert_eq!(plain.search_domain(), "pi.team-a.svc.cluster.local");
        assert_eq!(suffixed.search_domain(), "pi.team-a.svc.k8s.example");
    }

    #[test]
    fn a_label_is_refused_for_length_and_for_form() {
        assert!(label_violations("pi-worker-0").is_empty());
        assert_eq!(label_violations("1pi"), [InvalidLabel::Malformed]);
        assert_eq!(label_violations("pi-"), [InvalidLabel::Malformed]);
        assert_eq!(label_violations(""), [InvalidLabel::Malformed]);
        assert_eq!(label_violations(&"a".repeat(64)), [InvalidLabel::TooLong]);
        assert_eq!(label_violations(&"A".repeat(64)), [InvalidLabel::TooLong, InvalidLabel::Malformed]);
    }
}
