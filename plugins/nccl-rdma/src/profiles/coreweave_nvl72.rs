//! CoreWeave GB200 and GB300 NVL72 with InfiniBand.
//!
//! Source: coreweave/nccl-tests cb86553, `mpi-operator/*.yaml`, GB200 and GB300.

use super::Profile;

pub const PROFILE: Profile = Profile::needing(
    "coreweave-nvl72",
    &["\
NCCL_SOCKET_IFNAME=@
NCCL_IB_HCA=ibp
NCCL_MNNVL_ENABLE=1
NCCL_CUMEM_ENABLE=1
NCCL_NET_GDR_C2C=1
NCCL_NET_PLUGIN=none
NCCL_SHM_DISABLE=0
NVIDIA_IMEX_CHANNELS=0
UCX_TLS=tcp
UCX_NET_DEVICES=@
OMPI_MCA_coll_hcoll_enable=0"],
    "for NVLink between nodes a claim on a ComputeDomain, or nodes of one nvidia.com/gpu.clique",
);
