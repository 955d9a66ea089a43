//! Subcommands for people.

mod drain;
mod explain;
mod plugin;
pub mod render;
mod rendering;
mod table;

use std::{io, process::ExitCode};

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
    /// Compile a plugin from standard input to standard output; the operator calls itself so.
    #[command(name = coxswain_plugins::COMPILE, hide = true)]
    CompilePlugin,
}

impl Tool {
    /// Reads the command line, if its first word is a subcommand; prints usage and exits where that is wrong. The
    /// operator itself has no such word, only flags.
    pub fn from_words(words: impl IntoIterator<Item = String>) -> Option<Self> {
        let words: Vec<String> = words.into_iter().collect();
        let is_flag = words.get(1).is_none_or(|word| word.starts_with('-'));
        (!is_flag).then(|| Self::parse_from(words))
    }

    /// Runs it; an error is reported to the person at the terminal.
    pub fn run(self) -> ExitCode {
        if let Command::CompilePlugin = self.command {
            return compile_plugin();
        }
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
        let result = runtime.map_err(Into::into).and_then(|runtime| runtime.block_on(self.command.run()));
        result.unwrap_or_else(|error| {
            eprintln!("coxswain: {error:#}");
            ExitCode::FAILURE
        })
    }
}

impl Command {
    async fn run(self) -> anyhow::Result<ExitCode> {
        match self {
            Self::Render(arguments) => render::run(arguments).await.map(|()| ExitCode::SUCCESS),
            Self::Drain(arguments) => drain::run(arguments).await.map(|()| ExitCode::SUCCESS),
            Self::Plugin(command) => command.run().await,
            Self::CompilePlugin => Ok(compile_plugin()),
        }
    }
}

/// Without a runtime, which would only cost memory. An error is the operator's to tell, so it has no introduction.
fn compile_plugin() -> ExitCode {
    match coxswain_sandbox::compile(&mut io::stdin().lock(), &mut io::stdout().lock()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error:#}");
            ExitCode::FAILURE
        }
    }
}
