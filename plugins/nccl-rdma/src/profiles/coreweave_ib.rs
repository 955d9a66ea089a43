//! CoreWeave with InfiniBand: H100, B200, B300.
//!
//! Source: coreweave/nccl-tests cb86553, `mpi-operator/*.yaml`; docs.coreweave.com, nccl-configuration-reference.

use super::Profile;

/// For every machine with InfiniBand.
pub const COMMON: &str = "\
NCCL_SOCKET_IFNAME=@
NCCL_IB_HCA=ibp
SHARP_COLL_ENABLE_PCI_RELAXED_ORDERING=1
OMPI_MCA_hwloc_base_binding_policy=none
PRTE_MCA_hwloc_default_binding_policy=none";
/// Eight cards.
pub const CARDS: &str = "UCX_NET_DEVICES=ibp0:1,ibp1:1,ibp2:1,ibp3:1,ibp4:1,ibp5:1,ibp6:1,ibp7:1";

pub const PROFILE: Profile = Profile::complete(
    "coreweave-ib",
    &[
        COMMON,
        CARDS,
        "\
NCCL_NET_PLUGIN=none
NCCL_COLLNET_ENABLE=0",
    ],
);
