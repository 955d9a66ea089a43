//go:build bed

// Package bed holds the bed's integration tests. They need root, the built programs (build.sh) and what a node
// needs; run them with test.sh. They start beds of their own names and leave others alone.
package bed

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"coxswain.dev/bed/state"
)

const podLimit = 60 * time.Second

func TestPodResolvesNamesAndReachesTheAPIServerWithItsToken(t *testing.T) {
	bed := newBed(t, "it-pod")
	bed.must("up")
	bed.must("load", clientImage(t))
	bed.runPod("client")

	logs := bed.must("kubectl", "logs", "client")
	for _, line := range []string{"resolved 10.96.0.1", "known to https://kubernetes.default.svc", "known to https://10.96.0.1"} {
		if !strings.Contains(logs, line) {
			t.Errorf("the pod did not say %q but:\n%s", line, logs)
		}
	}
	release, _, err := chosen(os.Getenv("BED_KUBERNETES"))
	if err != nil {
		t.Fatal(err)
	}
	if status := bed.must("status"); !strings.Contains(status, "v"+release+".") || !strings.Contains(status, "node0 Ready") {
		t.Errorf("status names neither version nor node:\n%s", status)
	}
	// From the node itself, as webhooks and programs under `bed exec` go.
	bed.must("kubectl", "--server", "https://10.96.0.1", "get", "namespaces")
	if again := bed.must("up"); !strings.Contains(again, "is up already") {
		t.Errorf("a second `up` says:\n%s", again)
	}
	bed.downLeavesNothing()
}

func TestFakeNodesReportPodsReadyUnlessTheyAreHeld(t *testing.T) {
	bed := newBed(t, "it-fake")
	bed.must("up", "fake-nodes")
	bed.must("kubelet", "hold")
	bed.must("kubectl", "run", "fake", "--image", "nowhere/none:1", "--labels", "training.kubeflow.org/job-role=launcher")
	phase := func() string { return bed.must("kubectl", "get", "pod", "fake", "-o", "jsonpath={.status.phase}") }
	if held := phase(); held != "Pending" {
		t.Errorf("a held pod is %s", held)
	}
	bed.must("kubelet", "release")
	bed.must("kubectl", "wait", "--for", "condition=Ready", "pod/fake", "--timeout", podLimit.String())
	bed.must("kubelet", "end", "default")
	waitFor(t, "the launcher to end", func() bool { return phase() == "Succeeded" })
	if state := bed.must("kubelet", "state", "default"); !strings.Contains(state, `"ended":1`) {
		t.Errorf("the kubelet says %s", state)
	}
	bed.must("kubectl", "delete", "pod", "fake", "--timeout", podLimit.String())
	bed.downLeavesNothing()
}

func TestABedHasTheGatesAPIsAndNodesThatItIsAskedFor(t *testing.T) {
	const groups = "/apis/scheduling.k8s.io/v1beta1"
	release, _, err := chosen(os.Getenv("BED_KUBERNETES"))
	if newest, _, _ := chosen("newest"); err != nil || release != newest {
		t.Skipf("PodGroups stand for gates and APIs here, which %s has not (%v)", release, err)
	}
	bed := newBed(t, "it-options")
	options := []string{
		"up", "fake-nodes", "--scheduler", "--devices", "example.com/gpu=1", "--domains", "example.com/rack=5",
		"--feature-gates", "GenericWorkload=true,kube-scheduler:TopologyAwareWorkloadScheduling=true",
		"--runtime-config", "scheduling.k8s.io/v1beta1=true",
	}
	bed.must(options...)
	if listed := bed.must("kubectl", "get", "--raw", groups); !strings.Contains(listed, `"podgroups"`) {
		t.Errorf("served is %s", listed)
	}
	bed.must("kubectl", "run", "first", "--image", "nowhere/none:1", "--overrides", onRack("domain-03"))
	bed.must("kubectl", "wait", "--for", "condition=Ready", "pod/first", "--timeout", podLimit.String())
	if node := bed.must("kubectl", "get", "pod", "first", "-o", "jsonpath={.spec.nodeName}"); node < "fake-15" {
		t.Errorf("the pod is on %s", node)
	}
	bed.must("kubectl", "run", "lost", "--image", "nowhere/none:1", "--overrides", onRack("domain-04"))
	bed.must("kubectl", "wait", "--for", "condition=PodScheduled=False", "pod/lost", "--timeout", podLimit.String())
	if again := bed.must(options...); !strings.Contains(again, "is up already") {
		t.Errorf("a second `up` says:\n%s", again)
	}
	if out, err := bed.run("up", "fake-nodes"); err == nil || !strings.Contains(out, "--feature-gates GenericWorkload=true,") {
		t.Errorf("`up` without the options (error %v) says:\n%s", err, out)
	}
	bed.must("down")
	bed.must("up", "control-plane")
	if listed, err := bed.run("kubectl", "get", "--raw", groups); err == nil {
		t.Errorf("a usual bed serves %s", listed)
	}
	bed.downLeavesNothing()
}

