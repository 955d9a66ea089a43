//! `coxswain`: without a subcommand the operator, with one a tool for people.
#![forbid(unsafe_code)]

use std::{io::Write, process::ExitCode};

use coxswain_operator::{flags, run, tool};

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
    run::operator(flags)
}
