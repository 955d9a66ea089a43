//! One wasmtime engine for the life of the process, and the thread that moves its clock.

use std::{num::NonZeroUsize, thread, time::Duration};

use anyhow::{Context, Result};
use wasmtime::{Config, Engine};

/// How often the engine's epoch moves: the grain of [`crate::call`]'s deadline.
pub const TICK: Duration = Duration::from_millis(10);

/// Memory of one call. A hostfile for 10,000 hosts needs about 4 MiB with everything around it.
pub const MEMORY_BYTES: usize = 64 << 20;

/// Native stack of one call; recursion beyond it traps.
const STACK_BYTES: usize = 512 << 10;

/// Frames that a trap names.
const BACKTRACE_FRAMES: Option<NonZeroUsize> = NonZeroUsize::new(8);

/// An engine on which equal input gives equal output: fuel and not time decides, floats are bit-equal everywhere, there
/// are no threads. The ticker is a thread of its own, as an executor whose threads all sit in guests would not tick; it
/// ends with the engine.
pub fn start() -> Result<Engine> {
    let engine = without_clock().map_err(anyhow::Error::from).context("starting the WebAssembly engine")?;
    let weak = engine.weak();
    let tick = move || {
        while let Some(engine) = weak.upgrade() {
            engine.increment_epoch();
            drop(engine);
            thread::sleep(TICK);
        }
    };
    thread::Builder::new().name("epoch".into()).spawn(tick).context("starting the engine's clock")?;
    Ok(engine)
}

/// The same for compiling alone: nothing must run on it.
pub fn without_clock() -> wasmtime::Result<Engine> {
    let mut config = Config::new();
    config
        .consume_fuel(true)
        .epoch_interruption(true)
        .max_wasm_stack(STACK_BYTES)
        // Not wasmtime's 4 GiB for each memory: address space is bounded in some pods.
        .memory_reservation(MEMORY_BYTES as u64)
        .cranelift_nan_canonicalization(true)
        .wasm_relaxed_simd(false)
        .wasm_memory64(false)
        .wasm_multi_memory(false)
        .wasm_backtrace_max_frames(BACKTRACE_FRAMES);
    Engine::new(&config)
}