// onRack is what a pod needs to be put on a device of that domain.
func onRack(domain string) string {
	return `{"spec":{"nodeSelector":{"example.com/rack":"` + domain + `"},"containers":[{"name":"x","image":"nowhere/none:1",
		"resources":{"limits":{"example.com/gpu":"1"}}}]}}`
}

// In one bed, because it takes a while to start: faults of the way to the API server, and of the API server itself.
func TestAMixedBedRunsSomePodsFakesOthersAndMisbehavesOnRequest(t *testing.T) {
	bed := newBed(t, "it-mixed")
	bed.must("up", "mixed", "--audit")
	bed.must("load", clientImage(t))
	bed.runPod("client")
	if counts := bed.must("fault", "state"); strings.Contains(counts, `"requests":0`) {
		t.Errorf("what the pod asked for went another way: %s", counts)
	}
	bed.must("kubectl", "run", "fake", "--image", "nowhere/none:1", "--overrides", `{"spec":{"schedulerName":"fake-nodes"}}`)
	bed.must("kubectl", "wait", "--for", "condition=Ready", "pod/fake", "--timeout", podLimit.String())

	bed.must("fault", "refuse=1")
	bed.must("kubectl", "get", "namespaces") // which goes straight
	bed.must("fault", "none")
	bed.must("component", "stop", "kube-apiserver")
	if out, err := bed.run("kubectl", "get", "namespaces"); err == nil {
		t.Errorf("a stopped API server answers:\n%s", out)
	}
	if out, err := bed.run("component", "stop", "kube-apiserver"); err == nil || !strings.Contains(out, "has ended") {
		t.Errorf("stopped twice (error %v):\n%s", err, out)
	}
	bed.must("component", "start", "kube-apiserver")
	bed.must("kubectl", "get", "pod", "fake")
	bed.must("status")
	bed.must("component", "freeze", "kube-apiserver")
	if out, err := bed.run("kubectl", "--request-timeout", "1s", "get", "namespaces"); err == nil {
		t.Errorf("a frozen API server answers:\n%s", out)
	}
	bed.must("component", "thaw", "kube-apiserver")
	bed.must("kubectl", "get", "namespaces")
	bed.downLeavesNothing()
}

func TestTwoBedsDoNotTouchEachOther(t *testing.T) {
	one, two := newBed(t, "it-one"), newBed(t, "it-two")
	one.must("up")
	two.must("up")
	for _, bed := range []*testBed{one, two} {
		bed.must("kubectl", "run", "stays", "--image", "localhost/pause:1", "--image-pull-policy", "Never")
		bed.must("kubectl", "wait", "--for", "condition=Ready", "pod/stays", "--timeout", podLimit.String())
	}
	two.downLeavesNothing()
	time.Sleep(5 * time.Second) // the kubelet of one looks for orphans every 2 s
	if restarts := one.must("kubectl", "get", "pod", "stays", "-o", "jsonpath={.status.phase} {.status.containerStatuses[0].restartCount}"); restarts != "Running 0" {
		t.Errorf("after the other bed went down, the pod is %q", restarts)
	}
	one.downLeavesNothing()
}

