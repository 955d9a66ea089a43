//! How the watches fare: whether they live, what they could not decode, where they were wrong.

use std::time::Duration;

use prometheus::{GaugeVec, IntCounterVec};

use super::Registry;

/// See the module.
pub struct Watches {
    age: GaugeVec,
    set_aside: GaugeVec,
    set_aside_total: IntCounterVec,
    repairs: IntCounterVec,
}

impl Watches {
    pub(super) fn new(r: &Registry) -> prometheus::Result<Self> {
        Ok(Self {
            age: r.gauges(
                "coxswain_watch_age_seconds",
                "Time since the API server last gave a sign of life for a kind",
                &["kind"],
            )?,
            set_aside: r.gauges(
                "coxswain_objects_set_aside",
                "Objects that cannot be decoded, until they change",
                &["kind"],
            )?,
            set_aside_total: r.counters(
                "coxswain_objects_set_aside_total",
                "Objects that could not be decoded",
                &["kind"],
            )?,
            repairs: r.counters(
                "coxswain_cache_repairs_total",
                "Rows of the index that differed from the API server when they were compared",
                &["kind"],
            )?,
        })
    }

    /// A kind is watched. Its series begin at 0, so that rates see the first increase.
    pub fn begin(&self, kind: &str) {
        self.are_aside(kind, 0);
        self.set_aside_total.with_label_values(&[kind]).inc_by(0);
        self.repairs.with_label_values(&[kind]).inc_by(0);
    }

    /// How long ago the API server gave a sign of life for a kind.
    pub fn age(&self, kind: &str, age: Duration) {
        self.age.with_label_values(&[kind]).set(age.as_secs_f64());
    }

    /// An object of this kind was set aside.
    pub fn set_aside(&self, kind: &str) {
        self.set_aside_total.with_label_values(&[kind]).inc();
    }

    /// So many objects of this kind are set aside.
    pub fn are_aside(&self, kind: &str, objects: usize) {
        self.set_aside.with_label_values(&[kind]).set(u32::try_from(objects).unwrap_or(u32::MAX).into());
    }

    /// So many rows of this kind differed from the API server.
    pub fn repaired(&self, kind: &str, rows: usize) {
        self.repairs.with_label_values(&[kind]).inc_by(u64::try_from(rows).unwrap_or(u64::MAX));
    }
}
