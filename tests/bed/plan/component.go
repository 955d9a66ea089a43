package plan

import "time"

// Component is a step of starting a bed: a program that goes on running, one that does a thing and ends, or a state to
// wait for.
type Component struct {
	Name  string
	Shown string        // what the progress line says when the step is done
	After []string      // the steps that must be done before
	Argv  []string      // nothing to start if empty
	Once  bool          // the program ends by itself; the step is done when it has ended well
	Ready []Probe       // the step is done when each of them is content
	Limit time.Duration // give up when the step takes longer
}

// Probe is a question about the bed's state that is asked until the answer is yes.
type Probe struct {
	URL    string    // a GET that must answer 200, with the administrator's certificate
	Socket string    // a unix socket that must accept
	Node   NodeState // what URL's Node object must be, if anything
}

// NodeState is what a probe asks of a Node object.
type NodeState string

// Schedulable is a node that is Ready and has no taint that keeps pods off.
const Schedulable NodeState = "schedulable"

// stepLimit is generous: an API server takes 4 s on an idle machine and half a minute on two busy cores.
const stepLimit = 3 * time.Minute

// Components lists the steps of starting the bed.
func (bed Bed) Components() []Component {
	steps := bed.controlPlane()
	switch bed.Mode {
	case Node:
		steps = append(steps, bed.scheduler())
		steps = append(steps, bed.node()...)
	case Mixed:
		steps = append(steps, bed.scheduler())
		steps = append(steps, bed.node()...)
		steps = append(steps, bed.fakeKubelet(), bed.faultProxy())
	case FakeNodes:
		if bed.Scheduler {
			steps = append(steps, bed.scheduler())
		}
		steps = append(steps, bed.fakeKubelet())
	case ControlPlane:
		steps = append(steps, bed.scheduler())
	}
	for i := range steps {
		steps[i].Limit = stepLimit
		steps[i].Argv = append(steps[i].Argv, bed.FeatureGates.arguments(steps[i].Name)...)
	}
	return steps
}

func (bed Bed) controlPlane() []Component {
	return []Component{
		{
			Name:  "etcd",
			Shown: "etcd answers",
			Argv: bed.run("etcd", "--data-dir", bed.Path("etcd"),
				"--unsafe-no-fsync", // the data need not outlive the machine
				"--quota-backend-bytes", "4294967296", "--log-level", "warn"),
			Ready: []Probe{{URL: "http://127.0.0.1:2379/health"}},
		},
		{
			Name:  "kube-apiserver",
			Shown: "API server ready",
			After: []string{"etcd"},
			Argv:  bed.apiServer(),
			Ready: []Probe{{URL: Server + "/readyz"}},
		},
		{
			Name:  "kube-controller-manager",
			Shown: "controllers run",
			After: []string{"kube-apiserver"},
			Argv:  bed.controllerManager(),
			Ready: []Probe{
				{URL: "https://127.0.0.1:10257/healthz"},
				// Pods of the default namespace are refused until these are there.
				{URL: Server + "/api/v1/namespaces/default/serviceaccounts/default"},
				{URL: Server + "/api/v1/namespaces/default/configmaps/kube-root-ca.crt"},
			},
		},
	}
}

func (bed Bed) scheduler() Component {
	return Component{
		Name:  "kube-scheduler",
		Shown: "scheduler runs",
		After: []string{"kube-apiserver"},
		Argv: bed.run("kube-scheduler", "--config", bed.config("scheduler"), "--bind-address", "127.0.0.1",
			"--authentication-kubeconfig", bed.identity("scheduler"), "--authorization-kubeconfig", bed.identity("scheduler")),
		Ready: []Probe{{URL: "https://127.0.0.1:10259/healthz"}},
	}
}

// FakeKubeletCommand runs the fake kubelet in the state folder that follows it.
const FakeKubeletCommand = "fake-kubelet"

func (bed Bed) fakeKubelet() Component {
	return Component{
		Name:  FakeKubeletCommand,
		Shown: "fake kubelet serves",
		After: []string{"kube-apiserver"},
		Argv:  []string{bed.Program("bed"), FakeKubeletCommand, bed.Dir},
		Ready: []Probe{{URL: "http://" + FakeKubelet + "/state"}},
	}
}

// FaultProxyCommand runs the proxy between pods and the API server, in the state folder that follows it.
const FaultProxyCommand = "fault-proxy"

func (bed Bed) faultProxy() Component {
	return Component{
		Name:  FaultProxyCommand,
		Shown: "pods reach the API server by a proxy",
		After: []string{"kube-proxy"},
		Argv:  []string{bed.Program("bed"), FaultProxyCommand, bed.Dir},
		Ready: []Probe{{URL: "http://" + FaultProxy + "/fault"}},
	}
}