func TestDownClearsAwayABedWhoseFirstProcessWasKilled(t *testing.T) {
	bed := newBed(t, "it-killed")
	bed.must("up")
	bed.must("kubectl", "run", "stays", "--image", "localhost/pause:1", "--image-pull-policy", "Never")
	bed.must("kubectl", "wait", "--for", "condition=Ready", "pod/stays", "--timeout", podLimit.String())
	processes := bed.processes()
	kill(t, bed.record().First.ID)
	waitFor(t, "the first process to end", func() bool { return !bed.record().First.Alive() })

	if status, err := bed.run("status"); err == nil || !strings.Contains(status, "nothing runs") {
		t.Errorf("status of a killed bed (error %v):\n%s", err, status)
	}
	if out, err := bed.run("kubectl", "get", "nodes"); err == nil || !strings.Contains(out, "does not run") {
		t.Errorf("kubectl in a killed bed (error %v):\n%s", err, out)
	}
	bed.must("down")
	bed.nothingIsLeft(processes)
}

func TestUpReplacesABedThatHasEnded(t *testing.T) {
	bed := newBed(t, "it-stale")
	bed.must("up", "control-plane")
	kill(t, bed.record().First.ID)
	waitFor(t, "the first process to end", func() bool { return !bed.record().First.Alive() })

	if out := bed.must("up", "control-plane"); !strings.Contains(out, "clearing away") {
		t.Errorf("up on a dead bed says:\n%s", out)
	}
	bed.must("kubectl", "get", "namespaces")
	bed.downLeavesNothing()
}

func TestDownClearsAwayAnUpThatWasKilledAtAnyPoint(t *testing.T) {
	for _, after := range []time.Duration{2, 5, 8, 12, 20, 50, 300, 1500, 3500} {
		after *= time.Millisecond
		t.Run(after.String(), func(t *testing.T) {
			bed := newBed(t, "it-interrupted")
			up := bed.command("up")
			if err := up.Start(); err != nil {
				t.Fatal(err)
			}
			time.Sleep(after)
			kill(t, up.Process.Pid)
			_ = up.Wait()
			bed.downLeavesNothing()
		})
	}
}

func TestDownEndsABedWhoseStateWasRemoved(t *testing.T) {
	bed := newBed(t, "it-removed")
	bed.must("up")
	processes := bed.processes()
	_ = os.RemoveAll(bed.dir) // fails where programs write new files meanwhile
	bed.must("down")
	bed.nothingIsLeft(processes)
}

