//! Whether a job has a pin, and whether it can be trusted.

use super::chain::{ADOPTED, MOST, Pin, TOO_LONG};
use crate::{
    api::annotations::ANNOTATION_PIN,
    job::ValidJob,
    observed::{ObservedObject, ObservedState},
};

/// Whether a job has a pin, by what is observed of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PinState {
    /// Nothing of the job has started: it gets a pin now.
    Fresh,
    /// Rendered by this until it ends.
    Pinned(Pin),
    /// Started by another operator (the MPI Operator, before the switch): kept up, not rendered.
    Adopted,
    /// It had a pin and has none that can be trusted: nothing is rendered anew. Says what was found.
    Lost(String),
}

impl PinState {
    /// Objects of an earlier job of the same name do not count.
    pub fn of(job: &ValidJob, observed: &ObservedState) -> Self {
        let ours = |object: &ObservedObject| object.controller.as_ref() == Some(job.uid());
        let config = observed.config.as_ref().filter(|config| ours(&config.object));
        let launcher = observed.launcher.as_ref().filter(|launcher| ours(&launcher.object));
        let on_config = config.and_then(|config| config.pin.as_deref());
        let adopted = on_config == Some(ADOPTED) && launcher.is_some();
        let on_config = on_config.filter(|_| !adopted);
        let on_launcher = launcher.and_then(|launcher| launcher.pin.as_deref());
        match (on_config, on_launcher) {
            (Some(one), Some(other)) if one != other => Self::Lost(format!(
                "annotation {ANNOTATION_PIN} of ConfigMap {} and Job {} contradict each other",
                job.names().config(),
                job.names().launcher()
            )),
            (Some(TOO_LONG), _) | (None, Some(TOO_LONG)) => {
                Self::Lost(format!("annotation {ANNOTATION_PIN} is longer than any pin, {MOST} bytes"))
            }
            (Some(text), _) | (None, Some(text)) => Pin::from_annotation(text).map_or_else(
                || Self::Lost(format!("annotation {ANNOTATION_PIN} holds something that is no pin")),
                Self::Pinned,
            ),
            // Suspended, nothing of it runs: it gets a pin, and `diff` makes its launcher Job anew.
            (None, None) if launcher.is_some_and(|launcher| !launcher.suspended) => Self::Adopted,
            (None, None) if !adopted && config.is_some_and(|config| config.content.is_some()) => Self::Lost(
                format!("annotation {ANNOTATION_PIN} was removed from ConfigMap {}", job.names().config()),
            ),
            (None, None)
                if config.is_none()
                    && observed.workers().any(|pod| pod.controller.as_ref() == Some(job.uid())) =>
            {
                Self::Lost(format!(
                    "ConfigMap {} was deleted while its workers were there",
                    job.names().config()
                ))
            }
            (None, None) => Self::Fresh,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        claims::Facts,
        digest::Digest,
        object::Uid,
        observed::{ObservedConfig, ObservedLauncher},
        pin::{PinnedPlugin, kept},
        testing::parsed,
    };
    use coxswain_test_support::job::Job;

    fn job() -> ValidJob {
        parsed(&Job::new("pi", 0).stored("team-a", "u1"))
    }

    fn config(owner: &str, pin: Option<&str>) -> ObservedConfig {
        ObservedConfig {
            object: ObservedObject { controller: Some(Uid::from(owner)), ..ObservedObject::default() },
            content: Some("digest".into()),
            pin: pin.map(Into::into),
        }
    }

    fn launcher(pin: Option<&str>) -> ObservedLauncher {
        let object = ObservedObject { controller: Some(Uid::from("u1")), ..ObservedObject::default() };
        ObservedLauncher { object, pin: pin.map(Into::into), ..ObservedLauncher::default() }
    }

    #[test]
    fn a_job_is_pinned_once_and_objects_of_its_predecessor_do_not_count() {
        let text = pin().to_annotation();
        let of = |observed: &ObservedState| PinState::of(&job(), observed);

        assert_eq!(of(&ObservedState::default()), PinState::Fresh);
        let old = ObservedState { config: Some(config("u0", Some(&text))), ..ObservedState::default() };
        assert_eq!(of(&old), PinState::Fresh);
        let pinned = ObservedState { config: Some(config("u1", Some(&text))), ..ObservedState::default() };
        assert_eq!(of(&pinned), PinState::Pinned(pin()));
        let on_launcher = ObservedState { launcher: Some(launcher(Some(&text))), ..ObservedState::default() };
        assert_eq!(of(&on_launcher), PinState::Pinned(pin()));
    }

    #[test]
    fn a_pin_that_is_gone_or_contradicts_itself_is_lost_and_never_made_anew() {
        let text = pin().to_annotation();
        let removed = ObservedState { config: Some(config("u1", None)), ..ObservedState::default() };
        let mangled = ObservedState { config: Some(config("u1", Some("{}"))), ..ObservedState::default() };
        let contradicting = ObservedState {
            config: Some(config("u1", Some(&text))),
            launcher: Some(launcher(Some(&text.replace("-q", "-v")))),
            ..ObservedState::default()
        };

        for observed in [removed, mangled, contradicting] {
            assert!(matches!(PinState::of(&job(), &observed), PinState::Lost(_)), "{observed:?}");
        }
    }

    #[test]
    fn what_is_longer_than_any_pin_is_lost_and_not_kept() {
        let mut long = pin();
        long.launcher.settings.insert("ssh-args".to_owned(), "x".repeat(MOST));
        let kept_pin = kept(&long.to_annotation());
        assert!(kept_pin.len() < 16, "{} bytes are kept", kept_pin.len());

        let observed =
            ObservedState { config: Some(config("u1", Some(&kept_pin))), ..ObservedState::default() };

        let PinState::Lost(why) = PinState::of(&job(), &observed) else { panic!("it is honoured") };
        assert!(why.contains("16384 bytes"), "{why}");
        assert_eq!(*kept(&pin().to_annotation()), pin().to_annotation());
    }

    #[test]
    fn a_launcher_without_a_pin_was_started_by_another_operator() {
        let observed = ObservedState { launcher: Some(launcher(None)), ..ObservedState::default() };

        assert_eq!(PinState::of(&job(), &observed), PinState::Adopted);
    }

    fn pin() -> Pin {
        Pin {
            launcher: PinnedPlugin {
                name: "openmpi".into(),
                digest: Digest::of(b"openmpi"),
                settings: [("ssh-args".to_owned(), "-q".to_owned())].into(),
            },
            tuners: vec![],
            cluster_domain: Some("k8s.example".into()),
            claims: [("resourceclaims/nic".to_owned(), Facts::default())].into(),
        }
    }
}
