//! GKE gIB (GPUDirect-RDMA): A4 and A4X.
//!
//! Source: container-engine-accelerators 992db812, `gpudirect-rdma/*.yaml`; what gIB's `set_nccl_env.sh` sets.

use super::Profile;

/// For every machine with gIB.
pub const COMMON: &str = "\
NCCL_SOCKET_IFNAME=@
NCCL_NET=gIB
NCCL_CROSS_NIC=0
NCCL_NET_GDR_LEVEL=PIX
NCCL_IB_TC=52
NCCL_IB_FIFO_TC=84
NCCL_IB_ADAPTIVE_ROUTING=1
NCCL_IB_QPS_PER_CONNECTION=4
NCCL_P2P_NET_CHUNKSIZE=131072
NCCL_NVLS_CHUNKSIZE=524288
OMPI_MCA_btl=self,tcp
OMPI_MCA_btl_tcp_if_include=@
OMPI_MCA_mtl=^ofi
PMIX_MCA_gds=^ds12";

pub const PROFILE: Profile = Profile::needing(
    "gke-gib",
    &[COMMON, "NCCL_TUNER_CONFIG_PATH=/usr/local/gib/configs/tuner_config_a4.txtpb"],
    "hostPath volumes /home/kubernetes/bin/gib at /usr/local/gib and /home/kubernetes/bin/nvidia at \
     /usr/local/nvidia, with both lib64 in LD_LIBRARY_PATH; on other machines NCCL_NET=gIB is fatal",
);
