//! GKE gIB (GPUDirect-RDMA): A3 Ultra.
//!
//! Source: container-engine-accelerators 992db812, `gpudirect-rdma/*.yaml`; what gIB's `set_nccl_env.sh` sets.

use super::{Profile, gke_gib};

pub const PROFILE: Profile = Profile::needing(
    "gke-gib-a3u",
    &[gke_gib::COMMON, "NCCL_TUNER_CONFIG_PATH=/usr/local/gib/configs/tuner_config_a3u.txtpb"],
    "hostPath volumes /home/kubernetes/bin/gib at /usr/local/gib and /home/kubernetes/bin/nvidia at \
     /usr/local/nvidia, with both lib64 in LD_LIBRARY_PATH; on other machines NCCL_NET=gIB is fatal",
);
