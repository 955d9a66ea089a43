//! AWS EFA with libfabric before 1.18, aws-ofi-nccl up to 1.5 or an EFA installer before 1.29.1.
//!
//! Source: awsome-distributed-training 7217859f, `1.architectures/efa-cheatsheet.md`.
//!
//! The source names the interfaces of the node, `en`; in a pod there is the pod network's.

use super::Profile;

pub const PROFILE: Profile = Profile::needing(
    "aws-efa-old",
    &["\
NCCL_SOCKET_IFNAME=@
FI_PROVIDER=efa
FI_EFA_USE_DEVICE_RDMA=1
FI_EFA_SET_CUDA_SYNC_MEMOPS=0
NCCL_PROTO=simple"],
    "hugepages-2Mi beside vpc.amazonaws.com/efa",
);
