//! How a variable gets to the ranks, by its name.

/// A way to the ranks.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Carrier {
    /// A line of `nccl.conf`, which NCCL reads in every rank.
    NcclConf,
    /// A line of `ucx.conf`, and a variable that is handed on.
    UcxConf,
    /// A variable of every pod, handed on by the launcher.
    Environment,
    /// A variable of the launcher, which this flavor's launcher hands on (or reads) by itself.
    LauncherOf(&'static str),
    /// A variable of the pods that execute ranks, for those who make the containers.
    Pods,
}

/// Everything that profiles and users may set: the beginning of its name, and its way.
pub const PREFIXES: [(&str, Carrier); 19] = [
    ("NCCL_", Carrier::NcclConf),
    ("RCCL_", Carrier::NcclConf),
    ("UCX_", Carrier::UcxConf),
    ("OMPI_MCA_", Carrier::LauncherOf("OpenMPI")),
    ("PRTE_MCA_", Carrier::LauncherOf("OpenMPI")),
    ("PMIX_MCA_", Carrier::LauncherOf("OpenMPI")),
    ("I_MPI_", Carrier::LauncherOf("Intel")),
    ("HYDRA_", Carrier::LauncherOf("MPICH")),
    ("MPIR_CVAR_", Carrier::LauncherOf("MPICH")),
    ("NVIDIA_IMEX_CHANNELS", Carrier::Pods),
    ("FI_", Carrier::Environment),
    ("OFI_NCCL_", Carrier::Environment),
    ("SHARP_", Carrier::Environment),
    ("HCOLL_", Carrier::Environment),
    ("CUDA_DEVICE_", Carrier::Environment),
    ("RX_QUEUE_LEN", Carrier::Environment),
    ("IB_RX_QUEUE_LEN", Carrier::Environment),
    ("RDMAV_", Carrier::Environment),
    ("MLX5_", Carrier::Environment),
];

/// The way of the variable of this name, if there is one.
pub fn of(name: &str) -> Option<Carrier> {
    PREFIXES.iter().find(|(prefix, _)| name.starts_with(prefix)).map(|(_, carrier)| *carrier)
}
