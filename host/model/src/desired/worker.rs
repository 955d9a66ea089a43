//! Worker pods: one template for all, stamped with name and index.

/// Makes the manifest of each worker from one serialized template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkerStamp {
    pieces: Vec<String>,
}
