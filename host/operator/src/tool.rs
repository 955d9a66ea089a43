//! Subcommands for people.

mod drain;
mod explain;
mod plugin;
pub mod render;
mod rendering;
mod table;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// What `coxswain` does besides being the operator.
#[derive(Debug, Parser)]
#[command(
    name = "coxswain",
    about = "Tools around the operator for MPI jobs; without a subcommand it is the operator"
)]
pub struct Tool {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Print every object that the operator would create for a job, without a cluster.
    Render(render::Arguments),
    /// Open every start gate, before another operator takes over.
    Drain(drain::Arguments),
    /// Write, check, pack and watch plugins.
    #[command(subcommand)]
    Plugin(plugin::Command),
}

impl Tool {
    /// Reads the command line, if its first word is a subcommand; prints usage and exits where that is wrong. The
    /// operator itself has no such word, only flags.
    pub fn from_words(words: impl IntoIterator<Item = String>) -> Option<Self> {
        let words: Vec<String> = words.into_iter().collect();
        let is_flag = words.get(1).is_none_or(|word| word.starts_with('-'));
        (!is_flag).then(|| Self::parse_from(words))
    }

    /// Runs it; an error is told to the person at the terminal.
    pub fn run(self) -> ExitCode {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
        let result = runtime.map_err(Into::into).and_then(|runtime| match self.command {
            Command::Render(arguments) => {
                runtime.block_on(render::run(arguments)).map(|()| ExitCode::SUCCESS)
            }
            Command::Drain(arguments) => runtime.block_on(drain::run(arguments)).map(|()| ExitCode::SUCCESS),
            Command::Plugin(command) => runtime.block_on(command.run()),
        });
        result.unwrap_or_else(|error| {
            eprintln!("coxswain: {error:#}");
            ExitCode::FAILURE
        })
    }
}
