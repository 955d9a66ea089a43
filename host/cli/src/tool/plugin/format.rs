//! How the subcommands write.

use clap::ValueEnum;

/// Form of the output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people; colours on a terminal.
    #[default]
    Text,
    /// One JSON document.
    Json,
}
