//! Azure MI300X on AKS with RCCL, the cards as DraNet's devices.
//!
//! Source: kubernetes-sigs/dranet f258477, `examples/azure_aks_examples`, MI300X.

use super::Profile;

pub const PROFILE: Profile = Profile::needing(
    "azure-mi300x",
    &["\
NCCL_SOCKET_IFNAME=@
NCCL_IB_HCA=mlx5
NCCL_DMABUF_ENABLE=1
RCCL_MSCCL_ENABLE=0"],
    "claims on the cards, and RCCL where the image's loader finds it",
)
.for_rccl();
