//! What a job's annotations say in vain: keys that nobody reads, with the likely one.

use super::options::JobOptions;
use crate::{
    api::{annotations::ANNOTATION_SETTING_SUFFIX, job_annotations::JOB_ANNOTATIONS},
    plan::Descriptor,
};

/// Annotations that are named; looking for the likely key takes time, and a message ends at 1 KiB.
const NAMED: usize = 8;
/// Keys this far from a known one are taken for slips of the pen.
const SLIP: usize = 3;

impl JobOptions {
    /// What of them has no effect, a sentence for each. `chain` is what renders the job: each plugin by its name.
    pub fn ignored(&self, chain: &[(&str, &Descriptor)]) -> Vec<String> {
        let settings = self.settings.iter().flat_map(|(plugin, settings)| {
            settings.keys().map(|key| (plugin.as_str(), key.as_str())).collect::<Vec<_>>()
        });
        let in_vain = settings.filter(|(plugin, key)| !declares(chain, plugin, key));
        let known = JOB_ANNOTATIONS.iter().map(|annotation| annotation.name);
        let unknown = self.unknown.iter().take(NAMED).map(|name| {
            let likely = likely(name, known.clone()).map(|likely| format!("; did you mean {likely}?"));
            format!("metadata.annotations[{name}]: is none of the operator's{}", likely.unwrap_or_default())
        });
        let settings: Vec<(&str, &str)> = in_vain.collect();
        let count = self.unknown.len() + settings.len();
        let mut ignored: Vec<String> = unknown
            .chain(settings.into_iter().take(NAMED).map(|(plugin, key)| setting(chain, plugin, key)))
            .collect();
        ignored.truncate(NAMED);
        if count > ignored.len() {
            ignored.push(format!("and {} more", count - ignored.len()));
        }
        ignored
    }
}

fn declares(chain: &[(&str, &Descriptor)], plugin: &str, key: &str) -> bool {
    let declares = |descriptor: &Descriptor| descriptor.settings.iter().any(|setting| setting.key == key);
    chain.iter().any(|(name, descriptor)| *name == plugin && declares(descriptor))
}

/// Why a setting has no effect, and which one may have been meant.
fn setting(chain: &[(&str, &Descriptor)], plugin: &str, key: &str) -> String {
    let path = format!("metadata.annotations[{plugin}{ANNOTATION_SETTING_SUFFIX}/{key}]");
    let Some((_, descriptor)) = chain.iter().find(|(name, _)| *name == plugin) else {
        let names = || chain.iter().map(|(name, _)| *name);
        let likely = likely(plugin, names()).map(|likely| format!("; did you mean {likely}?"));
        let rendered_by = names().collect::<Vec<_>>().join(", ");
        return format!(
            "{path}: plugin {plugin} does not render this job, which {rendered_by} does{}",
            likely.unwrap_or_default()
        );
    };
    let keys = descriptor.settings.iter().map(|setting| setting.key.as_str());
    let likely = likely(key, keys).map(|likely| format!("; did you mean {likely}?"));
    format!("{path}: plugin {plugin} has no setting {key}{}", likely.unwrap_or_default())
}

/// The one that is nearest, if any is near.
fn likely<'a>(wrong: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let near = known.map(|name| (strsim::levenshtein(wrong, name), name)).filter(|(steps, _)| *steps <= SLIP);
    near.min().map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use pretty_assertions::assert_eq;

    use super::*;
    use crate::plan::SettingKind;

    fn plugin(keys: &[&str]) -> Descriptor {
        let setting = |key: &&str| SettingKind { key: (*key).into(), default: None, summary: String::new() };
        Descriptor { settings: keys.iter().map(setting).collect(), ..Descriptor::default() }
    }

    fn ignored(annotations: &[&str]) -> Vec<String> {
        let annotations: BTreeMap<String, String> =
            annotations.iter().map(|key| ((*key).to_owned(), "none".to_owned())).collect();
        let (openmpi, nccl) = (plugin(&["ssh-args", "tree-spawn"]), plugin(&["profile"]));
        JobOptions::parse(&annotations).unwrap().ignored(&[("openmpi", &openmpi), ("nccl-rdma", &nccl)])
    }

    #[test]
    fn what_somebody_reads_is_not_told() {
        let read =
            ["coxswain.dev/start-gate", "openmpi.coxswain.dev/ssh-args", "nccl-rdma.coxswain.dev/profile"];
        assert_eq!(ignored(&read), [""; 0]);
        assert_eq!(
            ignored(&["example.com/start-gat", "kubectl.kubernetes.io/last-applied-configuration"]),
            [""; 0]
        );
    }

    #[test]
    fn a_slip_is_told_with_what_was_likely_meant() {
        assert_eq!(
            ignored(&[
                "coxswain.dev/start-gat",
                "coxswain.dev/faster-please",
                "openmpi.coxswain.dev/ssh-arg",
                "openmpy.coxswain.dev/ssh-args",
                "intel-mpi.coxswain.dev/interface",
            ]),
            [
                "metadata.annotations[coxswain.dev/faster-please]: is none of the operator's",
                "metadata.annotations[coxswain.dev/start-gat]: is none of the operator's; did you mean \
                 coxswain.dev/start-gate?",
                "metadata.annotations[intel-mpi.coxswain.dev/interface]: plugin intel-mpi does not render this job, which \
                 openmpi, nccl-rdma does",
                "metadata.annotations[openmpi.coxswain.dev/ssh-arg]: plugin openmpi has no setting ssh-arg; did you mean \
                 ssh-args?",
                "metadata.annotations[openmpy.coxswain.dev/ssh-args]: plugin openmpy does not render this job, which \
                 openmpi, nccl-rdma does; did you mean openmpi?",
            ]
        );
    }

    #[test]
    fn of_very_many_the_first_are_named_and_the_others_counted() {
        let many: Vec<String> = (0..5_000).map(|n| format!("coxswain.dev/x{n:04}")).collect();
        let reported = ignored(&many.iter().map(String::as_str).collect::<Vec<_>>());

        assert_eq!((reported.len(), reported[8].as_str()), (9, "and 4992 more"));
    }
}
