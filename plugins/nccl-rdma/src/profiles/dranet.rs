//! RDMA cards as DraNet's devices, on the same PCIe root as their GPUs, no particular platform.
//!
//! Source: kubernetes-sigs/dranet f258477, `examples/distributed_training/launcher-4gpu.sh`.

use super::Profile;

pub const PROFILE: Profile = Profile::complete(
    "dranet",
    &["\
NCCL_SOCKET_IFNAME=@
NCCL_IB_DISABLE=0
NCCL_IB_HCA=mlx5
NCCL_NET_GDR_LEVEL=PHB
NCCL_DMABUF_ENABLE=1
CUDA_DEVICE_MAX_CONNECTIONS=1
OMPI_MCA_routed=direct
OMPI_MCA_hwloc_base_binding_policy=none
PRTE_MCA_hwloc_default_binding_policy=none"],
);
