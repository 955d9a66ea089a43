//! RoCE v2 with NVIDIA (Mellanox) cards, no particular platform.
//!
//! Source: NCCL 2.30.7 (`transport/net_ib`).
//!
//! Traffic class, service level and, where NCCL does not find it, the GID index belong to a site: setting `set`, such as
//! `NCCL_IB_TC=106 NCCL_IB_GID_INDEX=3 UCX_IB_GID_INDEX=3 UCX_IB_TRAFFIC_CLASS=106`.

use super::{Profile, infiniband};

pub const PROFILE: Profile = Profile::complete("roce", &[infiniband::COMMON, "NCCL_IB_ROCE_VERSION_NUM=2"]);
