//! AWS EFA on EKS, with an aws-ofi-nccl that sets NCCL's values by itself for each instance type.
//!
//! Source: aws-ofi-nccl 2daf7d30, `src/platform-aws.cpp`; awsome-distributed-training 7217859f, `efa-cheatsheet.md`.
//!
//! p4d, p5, p5en, p6 and g7e differ; what aws-ofi-nccl sets when it is loaded gives way to the environment, so a profile that
//! named it would freeze it.

use super::{Profile, aws_efa};

pub const PROFILE: Profile = Profile::needing(
    "aws-efa-presets",
    &[
        aws_efa::COMMON,
        "\
FI_PROVIDER=efa
FI_EFA_FORK_SAFE=1",
    ],
    "hugepages-2Mi beside vpc.amazonaws.com/efa, and an image with a recent aws-ofi-nccl",
);
