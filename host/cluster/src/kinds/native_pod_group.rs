//! `PodGroup` of Kubernetes' own scheduler.

use coxswain_model::step::Kind;

use super::pod_group::{DecodedPodGroup, GangScheduler};

/// Kubernetes' own.
pub struct Native;

impl GangScheduler for Native {
    const API_VERSION: &'static str = "scheduling.k8s.io/v1beta1";
    const KIND: Kind = Kind::NativePodGroup;
}

/// `PodGroup` of Kubernetes' own scheduler.
pub type DecodedNativePodGroup = DecodedPodGroup<Native>;
