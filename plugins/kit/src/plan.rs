//! Small parts of a plan.

use alloc::string::String;

use crate::types::{File, Level, Note, Place, Violation};

/// A file beside the host list, in the driver's pod.
pub fn job_file(name: &str, content: String) -> File {
    File { name: name.into(), place: Place::Job, executable: false, content }
}

/// A script beside the host list, in the driver's pod.
pub fn job_script(name: &str, content: String) -> File {
    File { executable: true, ..job_file(name, content) }
}

/// A file in every pod that starts or executes ranks, at a place that the host knows by that name.
pub fn file_everywhere(place: &str, name: &str, content: String) -> File {
    File { name: name.into(), place: Place::Everywhere(place.into()), executable: false, content }
}

/// Something that the user may want to know. One line.
pub fn remark(text: impl Into<String>) -> Note {
    Note { level: Level::Info, text: text.into() }
}

/// Something that the user should look at. One line.
pub fn warning(text: impl Into<String>) -> Note {
    Note { level: Level::Warning, text: text.into() }
}

/// A mistake of the user's: the field, and what would be right.
pub fn violation(path: impl Into<String>, text: impl Into<String>) -> Violation {
    Violation { path: path.into(), text: text.into() }
}
