//! What the rules find, and what several of them look at.

use super::granted::Granted;
use crate::{
    kind::JobKind,
    plan::{Change, Descriptor, Edit, Note, Plan, Violation},
};

/// Most edits of one plugin.
const MAX_EDITS: usize = 256;

/// What a check finds: reasons to refuse, and remarks.
#[derive(Debug, Default)]
pub(super) struct Findings {
    violations: Vec<Violation>,
    notes: Vec<Note>,
}

impl Findings {
    /// `text` says what is wrong and the way out.
    pub fn refuse(&mut self, by: &str, item: &str, text: impl Into<String>) {
        self.refuse_at(format!("plugins[{by}].{item}"), text);
    }

    /// The same, where something else than a plugin is to be changed. Repeats are dropped: an edit of both roles is
    /// checked for each.
    pub fn refuse_at(&mut self, path: impl Into<String>, text: impl Into<String>) {
        let violation = Violation { path: path.into(), text: text.into() };
        if !self.violations.contains(&violation) {
            self.violations.push(violation);
        }
    }

    /// A remark for the user.
    pub fn note(&mut self, by: &str, text: String) {
        self.notes.push(Note { by: by.to_owned(), warning: false, text });
    }

    /// What no rule of one kind sees: edits of plugins or groups that there are not, or too many.
    pub fn strangers(&mut self, kind: &JobKind, plan: &Plan, chain: &[&Descriptor]) {
        for edit in &plan.edits {
            if chain.iter().all(|plugin| plugin.name != edit.by) {
                self.refuse(&edit.by, "edits", "is not in the job's chain of plugins");
            }
            if let Some(group) = edit.group.as_deref().filter(|group| kind.named(group).is_none()) {
                let known: Vec<String> = kind.roles().map(|role| format!("{:?}", role.name)).collect();
                let text = format!("unknown group {group:?}: the groups are {}", known.join(" and "));
                self.refuse(&edit.by, "edits", text);
            }
        }
        for plugin in chain {
            let count = plan.edits.iter().filter(|edit| edit.by == plugin.name).count();
            if count > MAX_EDITS {
                self.refuse(&plugin.name, "edits", format!("{count} edits: at most {MAX_EDITS} are allowed"));
            }
        }
    }

    /// What was granted, if there was no reason to refuse.
    pub fn unless_any(self, granted: impl FnOnce(Vec<Note>) -> Granted) -> Result<Granted, Vec<Violation>> {
        if self.violations.is_empty() { Ok(granted(self.notes)) } else { Err(self.violations) }
    }
}

/// The edits that reach a role.
pub(super) fn edits<'a>(plan: &'a Plan, role: &'a str) -> impl Iterator<Item = (&'a str, &'a Change)> {
    let reaches = move |edit: &&Edit| edit.group.as_deref().is_none_or(|group| group == role);
    plan.edits.iter().filter(reaches).map(|edit| (edit.by.as_str(), &edit.change))
}

/// A control character other than a tab: nothing that people or shells expect in one line.
pub(super) fn is_control(c: char) -> bool {
    c.is_control() && c != '\t'
}
