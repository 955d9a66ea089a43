//! CoreWeave GB300 with RoCE on Spectrum-X.
//!
//! Source: coreweave/nccl-tests cb86553, `mpi-operator/nccl-test-*-gb300-roce-*.yaml`.

use super::Profile;

pub const PROFILE: Profile = Profile::refused(
    "coreweave-spectrum-x",
    "it needs the pod annotation k8s.v1.cni.cncf.io/networks with 16 macvlan networks, and \
     LD_LIBRARY_PATH with the Spectrum-X plugin of the image, which no plugin can bring: write both into \
     the pod templates and choose roce with setting set: \"NCCL_IB_HCA=ibp NCCL_IB_ADDR_FAMILY=AF_INET6 \
     NCCL_IB_ADDR_RANGE=fd02::/16 NCCL_IB_TC=96 NCCL_IB_ADAPTIVE_ROUTING=1 UCX_TLS=tcp \
     UCX_NET_DEVICES=eth0 OMPI_MCA_pml=\"",
);
