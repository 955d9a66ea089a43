//! Oracle OKE with RoCE: BM.GPU.H100.8.
//!
//! Source: kubernetes-sigs/dranet f258477, `examples/oci_oke_examples/BM.GPU.H100.8`.

use super::Profile;

/// For every machine of OKE.
pub const COMMON: &str = "\
NCCL_SOCKET_IFNAME=@
NCCL_DMABUF_ENABLE=1
NCCL_IB_TC=41
NCCL_IB_SL=0
NCCL_IB_TIMEOUT=22
NCCL_NVLS_ENABLE=0
NCCL_IB_SPLIT_DATA_ON_QPS=0
NCCL_BUFFSIZE=16777216
UCX_NET_DEVICES=@
HCOLL_ENABLE_MCAST_ALL=0
RX_QUEUE_LEN=8192
IB_RX_QUEUE_LEN=8192
OMPI_MCA_pml=ucx
OMPI_MCA_coll=^hcoll
OMPI_MCA_coll_hcoll_enable=0";

pub const PROFILE: Profile = Profile::complete("oke-roce", &[COMMON, "NCCL_IB_QPS_PER_CONNECTION=4"]);
