//! How we speak: one line an event on standard error, as text or JSON; `RUST_LOG` overrides the level.

use anyhow::Context;
use tracing_subscriber::{EnvFilter, fmt};

use crate::flags::LogFormat;

/// From now on, events are written. `verbosity` is klog's `-v`: 4 and more is debug, 8 and more trace.
pub fn start(format: LogFormat, verbosity: u8) -> anyhow::Result<()> {
    let level = match verbosity {
        0..=3 => "info",
        4..=7 => "info,coxswain=debug",
        8.. => "debug,coxswain=trace",
    };
    let filter = EnvFilter::try_from_default_env().or_else(|_| EnvFilter::try_new(level))?;
    let lines = fmt().with_env_filter(filter).with_writer(std::io::stderr);
    match format {
        LogFormat::Text => lines.with_ansi(false).try_init(),
        LogFormat::Json => lines.json().flatten_event(true).try_init(),
    }
    .map_err(|error| anyhow::anyhow!(error))
    .context("starting the log")
}
