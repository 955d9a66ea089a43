//! What becomes of jobs, in parallel.

mod cleanup;
mod fabric;
mod files;
mod gate;
mod host_keys;
mod launcher_as_worker;
mod limits;
mod loss;
mod queue;
mod refused;
mod scale;
mod suspend;
