//! Events as clients of the MPI Operator 0.8.2 expect them.

/// Component of every event; existing clients match on it.
pub const EVENT_COMPONENT: &str = "mpi-job-controller";
/// Longest event or condition message that the MPI Operator writes, bytes.
pub const MAX_MESSAGE: usize = 1024;
