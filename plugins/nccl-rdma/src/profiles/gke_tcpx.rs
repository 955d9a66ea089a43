//! GKE GPUDirect-TCPX: A3 High.
//!
//! Source: container-engine-accelerators 992db812, `gpudirect-tcpx/nccl-config.yaml`.

use super::Profile;

pub const PROFILE: Profile = Profile::refused(
    "gke-tcpx",
    "it needs the sidecar tcpx-daemon and the node's NVIDIA libraries as hostPath volumes, which no \
     plugin can bring: write them and Google's NCCL_GPUDIRECTTCPX_* variables into the pod templates",
);
