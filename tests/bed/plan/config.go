package plan

import "fmt"

// defaultSnapshotter shares layers between containers; it does not work where the state folder is on an overlay itself.
const defaultSnapshotter = "overlayfs"

func (bed Bed) schedulerConfig() object {
	return object{
		"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration",
		"leaderElection":   object{"leaderElect": false},
		"clientConnection": object{"kubeconfig": bed.identity("scheduler"), "qps": 500, "burst": 1000},
	}
}

// auditPolicy logs what ServiceAccounts ask for, once each, without bodies. The nodes' and the administrator's requests
// are left out: whoever reads the log counts those of an operator. In a Mixed bed, pods and Jobs that are made are logged
// with their bodies, because their uids are in these alone.
func (bed Bed) auditPolicy() object {
	accounts := []string{"system:serviceaccounts"}
	rules := []object{
		{"level": "Metadata", "userGroups": accounts},
		{"level": "None"},
	}
	if bed.Mode == Mixed {
		made := object{
			"level": "RequestResponse", "userGroups": accounts, "verbs": []string{"create"}, "omitManagedFields": true,
			"resources": []object{{"group": "", "resources": []string{"pods"}}, {"group": "batch", "resources": []string{"jobs"}}},
		}
		rules = append([]object{made}, rules...)
	}
	return object{
		"apiVersion": "audit.k8s.io/v1", "kind": "Policy",
		"omitStages": []string{"RequestReceived"},
		"rules":      rules,
	}
}

func (bed Bed) kubeletConfig() object {
	return object{
		"apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration",
		"containerRuntimeEndpoint": "unix://" + ContainerdSocket,
		"cgroupDriver":             "cgroupfs",
		"cgroupRoot":               "/" + bed.Cgroup(),
		"failCgroupV1":             false, // version 1 machines work, with a warning
		"failSwapOn":               false,
		"clusterDNS":               []string{DNSAddress},
		"clusterDomain":            "cluster.local",
		"resolvConf":               bed.Path("config", "resolv.conf"),
		"tlsCertFile":              bed.Path("pki", "kubelet.crt"),
		"tlsPrivateKeyFile":        bed.Path("pki", "kubelet.key"),
		"authentication": object{
			"anonymous": object{"enabled": false},
			"x509":      object{"clientCAFile": bed.Path("pki", "ca.crt")},
			"webhook":   object{"enabled": true},
		},
		"authorization": object{"mode": "Webhook"},
		"maxPods":       500,
		"kubeAPIQPS":    200, "kubeAPIBurst": 400,
		"serializeImagePulls": false,
		// Images are imported, never pulled: one that was collected would not come back.
		"imageGCHighThresholdPercent": 100,
		// A test machine with a full disk shall fail by a full disk, not by pods that are evicted for no visible reason.
		"evictionHard": object{"memory.available": "100Mi", "nodefs.available": "1%", "imagefs.available": "1%"},
	}
}

func (bed Bed) proxyConfig() object {
	return object{
		"apiVersion": "kubeproxy.config.k8s.io/v1alpha1", "kind": "KubeProxyConfiguration",
		"mode":             "iptables",
		"clientConnection": object{"kubeconfig": bed.identity("proxy")},
		"clusterCIDR":      PodRange,
		"hostnameOverride": NodeName,
		// The table's size is the machine's, not the bed's: leave it.
		"conntrack": object{"maxPerCore": 0, "min": 0},
		// New endpoints count at once; the default second is added to every pod's start.
		"iptables": object{"minSyncPeriod": "0s"},
	}
}

// networkConfig routes each pod by a link of its own. With a bridge, a Service between two pods would need the kernel's
// br_netfilter, which is a module that a container cannot load. There is no way out of the bed, so nothing is masqueraded.
func networkConfig() object {
	return object{
		"cniVersion": "1.0.0", "name": "bed",
		"plugins": []object{
			{
				"type": "ptp", "ipMasq": false,
				"ipam": object{
					"type": "host-local", "dataDir": "/run/cni",
					"ranges": [][]object{{{"subnet": PodRange}}},
					"routes": []object{{"dst": "0.0.0.0/0"}},
				},
			},
			{"type": "portmap", "capabilities": object{"portMappings": true}},
		},
	}
}

// dnsService gives DNS the Service that other clusters have. CoreDNS runs beside the node's programs, not in a pod,
// so its endpoint is written down.
func dnsService() object {
	ports := []object{
		{"name": "dns", "port": 53, "protocol": "UDP"},
		{"name": "dns-tcp", "port": 53, "protocol": "TCP"},
	}
	metadata := func(labels object) object {
		return object{"name": "kube-dns", "namespace": "kube-system", "labels": labels}
	}
	return object{
		"apiVersion": "v1", "kind": "List",
		"items": []object{
			{
				"apiVersion": "v1", "kind": "Service", "metadata": metadata(object{"k8s-app": "kube-dns"}),
				"spec": object{"clusterIP": DNSAddress, "ports": ports},
			},
			{
				"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice",
				"metadata":    metadata(object{"kubernetes.io/service-name": "kube-dns"}),
				"addressType": "IPv4", "ports": ports,
				"endpoints": []object{{"addresses": []string{NodeAddress}, "conditions": object{"ready": true}}},
			},
		},
	}
}

// corefile caches as long as usual clusters do: a name that is asked for too early is refused for that long,
// and tests shall see it.
func (bed Bed) corefile() string {
	return fmt.Sprintf(`. {
  bind %s
  errors
  ready %s:8181
  cache 30
  kubernetes cluster.local in-addr.arpa ip6.arpa {
    kubeconfig %q
    ttl 30
  }
}
`, NodeAddress, NodeAddress, bed.identity("dns"))
}

func (bed Bed) containerdConfig() string {
	return fmt.Sprintf(`version = 3
root = %q
state = "/run/containerd"

[grpc]
address = %q

[plugins.'io.containerd.internal.v1.opt']
path = %q

[plugins.'io.containerd.cri.v1.images']
snapshotter = %q

[plugins.'io.containerd.cri.v1.images'.pinned_images]
sandbox = %q

[plugins.'io.containerd.cri.v1.runtime']
disable_apparmor = true
# Scores below that of containerd need a privilege that containers often lack.
restrict_oom_score_adj = true

[plugins.'io.containerd.cri.v1.runtime'.cni]
bin_dirs = [%q]
conf_dir = %q
`, bed.Path("containerd"), ContainerdSocket, bed.Path("opt"), bed.Snapshotter, SandboxImage, bed.Plugins, bed.Path("config", "cni"))
}
