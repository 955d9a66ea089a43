//! Real components in the real sandbox. They are built by `make plugins`.

mod given;
mod golden;
mod openmpi;
