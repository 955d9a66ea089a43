//! Azure ND on AKS with InfiniBand: A100 and H100.
//!
//! Source: Azure/aks-rdma-infiniband 700dabb, `tests/scenarios/k8s`.

use super::Profile;

pub const PROFILE: Profile = Profile::needing(
    "azure-nd",
    &["\
NCCL_SOCKET_IFNAME=@
NCCL_IB_DISABLE=0
NCCL_NET_GDR_LEVEL=SYS
NCCL_TOPO_FILE=/opt/nvidia-topology/topo.xml
CUDA_DEVICE_ORDER=PCI_BUS_ID"],
    "the topology of the VM size from a ConfigMap at /opt/nvidia-topology/topo.xml; IPoIB for the first \
     contact takes Multus and setting interface: net1",
);
