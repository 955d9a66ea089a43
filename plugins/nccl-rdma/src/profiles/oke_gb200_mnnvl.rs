//! Oracle OKE: BM.GPU.GB200-v3.4, NVLink between nodes.
//!
//! Source: kubernetes-sigs/dranet f258477, `examples/oci_oke_examples/BM.GPU.GB200-v3.4`, the multi-node variant.

use super::{Profile, oke_gb200, oke_roce};

pub const PROFILE: Profile = Profile::needing(
    "oke-gb200-mnnvl",
    &[
        oke_roce::COMMON,
        oke_gb200::COMMON,
        "\
NCCL_IB_QPS_PER_CONNECTION=1
NCCL_NET_PLUGIN=none
NCCL_MNNVL_ENABLE=1
NCCL_CUMEM_ENABLE=1
NCCL_IB_HCA==mlx5_0,mlx5_1,mlx5_2,mlx5_3,mlx5_5,mlx5_6,mlx5_7,mlx5_8
UCX_TLS=tcp
OMPI_MCA_btl_tcp_if_include=@",
    ],
    "a claim on a ComputeDomain",
);