func TestDownEndsAnUpThatIsUnderWay(t *testing.T) {
	bed := newBed(t, "it-race")
	up := bed.command("up")
	var said bytes.Buffer
	up.Stdout, up.Stderr = &said, &said
	if err := up.Start(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(time.Second)
	bed.must("down")
	if err := up.Wait(); err == nil {
		t.Errorf("up says it has succeeded:\n%s", &said)
	}
	bed.nothingIsLeft(nil)
}

func TestStatusNamesAComponentThatHasEnded(t *testing.T) {
	bed := newBed(t, "it-broken")
	bed.must("up", "control-plane")
	bed.must("exec", "kill", "-9", strconv.Itoa(bed.step("kube-scheduler").Process))
	var status string
	waitFor(t, "status to tell", func() bool {
		var err error
		status, err = bed.run("status")
		return err != nil
	})
	if !strings.Contains(status, "BROKEN") || !strings.Contains(status, "killed by SIGKILL") || !strings.Contains(status, "kube-scheduler.log") {
		t.Errorf("status of a broken bed:\n%s", status)
	}
	bed.downLeavesNothing()
}

func TestUpBlamesTheComponentThatFailsAndShowsItsLog(t *testing.T) {
	bin := t.TempDir()
	for _, program := range []string{"bed", "pause", "containerd-shim-runc-v2"} {
		link(t, filepath.Join(programs(t), program), filepath.Join(bin, program))
	}
	script := "#!/bin/sh\n[ \"$1\" = kube-scheduler ] && { echo no luck today; exit 3; }\nexec " + filepath.Join(programs(t), "node") + " \"$@\"\n"
	if err := os.WriteFile(filepath.Join(bin, "node"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	bed := newBed(t, "it-failing")
	bed.program = filepath.Join(bin, "bed")
	out, err := bed.run("up", "control-plane")
	if err == nil {
		t.Fatal("up succeeds with a scheduler that does not start")
	}
	for _, part := range []string{"kube-scheduler: ended while starting: exit code 3", "no luck today", "kube-scheduler.log"} {
		if !strings.Contains(out, part) {
			t.Errorf("up does not say %q but:\n%s", part, out)
		}
	}
	bed.downLeavesNothing()
}

func TestExecPassesInputExitCodeAndSignalsOn(t *testing.T) {
	bed := newBed(t, "it-exec")
	bed.must("up", "control-plane")

	cat := bed.command("exec", "cat")
	cat.Stdin = strings.NewReader("through")
	if out, err := cat.Output(); err != nil || string(out) != "through" {
		t.Errorf("cat says %q, error %v", out, err)
	}
	for script, code := range map[string]int{"exit 7": 7, "kill -9 $$": 137} {
		command := bed.command("exec", "sh", "-c", script)
		if _ = command.Run(); command.ProcessState.ExitCode() != code {
			t.Errorf("%q gives %d instead of %d", script, command.ProcessState.ExitCode(), code)
		}
	}
	if folder, here := strings.TrimSpace(bed.must("exec", "pwd")), must(os.Getwd()); folder != here {
		t.Errorf("the command runs in %s instead of %s", folder, here)
	}
	sleep := bed.command("exec", "sh", "-c", "echo $$; exec sleep 1234")
	said := must(sleep.StdoutPipe())
	if err := sleep.Start(); err != nil {
		t.Fatal(err)
	}
	process, err := bufio.NewReader(said).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	runs := func() bool { _, err := bed.run("exec", "kill", "-0", strings.TrimSpace(process)); return err == nil }
	if !runs() {
		t.Errorf("the command does not run as process %q", process)
	}
	kill(t, sleep.Process.Pid)
	_ = sleep.Wait()
	waitFor(t, "the command to end with `bed exec`", func() bool { return !runs() })
	bed.downLeavesNothing()
}

func TestAuditLogHoldsServiceAccountsAlone(t *testing.T) {
	bed := newBed(t, "it-audit")
	bed.must("up", "control-plane", "--audit")
	bed.must("kubectl", "create", "serviceaccount", "counted")
	token := strings.TrimSpace(bed.must("kubectl", "create", "token", "counted"))
	_, _ = bed.run("kubectl", "--kubeconfig", "/dev/null", "--server", "https://10.88.0.1:6443", "--insecure-skip-tls-verify",
		"--token", token, "get", "configmaps")

	const user = "system:serviceaccount:default:counted"
	waitFor(t, "the log to name the user", func() bool {
		content, err := os.ReadFile(filepath.Join(bed.dir, "audit.log"))
		return err == nil && bytes.Contains(content, []byte(user))
	})
	content := must(os.ReadFile(filepath.Join(bed.dir, "audit.log")))
	for line := range bytes.Lines(content) {
		var event struct {
			Stage string
			User  struct{ Username string }
		}
		if err := json.Unmarshal(line, &event); err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		if !strings.HasPrefix(event.User.Username, "system:serviceaccount:") || event.Stage == "RequestReceived" {
			t.Errorf("the log holds %s", line)
		}
	}
	bed.downLeavesNothing()
}

func TestDownRefusesAFolderThatIsNotABeds(t *testing.T) {
	dir := t.TempDir()
	precious := filepath.Join(dir, "precious")
	if err := os.WriteFile(precious, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, command := range []string{"up", "down"} {
		out, err := exec.Command(filepath.Join(programs(t), "bed"), "--dir", dir, command).CombinedOutput()
		if err == nil || !strings.Contains(string(out), "not a bed's folder") {
			t.Errorf("%s (error %v) says %s", command, err, out)
		}
	}
	if _, err := os.Stat(precious); err != nil {
		t.Error(err)
	}
}

func (bed *testBed) record() state.Record {
	bed.t.Helper()
	record, found, err := state.ReadRecord(bed.dir)
	if err != nil || !found || record.First == nil {
		bed.t.Fatalf("no record of a first process in %s (error %v)", bed.dir, err)
	}
	return record
}

// step is what the bed's first process has written down about the component.
func (bed *testBed) step(name string) state.Step {
	bed.t.Helper()
	progress := must(state.ReadProgress(bed.dir))
	at := slices.IndexFunc(progress.Steps, func(step state.Step) bool { return step.Name == name })
	if at < 0 {
		bed.t.Fatalf("no step %s in %v", name, progress)
	}
	return progress.Steps[at]
}
