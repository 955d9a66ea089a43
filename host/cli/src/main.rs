//! `coxswain`: without a subcommand the operator, with one a tool for people.
#![forbid(unsafe_code)]

use std::{io::Write, process::ExitCode};

use anyhow::Context;
use coxswain_operator::run;

mod flags;
mod log;
mod tool;

#[cfg(test)]
mod documentation;

#[global_allocator]
static HEAP: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    if let Some(tool) = tool::Tool::from_words(std::env::args()) {
        return tool.run();
    }
    let flags = flags::Flags::parse_or_exit(std::env::args().skip(1));
    if flags.version {
        return match std::io::stdout().write_all(flags::version().as_bytes()) {
            Ok(()) => ExitCode::SUCCESS,
            Err(_) => ExitCode::FAILURE,
        };
    }
    match log::start(flags.log_format, flags.verbosity).and_then(|()| operate(&flags)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            tracing::error!(error = format!("{error:#}"), "ending");
            ExitCode::FAILURE
        }
    }
}

/// Until it is told to end, or cannot go on.
fn operate(flags: &flags::Flags) -> anyhow::Result<()> {
    tracing::info!(version = env!("CARGO_PKG_VERSION"), ?flags, "starting");
    for (old, new) in flags.renamed() {
        tracing::warn!("{old} is called {new} now; the old name is read for one more release");
    }
    run::operator(flags.options().context("reading the flags")?)
}
