//! What becomes of jobs, in parallel.

mod cleanup;
mod gate;
mod launcher_as_worker;
mod refused;
mod scale;
mod suspend;
