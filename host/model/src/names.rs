//! Every object name and host name of a job. Formatting a name happens here and nowhere else.

use std::fmt;

/// Longest DNS label.
pub const MAX_LABEL: usize = 63;
/// Longest DNS subdomain.
pub const MAX_SUBDOMAIN: usize = 253;

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

/// What a launcher Job's name has after the job's.
const LAUNCHER: &str = "-launcher";

/// This is the name of that job's launcher Job.
pub fn is_launcher(name: &str, job: &str) -> bool {
    name.strip_suffix(LAUNCHER) == Some(job)
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

/// Why `text` names no object of the kinds whose names are DNS-1123 subdomains, in the API machinery's words; none if
/// it may. What passes is one segment of a path and needs no escape.
pub fn subdomain_violation(text: &str) -> Option<&'static str> {
    let alphanumeric = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    let well_formed = |part: &str| {
        part.starts_with(alphanumeric)
            && part.ends_with(alphanumeric)
            && part.chars().all(|c| alphanumeric(c) || c == '-')
    };
    if text.len() > MAX_SUBDOMAIN {
        return Some("must be no more than 253 characters");
    }
    (!text.split('.').all(well_formed)).then_some(
        "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start \
         and end with an alphanumeric character (e.g. 'example.com', regex used for validation is \
         '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
    )
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
        format!("{}{LAUNCHER}", self.job)
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

/// Bytes of the host names ([`Names::fqdn`]) of workers 0 to `count - 1` together, without making them; for parsing,
/// before [`Names`] exist.
pub(crate) fn worker_hosts_len(job: &str, namespace: &str, cluster_domain: Option<&str>, count: u32) -> u64 {
    // The name of worker 0 is that of any other but for its number.
    let first = Names::new(job, namespace, cluster_domain);
    let first = first.fqdn(&first.worker(0)).len().saturating_sub(1);
    let fixed = u64::try_from(first).unwrap_or(u64::MAX).saturating_mul(count.into());
    fixed.saturating_add(digits(count.into()))
}

/// Digits of the numbers from 0 to `count - 1`: one for each, another for each from 10 on, from 100 on, and so forth.
fn digits(count: u64) -> u64 {
    let powers = std::iter::successors(Some(10_u64), |power| power.checked_mul(10));
    count + powers.take_while(|power| *power < count).map(|power| count - power).sum::<u64>()
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

    #[test]
    fn the_length_of_all_host_names_is_what_they_come_to_one_by_one() {
        for domain in [None, Some("cluster.local")] {
            let names = Names::new("pi", "team-a", domain);
            let mut sum = 0;
            for count in 0..1_200 {
                assert_eq!(worker_hosts_len("pi", "team-a", domain, count), sum, "{count}");
                sum += u64::try_from(names.fqdn(&names.worker(count)).len()).unwrap();
            }
        }
        assert_eq!(digits(10_000), 10 + 180 + 2_700 + 36_000);
        assert_eq!(digits(10_001), 10 + 180 + 2_700 + 36_000 + 5);
    }

    #[test]
    fn a_subdomain_is_one_segment_of_a_path() {
        for name in ["nic", "a.b-c.d", "0", &"a".repeat(253)] {
            assert_eq!(subdomain_violation(name), None, "{name}");
        }
        for name in
            ["", ".", "..", "../x", "a/b", "a..b", "-a", "a-", "A", "a b", "a%2fb", "a?b", "a#b", "ä", "a\n"]
        {
            assert!(subdomain_violation(name).is_some(), "{name}");
        }
        assert_eq!(subdomain_violation(&"a".repeat(254)), Some("must be no more than 253 characters"));
    }
}
