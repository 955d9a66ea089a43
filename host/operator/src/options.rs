//! What can be set when the operator starts, read and checked: the command line's business is over here.

use std::path::PathBuf;

use coxswain_cluster::{client::ApiServer, rate::Rate};
use coxswain_model::{desired::Gang, job::LostWorker};
use coxswain_plugins::Rules;

/// Everything that an administrator sets for one operator.
#[derive(Clone, Debug)]
pub struct Options {
    /// How to reach the API server.
    pub api_server: ApiServer,
    /// The only namespace whose jobs are looked at; none is all.
    pub namespace: Option<String>,
    /// Jobs that are worked on at once, at least 1.
    pub at_once: Option<usize>,
    /// The bound on requests, if one is set.
    pub api_rate: Option<Rate>,
    /// The bound on reconciles, if one is set.
    pub reconcile_rate: Option<Rate>,
    /// Port of `/metrics`; 0 for none.
    pub monitoring_port: u16,
    /// Port of `/healthz` and `/readyz`; 0 for none.
    pub health_port: u16,
    /// Who starts the pods of a job together.
    pub gang: Gang,
    /// Namespace of the lease.
    pub lock_namespace: String,
    /// What holds where a job does not say.
    pub lost_worker: LostWorker,
    /// Namespace of the plugins' `ConfigMap`s.
    pub plugin_namespace: String,
    /// Directory of the image's plugins.
    pub plugin_dir: PathBuf,
    /// What holds for all plugins.
    pub rules: Rules,
}

impl Default for Options {
    /// As the MPI Operator's without a flag, and without endpoints.
    fn default() -> Self {
        Self {
            api_server: ApiServer::default(),
            namespace: None,
            at_once: None,
            api_rate: None,
            reconcile_rate: None,
            monitoring_port: 0,
            health_port: 0,
            gang: Gang::Off,
            lock_namespace: "mpi-operator".to_owned(),
            lost_worker: LostWorker::default(),
            plugin_namespace: "mpi-operator".to_owned(),
            plugin_dir: PathBuf::from("/plugins"),
            rules: Rules::default(),
        }
    }
}
