//! GKE GPUDirect-TCPXO (FasTrak): A3 Mega.
//!
//! Source: container-engine-accelerators 992db812, `gpudirect-tcpxo/README.md`, `nccl-test-latest.yaml`.

use super::Profile;

pub const PROFILE: Profile = Profile::refused(
    "gke-tcpxo",
    "it needs the sidecar tcpxo-daemon with NET_ADMIN and NET_BIND_SERVICE and the pod annotations \
     devices.gke.io/container.tcpxo-daemon, networking.gke.io/default-interface and \
     networking.gke.io/interfaces, which no plugin can bring: write them into the pod templates and \
     source the environment script of Google's plugin, \
     whose checker ends a job with other values",
);
