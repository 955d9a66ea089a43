//! Who makes plugins of components: the sandbox of this process, or in another world than the machine's whatever stands there
//! ([`coxswain_cluster::world::engine`]).

use std::sync::Arc;

use coxswain_sandbox::{Plugin, Refused, Sandbox};

/// Makes plugins of components.
pub trait Load: Send + Sync {
    /// As [`Sandbox::load`].
    fn load(&self, name: &str, bytes: &[u8], bound: usize) -> Result<Plugin, Refused>;
}

impl Load for Sandbox {
    fn load(&self, name: &str, bytes: &[u8], bound: usize) -> Result<Plugin, Refused> {
        Self::load(self, name, bytes, bound)
    }
}

/// The engine of another world.
pub struct Loader(pub Arc<dyn Load>);
