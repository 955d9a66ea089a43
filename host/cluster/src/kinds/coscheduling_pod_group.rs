//! `PodGroup` of scheduler-plugins.

use coxswain_model::step::Kind;

use super::pod_group::{DecodedPodGroup, GangScheduler};

/// scheduler-plugins.
pub struct Coscheduling;

impl GangScheduler for Coscheduling {
    const API_VERSION: &'static str = "scheduling.x-k8s.io/v1alpha1";
    const KIND: Kind = Kind::SchedulerPluginsPodGroup;
}

/// `PodGroup` of scheduler-plugins.
pub type DecodedCoschedulingPodGroup = DecodedPodGroup<Coscheduling>;
