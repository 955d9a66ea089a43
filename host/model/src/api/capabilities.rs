//! Capabilities that plugins request and the cluster or a job allows.

/// A plugin requests a memory file system at `/dev/shm`; the parameter is its size.
pub const CAPABILITY_SHARED_MEMORY: &str = "shared-memory";
/// A plugin requests the capability `IPC_LOCK`, to register memory with a network card.
pub const CAPABILITY_LOCK_MEMORY: &str = "lock-memory";
/// A plugin requests that the launcher starts after its workers.
pub const CAPABILITY_WAIT_FOR_MEMBERS: &str = "wait-for-members";
