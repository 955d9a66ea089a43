//! What came of a reconcile.

use super::render_error::RenderError;
use crate::{gate::Gate, plan::Note, step::Done};

/// What came of one reconcile up to here.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outcome {
    /// What the steps did.
    pub done: Done,
    /// What was decided about the launcher's gate.
    pub gate: Gate,
    /// Why the job could not be rendered.
    pub render_error: Option<RenderError>,
    /// `openmpi@0123456789ab (v0.1.0)`, launcher first: set in the reconcile whose steps write the job's pin.
    pub pinned: Option<String>,
    /// The plugins' remarks, reported together with the pin.
    pub notes: Vec<Note>,
    /// Annotations that have no effect ([`crate::job::JobOptions::ignored`]), where it is known what renders the job.
    pub ignored: Option<Vec<String>>,
}
