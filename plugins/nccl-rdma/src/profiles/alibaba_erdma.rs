//! Alibaba ACK with eRDMA, the cards as DraNet's devices.
//!
//! Source: kubernetes-sigs/dranet f258477, `examples/alibaba_ack_examples`.

use super::Profile;

pub const PROFILE: Profile = Profile::complete(
    "alibaba-erdma",
    &["\
NCCL_SOCKET_IFNAME=@
NCCL_IB_HCA=erdma
NCCL_SHM_DISABLE=1
OMPI_MCA_pml=ob1
OMPI_MCA_btl=tcp,self
OMPI_MCA_btl_tcp_if_include=@
OMPI_MCA_coll_hcoll_enable=0
OMPI_MCA_coll_ucc_enable=0"],
);
