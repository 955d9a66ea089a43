//! Where a file that every pod gets is mounted, by the place's name in the contract, and where the capabilities are that
//! plugins request.

/// The main container's shared memory.
pub(crate) const SHARED_MEMORY_PATH: &str = "/dev/shm";
/// The capability of locking memory.
pub(crate) const LOCK_MEMORY: &str = "IPC_LOCK";

/// A place for one file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Spot {
    /// The place's name in the contract.
    pub place: &'static str,
    /// Full path in the main container.
    pub path: &'static str,
    /// Variable, and its value, by which the program finds the file if the path alone does not do. It gives way to
    /// the user's.
    pub finder: Option<(&'static str, &'static str)>,
}

/// Every known place.
///
/// NCCL reads `/etc/nccl.conf` by itself and RCCL `/etc/rccl.conf`, OpenSSH's `ssh_config` of every large distribution includes
/// `ssh_config.d`, `pam_env` reads `/etc/environment` for sessions of sshd under `UsePAM`. UCX looks into the
/// `etc/ucx` of its own prefix or into `UCX_CONFIG_DIR`. The others have directories that differ by image, so a
/// variable points at the file; `mpirun` hands `OMPI_MCA_*` and `PRTE_MCA_*` on to the ranks.
const SPOTS: [Spot; 8] = [
    Spot { place: "nccl-conf", path: "/etc/nccl.conf", finder: None },
    Spot { place: "rccl-conf", path: "/etc/rccl.conf", finder: None },
    Spot { place: "ucx-conf", path: "/etc/ucx/ucx.conf", finder: Some(("UCX_CONFIG_DIR", "/etc/ucx")) },
    Spot { place: "ssh-config", path: "/etc/ssh/ssh_config.d/10-coxswain.conf", finder: None },
    Spot {
        place: "openmpi-mca-params",
        path: "/etc/coxswain/openmpi-mca-params.conf",
        finder: Some(("OMPI_MCA_mca_base_param_files", "/etc/coxswain/openmpi-mca-params.conf")),
    },
    Spot {
        place: "prte-mca-params",
        path: "/etc/coxswain/prte-mca-params.conf",
        finder: Some(("PRTE_MCA_mca_base_param_files", "/etc/coxswain/prte-mca-params.conf")),
    },
    Spot {
        place: "hydra-conf",
        path: "/etc/coxswain/mpiexec.hydra.conf",
        finder: Some(("HYDRA_CONFIG_FILE", "/etc/coxswain/mpiexec.hydra.conf")),
    },
    Spot { place: "environment", path: "/etc/environment", finder: None },
];

/// The place of this name, if it is known.
pub(crate) fn spot(place: &str) -> Option<Spot> {
    SPOTS.into_iter().find(|spot| spot.place == place)
}
