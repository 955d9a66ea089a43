//! CoreWeave with InfiniBand: H100, B200, B300, reductions in the switches (SHARP).
//!
//! Source: coreweave/nccl-tests cb86553, `mpi-operator/*.yaml`, the SHARP variant.
//!
//! Without `NCCL_NET_PLUGIN=none`: SHARP comes as a plugin.

use super::{Profile, coreweave_ib};

pub const PROFILE: Profile = Profile::complete(
    "coreweave-ib-sharp",
    &[
        coreweave_ib::COMMON,
        coreweave_ib::CARDS,
        "\
NCCL_COLLNET_ENABLE=1
NCCL_ALGO=COLLNETCHAIN",
    ],
);
