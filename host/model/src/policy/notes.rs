//! Rules for remarks.

use super::findings::{Findings, is_control};
use crate::{job::ValidJob, plan::Note};

/// Most notes of one plugin.
const MAX_NOTES: usize = 16;
/// Longest note, bytes: as much as an event's message takes.
const MAX_NOTE: usize = 1 << 10;

/// Notes that can be shown as events.
pub(super) fn grant(notes: &[Note], found: &mut Findings) -> Vec<Note> {
    for note in notes {
        if note.text.len() > MAX_NOTE {
            found.refuse(&note.by, "notes", format!("a note is longer than {MAX_NOTE} bytes"));
        }
        if note.text.contains(is_control) {
            found.refuse(&note.by, "notes", "a note holds a control character: it must be a single line");
        }
        let count = notes.iter().filter(|other| other.by == note.by).count();
        if count > MAX_NOTES {
            found.refuse(&note.by, "notes", format!("{count} notes: at most {MAX_NOTES} are allowed"));
        }
    }
    notes.to_vec()
}

/// Tells the job's user of annotations that have another name now.
pub(super) fn renamed(job: &ValidJob, found: &mut Findings) {
    for (old, new) in &job.options().renamed {
        found.note(
            &format!("annotation {old}"),
            format!("is called {new} now; the old name is read for one more release"),
        );
    }
}
