//! What must never happen, checked on the server's side at every request and every write. The numbers are those of the
//! design (README.md).

mod ends;
mod objects;
mod requests;

use std::sync::{Arc, Mutex, PoisonError};

use crate::{network::Network, plan::Plan};

/// What was broken, in words. Cheap to share.
#[derive(Clone, Default)]
pub struct Violations(Arc<Mutex<Vec<String>>>);

impl Violations {
    /// Something was.
    pub fn add(&self, rule: &str, what: &str) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let line = format!("{rule}: {what}");
        if !all.contains(&line) {
            all.push(line);
        }
    }

    /// All of them.
    pub fn all(&self) -> Vec<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Watches over everything from now on.
pub fn start(plan: &Plan, network: &Network) -> Violations {
    let violations = Violations::default();
    network.server.observe(Arc::new(requests::Requests::new(plan, network.clone(), violations.clone())));
    network.server.observe(Arc::new(objects::Objects::new(plan, network.clone(), violations.clone())));
    network.server.observe(Arc::new(ends::Ends::new(network.server.clone(), violations.clone())));
    violations
}
