//! What becomes of jobs, in parallel.

mod cleanup;
mod gate;
mod launcher_as_worker;
mod limits;
mod loss;
mod queue;
mod refused;
mod scale;
mod suspend;
