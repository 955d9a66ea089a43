//! `coxswain plugin …`: what authors and administrators of plugins do, by the operator's own code.

mod check;
pub(super) mod component;
mod decide;
mod diff;
mod format;
mod list;
mod new;
mod pack;
mod report;
mod status;

use std::process::ExitCode;

use anyhow::Result;
use clap::Subcommand;
use tokio::task::spawn_blocking;

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Write a crate that builds a plugin and passes `plugin check`, to start from.
    New(new::Arguments),
    /// Try a component as the operator would before it serves, and say what it costs; exits 1 if it must not serve.
    Check(check::Arguments),
    /// Print the ConfigMap that brings a component into a cluster.
    Pack(pack::Arguments),
    /// Show what another component would change in the objects of jobs; exits 1 if anything.
    Diff(diff::Arguments),
    /// Show the plugins of a cluster: what serves new jobs, what was refused, how many active jobs use each.
    List(list::List),
    /// Show everything about one plugin of a cluster; exits 1 if it does not serve.
    Status(list::Status),
    /// Let a component serve that would change the plans of active jobs, where its ConfigMap says onChange: hold.
    Approve(decide::Approve),
    /// Let new jobs have the component that served before.
    Rollback(decide::Back),
}

impl Command {
    /// Does it.
    pub async fn run(self) -> Result<ExitCode> {
        match self {
            Self::New(arguments) => new::run(&arguments),
            Self::Check(arguments) => spawn_blocking(move || check::run(&arguments)).await?,
            Self::Pack(arguments) => spawn_blocking(move || pack::run(&arguments)).await?,
            Self::Diff(arguments) => diff::run(arguments).await,
            Self::List(arguments) => list::list(arguments).await,
            Self::Status(arguments) => list::status(arguments).await,
            Self::Approve(arguments) => decide::approve(arguments).await,
            Self::Rollback(arguments) => decide::rollback(arguments).await,
        }
    }
}
