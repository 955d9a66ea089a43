//! Whole objects, compared field by field with what the MPI Operator 0.8.2 writes.

mod jobs;
mod launcher_and_worker;
mod pi;
mod template;
