//! The MPI Operator 0.8.2, measured apart from this bench: built with Go 1.26, a plain process on a control plane of
//! Kubernetes 1.34.2 with a fake kubelet, 4 cores. No run of this bench repeats it (its defaults alone would take half
//! an hour), so these figures stand beside ours for their order of magnitude; ratios are taken against the plain client.

use serde::Serialize;

/// One figure over a size.
pub type Point = (f64, f64);

/// All figures.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Published {
    /// Seconds until all objects of one job exist, over its workers; flags as shipped: 5 requests a second.
    pub objects_default: &'static [Point],
    /// The same with its limits lifted.
    pub objects_tuned: &'static [Point],
    /// Seconds until all objects of jobs with 8 workers exist, over the jobs; flags as shipped.
    pub jobs_default: &'static [Point],
    /// The same with its limits lifted.
    pub jobs_tuned: &'static [Point],
    /// Writes in the life of one job, over its workers; limits lifted.
    pub writes: &'static [Point],
    /// Resident MB of a new process after its first reconcile, over pods of 3 KB environment.
    pub memory: &'static [Point],
}

/// See the module.
pub const MPI_OPERATOR: Published = Published {
    objects_default: &[(8.0, 0.623), (100.0, 19.03), (1000.0, 199.0)],
    objects_tuned: &[(8.0, 0.059), (100.0, 0.82), (1000.0, 5.7)],
    jobs_default: &[(1.0, 0.623), (20.0, 50.0), (100.0, 258.0)],
    jobs_tuned: &[(1.0, 0.059), (100.0, 5.13)],
    writes: &[(8.0, 35.0), (100.0, 220.0), (1000.0, 2020.0)],
    memory: &[(0.0, 58.0), (2750.0, 202.0), (11000.0, 670.0), (22000.0, 1192.0)],
};
