//! What can go wrong with a plugin, in words that its author understands.

use std::{any::Any, fmt};

use coxswain_model::plan::{Failure, Violation};

/// Why a call gave nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The plugin said no. Final for this input: the user changes the job, or nobody asks again.
    Refused(Failure),
    /// The plugin is at fault.
    Broken(Break),
}

/// How a plugin broke.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Break {
    /// It used up its instructions. The same input always stops at the same instruction.
    OutOfFuel {
        /// What it had.
        fuel: u64,
    },
    /// It ran into the clock: only where the machine stalls, as fuel ends first.
    OutOfTime,
    /// It asked for more memory than a call may have.
    OutOfMemory,
    /// It recursed too deeply.
    OutOfStack,
    /// It returned too many things or too many bytes.
    ResultTooLarge(String),
    /// It trapped (panicked, or left its memory), or returned what is no value of the contract.
    Trapped(String),
    /// It has no such interface.
    NotExported(&'static str),
    /// The engine itself panicked.
    EnginePanicked(String),
}

/// Why a component is not loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refused {
    /// More bytes than its source allows.
    TooLarge {
        /// Its bytes.
        size: usize,
        /// Bytes allowed.
        bound: usize,
    },
    /// Not a component, or one with parts beyond bounds.
    Malformed(String),
    /// It imports something that can be called.
    Impure(String),
    /// It does not export what a plugin exports, in a version that this host speaks.
    WrongWorld(String),
    /// The compiler refused it.
    NotCompiled(String),
    /// The compiler could not do its work, which says nothing of the component: another time it may.
    CompilerLost(String),
    /// What it says of itself cannot be: every contradiction.
    Misdescribed(Vec<String>),
    /// It broke while it was asked who it is.
    Broke(Break),
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(Failure::Unsupported(text)) => f.write_str(text),
            Self::Refused(Failure::Invalid(violations)) => join(f, violations),
            Self::Broken(how) => how.fmt(f),
        }
    }
}

impl fmt::Display for Break {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OutOfFuel { fuel } => {
                write!(
                    f,
                    "it used up its {fuel} instructions (an endless loop, or too much work for one job)"
                )
            }
            Self::OutOfTime => f.write_str("it ran for more than 2 seconds"),
            Self::OutOfMemory => f.write_str("it asked for more than 64 MiB of memory"),
            Self::OutOfStack => f.write_str("it recursed too deeply"),
            Self::ResultTooLarge(what) => write!(f, "its result is too large: {what}"),
            Self::Trapped(how) => write!(f, "it trapped: {how}"),
            Self::NotExported(interface) => write!(f, "it does not export the interface {interface}"),
            Self::EnginePanicked(text) => {
                write!(f, "the WebAssembly engine panicked while running it: {text}")
            }
        }
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLarge { size, bound } => write!(f, "it has {size} bytes, at most {bound} are allowed"),
            Self::Malformed(text) | Self::WrongWorld(text) | Self::CompilerLost(text) => f.write_str(text),
            Self::Impure(import) => write!(
                f,
                "it imports {import}, and a plugin imports nothing that can be called; Rust plugins are built for \
                 wasm32-unknown-unknown, not for a WASI target"
            ),
            Self::NotCompiled(text) => write!(f, "it does not compile: {text}"),
            Self::Misdescribed(contradictions) => {
                write!(f, "its description is wrong: {}", contradictions.join("; "))
            }
            Self::Broke(how) => write!(f, "it broke when it was asked to describe itself: {how}"),
        }
    }
}

impl std::error::Error for Fault {}
impl std::error::Error for Break {}
impl std::error::Error for Refused {}

impl Refused {
    /// A short constant word, for metrics and conditions.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::TooLarge { .. } => "TooLarge",
            Self::Malformed(_) => "Malformed",
            Self::Impure(_) => "Impure",
            Self::WrongWorld(_) => "WrongWorld",
            Self::NotCompiled(_) => "NotCompiled",
            Self::CompilerLost(_) => "CompilerLost",
            Self::Misdescribed(_) => "Misdescribed",
            Self::Broke(how) => how.reason(),
        }
    }
}

impl Break {
    /// Every [`Break::reason`].
    pub const REASONS: [&str; 8] = [
        "OutOfFuel",
        "OutOfTime",
        "OutOfMemory",
        "OutOfStack",
        "ResultTooLarge",
        "Trapped",
        "NotExported",
        "EnginePanicked",
    ];

    /// From what a panic carries.
    pub(crate) fn panicked(panic: &(dyn Any + Send)) -> Self {
        let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
        Self::EnginePanicked(text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default())
    }

    /// A short constant word, for metrics and conditions.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::OutOfFuel { .. } => "OutOfFuel",
            Self::OutOfTime => "OutOfTime",
            Self::OutOfMemory => "OutOfMemory",
            Self::OutOfStack => "OutOfStack",
            Self::ResultTooLarge(_) => "ResultTooLarge",
            Self::Trapped(_) => "Trapped",
            Self::NotExported(_) => "NotExported",
            Self::EnginePanicked(_) => "EnginePanicked",
        }
    }
}

fn join(f: &mut fmt::Formatter<'_>, violations: &[Violation]) -> fmt::Result {
    for (at, violation) in violations.iter().enumerate() {
        let separator = if at == 0 { "" } else { "; " };
        write!(f, "{separator}{}: {}", violation.path, violation.text)?;
    }
    Ok(())
}
