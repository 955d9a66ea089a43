// Package plan decides what a bed consists of: its addresses, its files, the programs it starts and in what order.
//
// In: a Bed, which says what was asked for. Out: files and components as values; nothing here touches the machine.
package plan

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"regexp"
)

// Mode says how much of a cluster a bed is.
type Mode string

const (
	// ControlPlane is an API server with its controllers: objects, but no pod ever runs.
	ControlPlane Mode = "control-plane"
	// Node adds a node that runs pods.
	Node Mode = "node"
	// FakeNodes has nodes that are objects only, and a fake kubelet, which is the scheduler too unless the options ask for the
	// real one: thousands of pods that are Running and Ready, and not one process.
	FakeNodes Mode = "fake-nodes"
	// Mixed is Node and FakeNodes at once: a real node, and fake ones for the pods that name FakeScheduler. Its real pods
	// reach the API server through a proxy that can be told to misbehave.
	Mixed Mode = "mixed"
)

// RunsPods says whether there is a node that runs pods.
func (mode Mode) RunsPods() bool { return mode == Node || mode == Mixed }

// HasFakeNodes says whether there are nodes that are objects only.
func (mode Mode) HasFakeNodes() bool { return mode == FakeNodes || mode == Mixed }

// FakeScheduler is the `schedulerName` of the pods that a Mixed bed puts on its fake nodes.
const FakeScheduler = "fake-nodes"

// Addresses, the same in every bed: each has a network namespace of its own.
const (
	NodeName       = "node0"
	NodeAddress    = "10.88.0.1"
	ServiceRange   = "10.96.0.0/16"
	ServiceAddress = "10.96.0.1"  // of the Service kubernetes.default: the first of the range
	DNSAddress     = "10.96.0.10" // of the Service kube-dns, where other clusters have it
	PodRange       = "10.244.0.0/16"
	Server         = "https://" + NodeAddress + ":6443"
	FakeKubelet    = "127.0.0.1:10270" // where a fake kubelet takes orders
	Supervisor     = "127.0.0.1:10271" // where the first process does
	FaultProxy     = "127.0.0.1:10272" // and the proxy between pods and the API server
	FaultProxyPort = 6444              // of NodeAddress, where that proxy serves
)

// Bed is what a bed is made from; it is all that its first process is told.
type Bed struct {
	Name        string `json:"name"`
	Dir         string `json:"dir"`         // state folder, absolute
	Bin         string `json:"bin"`         // folder of the programs, absolute
	Mode        Mode   `json:"mode"`        //
	Plugins     string `json:"plugins"`     // folder of the CNI plugins; empty without a node
	Snapshotter string `json:"snapshotter"` // containerd's; empty without a node
	Options
}

var namePattern = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?$`)

// CheckName says what is wrong with a bed's name. The name becomes part of a cgroup's and a folder's.
func CheckName(name string) error {
	if !namePattern.MatchString(name) {
		return fmt.Errorf("--name %q: use up to 40 lower-case letters, digits and '-'", name)
	}
	if name == "bin" {
		return fmt.Errorf(`--name bin: the programs are in that folder, use another name`)
	}
	return nil
}

// Cgroup is the name of the cgroup that the bed's pods live in, at the top of each hierarchy. It is a function of name
// and folder alone, so that whoever cleans up after a crash finds it.
func (bed Bed) Cgroup() string {
	sum := sha256.Sum256([]byte(bed.Dir))
	return "bed-" + bed.Name + "-" + hex.EncodeToString(sum[:4])
}

// Path is a path in the state folder.
func (bed Bed) Path(elements ...string) string {
	return filepath.Join(append([]string{bed.Dir}, elements...)...)
}

// Kubeconfig is the administrator's kubeconfig file; it works inside the bed's network only.
func (bed Bed) Kubeconfig() string { return bed.Path("kubeconfig") }

// Log is the file that a component's output goes to.
func (bed Bed) Log(component string) string { return bed.Path("log", component+".log") }

// AuditLog is the API server's audit log: one JSON event a line.
func (bed Bed) AuditLog() string { return bed.Path("audit.log") }

// Program is the path of one of the bed's own programs.
func (bed Bed) Program(name string) string { return filepath.Join(bed.Bin, name) }

// ContainerdSocket is inside the bed's own /run.
const ContainerdSocket = "/run/containerd/containerd.sock"

// SandboxImage is the image of every pod's sandbox container.
const SandboxImage = "localhost/pause:1"

// Mounts are the fixed paths that Kubernetes' programs use, and the part of the state folder that the bed sees there:
// two beds share the machine's file system and would meet at those paths.
func (bed Bed) Mounts() map[string]string {
	if bed.Mode == ControlPlane {
		return nil
	}
	return map[string]string{
		"/var/lib/kubelet":    bed.Path("kubelet"),
		"/var/lib/cni":        bed.Path("cni-cache"),
		"/var/log/pods":       bed.Path("log", "pods"),
		"/var/log/containers": bed.Path("log", "containers"),
	}
}

// Folders are the folders of the state folder, to be made before anything starts.
func (bed Bed) Folders() []string {
	folders := []string{bed.Path("bin"), bed.Path("config", "cni"), bed.Path("log"), bed.Path("pki")}
	for _, folder := range bed.Mounts() {
		folders = append(folders, folder)
	}
	return folders
}

// Links are the commands that are on the path of whatever runs inside, and what they link to. The node's programs go by
// the name that they are called with.
func (bed Bed) Links() map[string]string {
	links := map[string]string{bed.Path("bin", "kubectl"): bed.Program("node")}
	if bed.Mode.RunsPods() {
		links[bed.Path("bin", "ctr")] = bed.Program("node")
	}
	return links
}
