//! AWS EFA on EKS, the cards as DraNet's devices: p4d.
//!
//! Source: kubernetes-sigs/dranet f258477, `examples/aws_eks_examples`.

use super::Profile;

pub const PROFILE: Profile = Profile::needing(
    "aws-efa-dranet",
    &["\
NCCL_SOCKET_IFNAME=@
FI_PROVIDER=efa
FI_EFA_USE_DEVICE_RDMA=1
NCCL_NET_GDR_LEVEL=PHB
NCCL_SHM_DISABLE=1
NCCL_NVLS_ENABLE=0
NCCL_MNNVL_ENABLE=0"],
    "claims on the cards",
);
