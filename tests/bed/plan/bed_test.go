package plan

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"
)

var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func bed(mode Mode) Bed {
	return Bed{Name: "x", Dir: "/state/x y", Bin: "/state/bin", Mode: mode, Plugins: "/usr/lib/cni", Snapshotter: "overlayfs", Options: Options{Audit: true}}
}

// files are the planned files by the part of their path below the state folder.
func files(t *testing.T, bed Bed) map[string]File {
	t.Helper()
	list, err := bed.Files(now)
	if err != nil {
		t.Fatal(err)
	}
	byName := map[string]File{}
	for _, file := range list {
		byName[strings.TrimPrefix(file.Path, bed.Dir+"/")] = file
	}
	return byName
}

func TestNamesThatAreNotOneAreRefused(t *testing.T) {
	for name, good := range map[string]bool{
		"default": true, "a": true, "it-1": true, "": false, "..": false, "a/b": false, "A": false, "-a": false, "a-": false,
		"bin": false, strings.Repeat("a", 41): false,
	} {
		if (CheckName(name) == nil) != good {
			t.Errorf("%q: %v", name, CheckName(name))
		}
	}
}

func TestBedsOfOneNameInTwoFoldersHaveTwoCgroups(t *testing.T) {
	one, two := bed(Node), bed(Node)
	two.Dir = "/elsewhere"
	if one.Cgroup() == two.Cgroup() || one.Cgroup() != bed(Node).Cgroup() {
		t.Errorf("%s and %s", one.Cgroup(), two.Cgroup())
	}
	if strings.Contains(one.Cgroup(), "/") {
		t.Error(one.Cgroup())
	}
}

func TestEveryStepWaitsOnlyForStepsThatCanBeDone(t *testing.T) {
	for _, mode := range []Mode{ControlPlane, Node, FakeNodes, Mixed} {
		components := bed(mode).Components()
		done := map[string]bool{}
		for range components {
			for _, component := range components {
				if !slices.ContainsFunc(component.After, func(before string) bool { return !done[before] }) {
					done[component.Name] = true
				}
			}
		}
		for _, component := range components {
			if !done[component.Name] {
				t.Errorf("%s: %s never starts: it waits for %v", mode, component.Name, component.After)
			}
			if component.Limit <= 0 || component.Shown == "" {
				t.Errorf("%s: %s has no limit or nothing to show", mode, component.Name)
			}
			if !component.Once && len(component.Ready) == 0 {
				t.Errorf("%s: nobody asks whether %s is ready", mode, component.Name)
			}
		}
	}
}

func TestEveryFileThatAProgramIsStartedWithIsPlanned(t *testing.T) {
	for _, mode := range []Mode{ControlPlane, Node, FakeNodes, Mixed} {
		bed := bed(mode)
		planned := files(t, bed)
		for _, component := range bed.Components() {
			for _, argument := range component.Argv {
				name, inside := strings.CutPrefix(argument, bed.Dir+"/")
				if _, found := planned[name]; inside && !found && !slices.Contains([]string{"etcd", "pause.tar", "audit.log"}, name) {
					t.Errorf("%s: %s is started with %s, which nobody writes", mode, component.Name, argument)
				}
			}
		}
	}
}

func TestControlPlaneNeedsNothingOfTheNode(t *testing.T) {
	bed := bed(ControlPlane)
	bed.Plugins, bed.Snapshotter = "", ""
	for _, component := range bed.Components() {
		if slices.Contains(component.Argv, "containerd") || slices.Contains(component.Argv, "kubelet") {
			t.Errorf("it starts %v", component.Argv)
		}
	}
	if len(bed.Mounts()) > 0 {
		t.Errorf("it mounts %v", bed.Mounts())
	}
	if planned := files(t, bed); len(planned["config/kubelet.json"].Content) > 0 {
		t.Error("it has a kubelet's configuration")
	}
}

func TestKeysAndKubeconfigsAreForTheOwnersEyesOnly(t *testing.T) {
	for name, file := range files(t, bed(Node)) {
		private := bytes.Contains(file.Content, []byte("PRIVATE KEY")) || bytes.Contains(file.Content, []byte("client-key-data"))
		if private != file.Secret {
			t.Errorf("%s: secret is %t", name, file.Secret)
		}
	}
}

func TestDocumentsAreJSONThatNamesTheBedsOwnPaths(t *testing.T) {
	bed := bed(Node)
	planned := files(t, bed)
	for name, file := range planned {
		if strings.HasSuffix(name, ".json") || strings.HasSuffix(name, ".conflist") || strings.HasSuffix(name, "kubeconfig") {
			if !json.Valid(file.Content) {
				t.Errorf("%s is not JSON: %s", name, file.Content)
			}
		}
	}
	for name, part := range map[string]string{
		"config/kubelet.json":        `"cgroupRoot": "/` + bed.Cgroup() + `"`,
		"config/scheduler.json":      `"kubeconfig": "/state/x y/config/scheduler.kubeconfig"`,
		"config/containerd.toml":     `root = "/state/x y/containerd"`,
		"config/Corefile":            `kubeconfig "/state/x y/config/dns.kubeconfig"`,
		"config/audit-policy.json":   "system:serviceaccounts",
		"config/resolv.conf":         NodeAddress,
		"config/cni/10-bed.conflist": PodRange,
		"kubeconfig":                 Server,
	} {
		if !strings.Contains(string(planned[name].Content), part) {
			t.Errorf("%s does not hold %s:\n%s", name, part, planned[name].Content)
		}
	}
}

func TestAuditLogIsWrittenOnlyIfAskedFor(t *testing.T) {
	with, without := bed(ControlPlane), bed(ControlPlane)
	without.Audit = false
	for bed, want := range map[*Bed]bool{&with: true, &without: false} {
		_, planned := files(t, *bed)["config/audit-policy.json"]
		if planned != want || slices.Contains(bed.apiServer(), "--audit-log-path") != want {
			t.Errorf("audit %t: policy %t, arguments %v", want, planned, bed.apiServer())
		}
	}
}

func TestImagesAreUnpackedByTheSnapshotterThatTheMachineAllows(t *testing.T) {
	bed := bed(Node)
	if arguments := strings.Join(bed.ImportArguments("-"), " "); arguments != "images import -" {
		t.Error(arguments)
	}
	bed.Snapshotter = "native"
	if arguments := strings.Join(bed.ImportArguments("-"), " "); arguments != "images import --local --snapshotter native -" {
		t.Error(arguments)
	}
}

func TestOnlyAMixedBedLogsTheUidsOfWhatIsMade(t *testing.T) {
	for mode, want := range map[Mode]bool{Node: false, FakeNodes: false, Mixed: true} {
		policy := string(files(t, bed(mode))["config/audit-policy.json"].Content)
		if strings.Contains(policy, "RequestResponse") != want {
			t.Errorf("%s: %s", mode, policy)
		}
	}
}
