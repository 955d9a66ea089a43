//! Real components in the real sandbox. They are built by `make plugins`.

mod chain;
mod given;
mod golden;
mod hostile;
mod hydra;
mod loading;
mod observing;
mod openmpi;
