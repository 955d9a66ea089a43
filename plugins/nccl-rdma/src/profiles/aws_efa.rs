//! AWS EFA on EKS: p5.
//!
//! Source: awsome-distributed-training 7217859f, `micro-benchmarks/nccl-tests/kubernetes`.

use super::Profile;

/// The MPI's part.
pub const COMMON: &str = "\
OMPI_MCA_pml=^ucx
OMPI_MCA_btl=tcp,self
OMPI_MCA_btl_tcp_if_exclude=lo,docker0,veth_def_agent";

pub const PROFILE: Profile = Profile::needing(
    "aws-efa",
    &[
        COMMON,
        "\
FI_PROVIDER=efa
FI_EFA_FORK_SAFE=1
NCCL_TUNER_PLUGIN=/opt/amazon/ofi-nccl/lib/x86_64-linux-gnu/libnccl-ofi-tuner.so
NCCL_BUFFSIZE=8388608
NCCL_P2P_NET_CHUNKSIZE=524288",
    ],
    "hugepages-2Mi: 5120Mi beside vpc.amazonaws.com/efa, and an image with aws-ofi-nccl",
);
