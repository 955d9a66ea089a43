//! What becomes of jobs, in parallel.

mod cleanup;
mod gate;
mod refused;
mod scale;
mod suspend;