func (bed Bed) apiServer() []string {
	argv := bed.run("kube-apiserver",
		"--etcd-servers", "http://127.0.0.1:2379",
		"--advertise-address", NodeAddress,
		"--service-cluster-ip-range", ServiceRange,
		"--authorization-mode", "Node,RBAC",
		"--enable-admission-plugins", "NodeRestriction",
		"--client-ca-file", bed.Path("pki", "ca.crt"),
		"--tls-cert-file", bed.Path("pki", "apiserver.crt"),
		"--tls-private-key-file", bed.Path("pki", "apiserver.key"),
		"--service-account-key-file", bed.Path("pki", "sa.key"),
		"--service-account-signing-key-file", bed.Path("pki", "sa.key"),
		"--service-account-issuer", "https://kubernetes.default.svc",
		"--kubelet-client-certificate", bed.Path("pki", "admin.crt"),
		"--kubelet-client-key", bed.Path("pki", "admin.key"),
		// Or `kubectl logs` and `exec` look the node's name up.
		"--kubelet-preferred-address-types", "InternalIP",
		"--allow-privileged",
		// Benches measure clients, not the server's limits.
		"--max-requests-inflight", "3000",
		"--max-mutating-requests-inflight", "1500",
	)
	if bed.RuntimeConfig != "" {
		argv = append(argv, "--runtime-config", bed.RuntimeConfig)
	}
	if bed.Mode.HasFakeNodes() {
		// Nobody would take the taint of a new node away again: see controllerManager.
		argv = append(argv, "--disable-admission-plugins", "TaintNodesByCondition")
	}
	if bed.Audit {
		argv = append(argv,
			"--audit-policy-file", bed.config("audit-policy"),
			"--audit-log-path", bed.AuditLog(),
			"--audit-log-mode", "batch", // no request waits for the log
			"--audit-log-maxsize", "8192", // MB; a rotated log would hide events from whoever counts them
		)
	}
	return argv
}

func (bed Bed) controllerManager() []string {
	identity := bed.identity("controller-manager")
	controllers := "*"
	if bed.Mode.HasFakeNodes() {
		controllers = "*,-node-lifecycle-controller" // which waits for heartbeats
	}
	return bed.run("kube-controller-manager",
		"--kubeconfig", identity, "--authentication-kubeconfig", identity, "--authorization-kubeconfig", identity,
		"--bind-address", "127.0.0.1",
		"--leader-elect=false",
		"--controllers", controllers,
		"--use-service-account-credentials",
		"--service-account-private-key-file", bed.Path("pki", "sa.key"),
		"--root-ca-file", bed.Path("pki", "ca.crt"),
		"--cluster-signing-cert-file", bed.Path("pki", "ca.crt"),
		"--cluster-signing-key-file", bed.Path("pki", "ca.key"),
		"--kube-api-qps", "500", "--kube-api-burst", "1000",
		"--concurrent-job-syncs", "50", "--concurrent-gc-syncs", "50",
	)
}

func (bed Bed) node() []Component {
	ctr := func(arguments ...string) []string {
		return bed.run("ctr", append([]string{"-a", ContainerdSocket, "-n", "k8s.io"}, arguments...)...)
	}
	return []Component{
		{
			Name:  "containerd",
			Shown: "containerd answers",
			Argv:  bed.run("containerd", "--config", bed.Path("config", "containerd.toml")),
			Ready: []Probe{{Socket: ContainerdSocket}},
		},
		{
			Name:  "sandbox-image",
			Shown: "sandbox image imported",
			After: []string{"containerd"},
			Argv:  ctr(bed.ImportArguments(bed.Path("pause.tar"))...),
			Once:  true,
		},
		{
			Name:  "kubelet",
			Shown: "kubelet runs",
			After: []string{"kube-apiserver", "sandbox-image"},
			Argv: bed.run("kubelet", "--config", bed.config("kubelet"), "--kubeconfig", bed.identity("node"),
				"--hostname-override", NodeName, "--node-ip", NodeAddress),
			Ready: []Probe{{URL: "http://127.0.0.1:10248/healthz"}},
		},
		{
			Name:  "kube-proxy",
			Shown: "Services are routed",
			After: []string{"kube-apiserver"},
			Argv:  bed.run("kube-proxy", "--config", bed.config("proxy")),
			Ready: []Probe{{URL: "http://127.0.0.1:10256/livez"}},
		},
		{
			Name:  "coredns",
			Shown: "DNS answers",
			After: []string{"kube-apiserver"},
			Argv:  bed.run("coredns", "-conf", bed.Path("config", "Corefile")),
			Ready: []Probe{{URL: "http://" + NodeAddress + ":8181/ready"}},
		},
		{
			Name:  "dns-service",
			Shown: "Service kube-dns made",
			After: []string{"kube-apiserver"}, // which is ready when it has made the namespace's roles
			Argv:  bed.run("kubectl", "--kubeconfig", bed.Kubeconfig(), "create", "-f", bed.config("dns-service")),
			Once:  true,
		},
		{
			Name:  NodeName,
			Shown: "node Ready",
			After: []string{"kubelet", "kube-controller-manager"},
			Ready: []Probe{{URL: Server + "/api/v1/nodes/" + NodeName, Node: Schedulable}},
		},
	}
}

// ImportArguments are what `ctr` is called with to import a docker-archive; `-` is standard input.
func (bed Bed) ImportArguments(file string) []string {
	arguments := []string{"images", "import"}
	if bed.Snapshotter != defaultSnapshotter {
		arguments = append(arguments, "--local", "--snapshotter", bed.Snapshotter)
	}
	return append(arguments, file)
}

func (bed Bed) run(program string, arguments ...string) []string {
	return append([]string{bed.Program("node"), program}, arguments...)
}

func (bed Bed) config(name string) string { return bed.Path("config", name+".json") }

func (bed Bed) identity(name string) string { return bed.Path("config", name+".kubeconfig") }
