//! What came through: a plan without anything that a plugin may not do.

use crate::{
    kind::{Role, RoleId},
    plan::{EnvValue, File, Note, Port},
};

/// A plan that passed every rule, sorted by what it touches.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Granted {
    /// For the main container of each group's pods, in the order of the kind's roles.
    pub groups: Vec<(&'static Role, Grant)>,
    /// The driver's whole command, if the job asked for it.
    pub launch_command: Option<Vec<String>>,
    /// Words before the user's command in the driver.
    pub prefix_command: Vec<String>,
    /// Files beside the host list, by name.
    pub job_files: Vec<File>,
    /// Files for every pod; `place` is one of the known places.
    pub everywhere: Vec<File>,
    /// Size of `/dev/shm`, if granted: a Kubernetes quantity.
    pub shared_memory: Option<String>,
    /// `IPC_LOCK`, if granted.
    pub lock_memory: bool,
    /// For the user: the plugins' own, and requests that were not granted.
    pub notes: Vec<Note>,
}

impl Granted {
    /// For the main container of that role's pods.
    pub fn of(&self, role: RoleId) -> &Grant {
        static NOTHING: Grant = Grant { env: Vec::new(), ports: Vec::new() };
        self.groups.iter().find(|(granted, _)| granted.id == role).map_or(&NOTHING, |(_, grant)| grant)
    }
}

/// What one role's main container gets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Grant {
    /// In plan order, names unique (the last edit of a name wins at the place of the first).
    pub env: Vec<GrantedEnv>,
    /// Names unique.
    pub ports: Vec<Port>,
}

/// A variable that may be set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GrantedEnv {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: EnvValue,
    /// Replaces the user's value.
    pub force: bool,
    /// The plugin whose value it is.
    pub by: String,
    /// The plugins whose values it replaced.
    pub replaced: Vec<String>,
}
