package cgroup

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// write makes a file of a pretended hierarchy: plain folders have the same calls, though not the kernel's rules.
func write(t *testing.T, content string, path ...string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(path...), []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestVersion1CpusetStartsWithItsParentsCpusAndMemory(t *testing.T) {
	cpuset, memory := Hierarchy{Mount: t.TempDir()}, Hierarchy{Mount: t.TempDir()}
	write(t, "0-3", cpuset.Mount, "cpuset.cpus")
	write(t, "0", cpuset.Mount, "cpuset.mems")
	for range 2 { // the second time it is there already
		if err := Create([]Hierarchy{cpuset, memory}, "bed-x"); err != nil {
			t.Fatal(err)
		}
	}
	for file, want := range map[string]string{"cpuset.cpus": "0-3", "cpuset.mems": "0"} {
		if got, err := os.ReadFile(filepath.Join(cpuset.path("bed-x"), file)); err != nil || string(got) != want {
			t.Errorf("%s is %q (%v)", file, got, err)
		}
	}
	if entries, err := os.ReadDir(memory.path("bed-x")); err != nil || len(entries) != 0 {
		t.Errorf("the memory cgroup holds %v (%v)", entries, err)
	}
}

func TestVersion2RootDelegatesItsControllers(t *testing.T) {
	root := Hierarchy{Mount: t.TempDir(), V2: true}
	write(t, "cpuset cpu memory pids\n", root.Mount, "cgroup.controllers")
	write(t, "", root.Mount, "cgroup.subtree_control")
	if err := Create([]Hierarchy{root}, "bed-x"); err != nil {
		t.Fatal(err)
	}
	// The kernel adds each to the list; a plain file keeps the last.
	if got, err := os.ReadFile(filepath.Join(root.Mount, "cgroup.subtree_control")); err != nil || string(got) != "+pids" {
		t.Errorf("asked for %q (%v)", got, err)
	}
	if !Exists([]Hierarchy{root}, "bed-x") {
		t.Error("no cgroup")
	}
}

func TestHybridMachineGetsNoCgroupInTheVersion2Tree(t *testing.T) {
	v1, v2 := Hierarchy{Mount: t.TempDir()}, Hierarchy{Mount: t.TempDir(), V2: true}
	if err := Create([]Hierarchy{v1, v2}, "bed-x"); err != nil {
		t.Fatal(err)
	}
	if Exists([]Hierarchy{v2}, "bed-x") || !Exists([]Hierarchy{v1}, "bed-x") {
		t.Error("the cgroup is in the wrong tree")
	}
}

func TestRemoveTakesTheWholeTreeAndNothingElse(t *testing.T) {
	root := Hierarchy{Mount: t.TempDir()}
	for _, path := range []string{"bed-x/kubepods/pod1/c1", "bed-x/kubepods/pod2", "bed-y"} {
		if err := os.MkdirAll(filepath.Join(root.Mount, path), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 { // the second time it is gone already
		if err := Remove([]Hierarchy{root}, "bed-x", 0); err != nil {
			t.Fatal(err)
		}
	}
	if Exists([]Hierarchy{root}, "bed-x") || !Exists([]Hierarchy{root}, "bed-y") {
		t.Error("removed the wrong one")
	}
}

func TestRemoveWaitsForProcessesAndThenNamesThem(t *testing.T) {
	root := Hierarchy{Mount: t.TempDir()}
	if err := os.MkdirAll(root.path("bed-x/pod"), 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, "4711\n", root.path("bed-x/pod"), "cgroup.procs") // a plain folder with a file does not go either
	begin := time.Now()
	err := Remove([]Hierarchy{root}, "bed-x", 100*time.Millisecond)
	if err == nil || !strings.Contains(err.Error(), "4711") {
		t.Errorf("it says %v", err)
	}
	if time.Since(begin) < 100*time.Millisecond {
		t.Error("it did not wait")
	}
}
