//! AMD Pensando AINIC with RCCL.
//!
//! Source: AMD's ROCm documentation, RCCL on AINIC.

use super::Profile;

pub const PROFILE: Profile = Profile::complete(
    "amd-ainic",
    &["\
NCCL_SOCKET_IFNAME=@
NCCL_IB_HCA=ionic_0,ionic_1,ionic_2,ionic_3,ionic_4,ionic_5,ionic_6,ionic_7
NCCL_IB_GID_INDEX=1
NCCL_IB_TC=104
NCCL_IB_FIFO_TC=192
NCCL_NET_PLUGIN=librccl-net.so"],
)
.for_rccl();
