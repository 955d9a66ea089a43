//! `PodGroup` of Volcano.

use coxswain_model::step::Kind;

use super::pod_group::{DecodedPodGroup, GangScheduler};

/// Volcano.
pub struct Volcano;

impl GangScheduler for Volcano {
    const API_VERSION: &'static str = "scheduling.volcano.sh/v1beta1";
    const KIND: Kind = Kind::VolcanoPodGroup;
}

/// `PodGroup` of Volcano.
pub type DecodedVolcanoPodGroup = DecodedPodGroup<Volcano>;
