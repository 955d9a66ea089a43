//! Variables of the main container of one group, in the order in which they are added.

use alloc::{string::String, vec::Vec};

use crate::types::{Change, Edit, EnvEdit, EnvValue, PodField, Precedence};

/// Collects edits for one group.
///
/// `force` replaces the user's value, `fallback` gives way to it. Force what the job cannot run without or what the MPI
/// Operator has always replaced; everything else is the user's to decide.
#[derive(Debug)]
pub struct Env {
    group: Option<String>,
    edits: Vec<Edit>,
}

impl Env {
    /// For the group of that name.
    pub fn of(group: &str) -> Self {
        Self { group: Some(group.into()), edits: Vec::new() }
    }

    /// For the driver and all groups that execute ranks.
    pub fn of_everyone() -> Self {
        Self { group: None, edits: Vec::new() }
    }

    /// Replaces the user's value.
    #[must_use]
    pub fn force(self, name: &str, value: impl Into<String>) -> Self {
        self.set(name, EnvValue::Literal(value.into()), Precedence::Force)
    }

    /// Keeps the user's value if there is one.
    #[must_use]
    pub fn fallback(self, name: &str, value: impl Into<String>) -> Self {
        self.set(name, EnvValue::Literal(value.into()), Precedence::Fallback)
    }

    /// Takes the value from the pod; keeps the user's if there is one.
    #[must_use]
    pub fn field(self, name: &str, field: PodField) -> Self {
        self.set(name, EnvValue::Field(field), Precedence::Fallback)
    }

    /// Applies `change` if `condition` holds.
    #[must_use]
    pub fn when(self, condition: bool, change: impl FnOnce(Self) -> Self) -> Self {
        if condition { change(self) } else { self }
    }

    /// The edits so far.
    pub fn into_edits(self) -> Vec<Edit> {
        self.edits
    }

    fn set(mut self, name: &str, value: EnvValue, precedence: Precedence) -> Self {
        let change = Change::Env(EnvEdit { name: name.into(), value, precedence });
        self.edits.push(Edit { group: self.group.clone(), change });
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edits_keep_their_order_and_precedence() {
        let edits = Env::of("launcher")
            .force("B", "1")
            .when(false, |env| env.force("NEVER", "1"))
            .when(true, |env| env.fallback("A", "2"))
            .field("RANK", PodField::ReplicaIndex)
            .into_edits();

        let seen: Vec<(&str, Precedence)> = edits
            .iter()
            .map(|edit| match &edit.change {
                Change::Env(env) => (&*env.name, env.precedence),
                other => panic!("not a variable: {other:?}"),
            })
            .collect();
        assert_eq!(
            seen,
            [("B", Precedence::Force), ("A", Precedence::Fallback), ("RANK", Precedence::Fallback)]
        );
        assert!(edits.iter().all(|edit| edit.group.as_deref() == Some("launcher")));
    }
}
