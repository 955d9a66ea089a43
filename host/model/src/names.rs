//! Every object name and host name of a job. Formatting a name happens here and nowhere else.

mod host;
mod label;

pub use self::{
    host::{HostName, InvalidName, LauncherName, PodName, is_launcher, job_of_launcher},
    label::{InvalidLabel, MAX_LABEL, MAX_SUBDOMAIN, label_violations, subdomain_violation},
};
use crate::api::labels::ROLE_WORKER;

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
    pub fn launcher(&self) -> LauncherName {
        LauncherName::of_job(&self.job)
    }

    /// Pod `index` of the role of that name, and its host name.
    pub fn pod(&self, role: &str, index: u32) -> PodName {
        PodName::of_job(&self.job, role, index)
    }

    /// What every pod of the job resolves to reach `host`.
    pub fn fqdn(&self, host: &impl HostName) -> String {
        let host = host.as_ref();
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

/// Bytes of the host names ([`Names::fqdn`]) of workers 0 to `count - 1` together, without making them; for parsing,
/// before [`Names`] exist.
pub(crate) fn worker_hosts_len(job: &str, namespace: &str, cluster_domain: Option<&str>, count: u32) -> u64 {
    // The name of worker 0 is that of any other but for its number.
    let first = Names::new(job, namespace, cluster_domain);
    let first = first.fqdn(&first.pod(ROLE_WORKER, 0)).len().saturating_sub(1);
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

        assert_eq!(plain.fqdn(&plain.pod("worker", 3)), "pi-worker-3.pi.team-a.svc");
        assert_eq!(suffixed.fqdn(&suffixed.launcher()), "pi-launcher.pi.team-a.svc.k8s.example");
        assert_eq!(plain.search_domain(), "pi.team-a.svc.cluster.local");
        assert_eq!(suffixed.search_domain(), "pi.team-a.svc.k8s.example");
    }

    #[test]
    fn the_length_of_all_host_names_is_what_they_come_to_one_by_one() {
        for domain in [None, Some("cluster.local")] {
            let names = Names::new("pi", "team-a", domain);
            let mut sum = 0;
            for count in 0..1_200 {
                assert_eq!(worker_hosts_len("pi", "team-a", domain, count), sum, "{count}");
                sum += u64::try_from(names.fqdn(&names.pod("worker", count)).len()).unwrap();
            }
        }
        assert_eq!(digits(10_000), 10 + 180 + 2_700 + 36_000);
        assert_eq!(digits(10_001), 10 + 180 + 2_700 + 36_000 + 5);
    }
}
