//! Subcommands for people.

pub mod render;

use clap::Subcommand;

/// What `coxswain` does besides being the operator.
#[derive(Debug, Subcommand)]
pub enum Tool {
    /// Print every object that the operator would create for a job, without a cluster.
    Render(render::Arguments),
}

impl Tool {
    /// Runs it; the error is for the person at the terminal.
    pub async fn run(self) -> anyhow::Result<()> {
        match self {
            Self::Render(arguments) => render::run(arguments).await,
        }
    }
}
