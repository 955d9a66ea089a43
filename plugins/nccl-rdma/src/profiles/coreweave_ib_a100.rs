//! CoreWeave with InfiniBand: A100, which has four cards.
//!
//! Source: coreweave/nccl-tests cb86553, `mpi-operator/*.yaml`.

use super::{Profile, coreweave_ib};

pub const PROFILE: Profile = Profile::complete(
    "coreweave-ib-a100",
    &[
        coreweave_ib::COMMON,
        "\
NCCL_COLLNET_ENABLE=0
UCX_NET_DEVICES=ibp0:1,ibp1:1,ibp2:1,ibp3:1",
    ],
);
