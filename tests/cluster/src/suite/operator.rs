//! What becomes of the operator, one test after another.

mod endpoints;
mod handover;
mod killed;
mod plugins;
mod quiet;
mod restart;
mod tools;
