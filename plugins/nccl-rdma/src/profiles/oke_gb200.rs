//! Oracle OKE: BM.GPU.GB200-v3.4, NVLink within the node alone.
//!
//! Source: kubernetes-sigs/dranet f258477, `examples/oci_oke_examples/BM.GPU.GB200-v3.4`, the single-node variant.

use super::{Profile, oke_roce};

/// For both variants.
pub const COMMON: &str = "\
NCCL_IB_GID_INDEX=3
NCCL_IB_DATA_DIRECT=0
NCCL_NET_GDR_C2C=1
NCCL_MIN_NCHANNELS=8";

pub const PROFILE: Profile = Profile::complete(
    "oke-gb200",
    &[
        oke_roce::COMMON,
        COMMON,
        "\
NCCL_IB_QPS_PER_CONNECTION=2
NCCL_NET_PLUGIN=sys
NCCL_MNNVL_ENABLE=0",
    ],
);
