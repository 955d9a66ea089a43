//! Azure GB300 on AKS, the cards as DraNet's devices.
//!
//! Source: kubernetes-sigs/dranet f258477, `examples/azure_aks_examples`, GB300.

use super::Profile;

pub const PROFILE: Profile = Profile::needing(
    "azure-gb300",
    &["\
NCCL_SOCKET_IFNAME=@
NCCL_IB_DISABLE=0
NCCL_IB_DATA_DIRECT=0
NCCL_NET_GDR_LEVEL=PHB
NCCL_SHM_DISABLE=1
NCCL_MNNVL_ENABLE=0
NCCL_NVLS_ENABLE=0"],
    "claims on the cards",
);
