//! InfiniBand with NVIDIA (Mellanox) cards, no particular platform.
//!
//! Source: NCCL 2.30.7 (`transport/net_ib`), NCCL user guide; the lines of Intel MPI: Intel's and libfabric's manuals.
//!
//! `NCCL_IB_TIMEOUT`, `NCCL_IB_RETRY_CNT`, `NCCL_IB_QPS_PER_CONNECTION` and `NCCL_IB_GID_INDEX` are NCCL's to choose, and so is
//! UCX's list of transports.

use super::Profile;

/// For RoCE, too.
pub const COMMON: &str = "\
NCCL_SOCKET_IFNAME=@
NCCL_IB_DISABLE=0
NCCL_IB_HCA=mlx5
NCCL_NET_GDR_LEVEL=PHB
NCCL_DMABUF_ENABLE=1
UCX_NET_DEVICES=mlx5_0:1
OMPI_MCA_pml=ucx
OMPI_MCA_coll=^hcoll
I_MPI_FABRICS=shm:ofi
Intel FI_PROVIDER=mlx";

pub const PROFILE: Profile = Profile::complete("infiniband", &[COMMON]);
