//go:build bed

package bed

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"coxswain.dev/bed/cgroup"
	"coxswain.dev/bed/plan"
	"coxswain.dev/bed/state"
)

// testBed is a bed that a test starts. It is ended with the test; after a failure its logs stay.
type testBed struct {
	t       *testing.T
	program string
	name    string
	dir     string
	links   []string // of the machine, before
}

func newBed(t *testing.T, name string) *testBed {
	t.Helper()
	bed := &testBed{t: t, program: filepath.Join(programs(t), "bed"), name: name, links: links()}
	bed.dir = filepath.Join(filepath.Dir(programs(t)), name)
	bed.must("down")
	t.Cleanup(func() {
		arguments := []string{"down"}
		if t.Failed() {
			arguments = append(arguments, "--keep-logs")
		}
		if out, err := bed.run(arguments...); err != nil {
			t.Errorf("clearing away: %v\n%s", err, out)
		}
	})
	return bed
}

// programs is the folder that cmd/build fills.
func programs(t *testing.T) string {
	t.Helper()
	_, home, err := chosen(os.Getenv("BED_KUBERNETES"))
	if err != nil {
		t.Fatal(err)
	}
	folder := must(filepath.Abs(filepath.Join("../..", home, "bin")))
	if other := os.Getenv("BED_BIN"); other != "" {
		folder = other
	}
	if _, err := os.Stat(filepath.Join(folder, "node")); err != nil || os.Geteuid() != 0 {
		t.Fatalf("these tests need root and tests/bed/build.sh: %v", err)
	}
	return folder
}

func (bed *testBed) command(arguments ...string) *exec.Cmd {
	return exec.Command(bed.program, append([]string{"--name", bed.name, "--dir", bed.dir}, arguments...)...)
}

func (bed *testBed) run(arguments ...string) (string, error) {
	out, err := bed.command(arguments...).CombinedOutput()
	return string(out), err
}

func (bed *testBed) must(arguments ...string) string {
	bed.t.Helper()
	out, err := bed.run(arguments...)
	if err != nil {
		bed.t.Fatalf("bed %s: %v\n%s", strings.Join(arguments, " "), err, out)
	}
	return out
}

// runPod runs the client image once, to the end.
func (bed *testBed) runPod(name string) {
	bed.t.Helper()
	bed.must("kubectl", "run", name, "--image", "localhost/client:1", "--image-pull-policy", "Never", "--restart", "Never")
	out, err := bed.run("kubectl", "wait", "--for", "jsonpath={.status.phase}=Succeeded", "pod/"+name, "--timeout", podLimit.String())
	if err != nil {
		logs, _ := bed.run("kubectl", "logs", name)
		bed.t.Fatalf("the pod does not succeed: %s\n%s", out, logs)
	}
}

// processes are the first process and all below it, those of containers included.
func (bed *testBed) processes() []state.Process {
	record, found, _ := state.ReadRecord(bed.dir)
	if !found || record.First == nil || !record.First.Alive() {
		return nil
	}
	family := map[int]bool{record.First.ID: true}
	for grown := true; grown; {
		grown = false
		for _, path := range must(filepath.Glob("/proc/[0-9]*/stat")) {
			id, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
			content, err := os.ReadFile(path)
			if err != nil || family[id] {
				continue
			}
			fields := strings.Fields(string(content[strings.LastIndexByte(string(content), ')')+1:]))
			if parent, _ := strconv.Atoi(fields[1]); family[parent] {
				family[id], grown = true, true
			}
		}
	}
	var members []state.Process
	for id := range family {
		if process, err := state.FindProcess(id); err == nil {
			members = append(members, process)
		}
	}
	return members
}

func (bed *testBed) downLeavesNothing() {
	bed.t.Helper()
	processes := bed.processes()
	bed.must("down")
	bed.nothingIsLeft(processes)
}

// nothingIsLeft checks the machine for traces; processes are those that ran before.
func (bed *testBed) nothingIsLeft(processes []state.Process) {
	bed.t.Helper()
	for _, process := range processes {
		if process.Alive() {
			bed.t.Errorf("process %d still runs", process.ID)
		}
	}
	for _, path := range must(filepath.Glob("/proc/[0-9]*/cmdline")) {
		if line, err := os.ReadFile(path); err == nil && strings.Contains(string(line), bed.dir+"/") {
			bed.t.Errorf("%s still runs: %q", path, line)
		}
	}
	if mountinfo := string(must(os.ReadFile("/proc/self/mountinfo"))); strings.Contains(mountinfo, bed.dir) {
		bed.t.Errorf("something is mounted:\n%s", mountinfo)
	}
	if cgroup.Exists(must(cgroup.Mounted()), plan.Bed{Name: bed.name, Dir: bed.dir}.Cgroup()) {
		bed.t.Error("a cgroup is left")
	}
	if now := links(); !slices.Equal(now, bed.links) {
		bed.t.Errorf("the machine's links were %v and are %v", bed.links, now)
	}
	if _, err := os.Stat(bed.dir); !os.IsNotExist(err) {
		bed.t.Errorf("%s is still there (%v)", bed.dir, err)
	}
}

func links() []string {
	var names []string
	for _, link := range must(net.Interfaces()) {
		names = append(names, link.Name)
	}
	slices.Sort(names)
	return names
}

// clientImage packs testdata/client.
func clientImage(t *testing.T) string {
	t.Helper()
	root, out := t.TempDir(), filepath.Join(t.TempDir(), "client.tar")
	build := exec.Command("go", "build", "-o", filepath.Join(root, "client"), "./testdata/client")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if said, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	pack := exec.Command(filepath.Join(programs(t), "bed"), "image", "--name", "localhost/client:1", "--root", root,
		"--out", out, "--entrypoint", `["/client"]`)
	if said, err := pack.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	return out
}

func kill(t *testing.T, process int) {
	t.Helper()
	if err := syscall.Kill(process, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
}

func link(t *testing.T, from, to string) {
	t.Helper()
	if err := os.Link(from, to); err == nil {
		return
	}
	if err := os.WriteFile(to, must(os.ReadFile(from)), 0o755); err != nil {
		t.Fatal(err)
	}
}

func waitFor(t *testing.T, what string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !done(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("gave up waiting for %s", what)
		}
	}
}

func must[Value any](value Value, err error) Value {
	if err != nil {
		panic(err)
	}
	return value
}
