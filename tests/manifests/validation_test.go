package manifests

import (
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"
)

const policyName = "mpijobs.coxswain.dev"

// set changes one field of the spec; a nil value removes it.
func set(value any, path ...string) func(object) {
	return func(spec object) {
		last := len(path) - 1
		for _, key := range path[:last] {
			if _, present := spec[key].(object); !present {
				spec[key] = object{}
			}
			spec = spec[key].(object)
		}
		if spec[path[last]] = value; value == nil {
			delete(spec, path[last])
		}
	}
}

// withPolicy installs the component until the test ends. The API server heeds either change after a while only.
func withPolicy(t *testing.T) {
	t.Helper()
	file := filepath.Join(root, "deploy", "components", "validation", "policy.yaml")
	kubectl(t, nil, "apply", "-f", file)
	t.Cleanup(func() {
		kubectl(t, nil, "delete", "-f", file)
		awaitPolicy(t, false)
	})
	awaitPolicy(t, true)
}

func awaitPolicy(t *testing.T, inForce bool) {
	t.Helper()
	broken := encoded(t, job("probe", set(-1, "slotsPerWorker")))
	eventually(t, func() string {
		if _, _, err := run(broken, "create", "--dry-run=server", "-f", "-"); (err != nil) != inForce {
			return fmt.Sprintf("the policy is in force: %v", !inForce)
		}
		return ""
	})
}

// most is the largest number of workers of which the operator can be sure that some launcher's host list and script fit
// into a ConfigMap: counted line by line, where the policy multiplies.
func most(name string) int {
	bytes := 0
	for workers := 0; ; workers++ {
		host := fmt.Sprintf("%s-worker-%d.%s.%s.svc", name, workers, name, "default")
		if bytes += len(host+":1\n") + len("echo "+host+":1\n"); bytes > 900<<10 {
			return workers
		}
	}
}

func containers(count int) []any {
	list := make([]any, count)
	for i := range list {
		list[i] = object{"name": fmt.Sprintf("c%d", i), "image": "example.com/mpi"}
	}
	return list
}

func TestThePolicyRefusesWhatTheOperatorRefuses(t *testing.T) {
	withPolicy(t)
	longName := strings.Repeat("a", 55)
	for _, breach := range []struct {
		wanted string
		job    object
	}{
		{`metadata.name: Invalid value: "` + longName + `": will not able to create pod and service with invalid DNS label "` + longName + `-worker-1"`, job(longName)},
		{`metadata.name: Invalid value: "1a"`, job("1a")},
		{"spec.mpiReplicaSpecs[Launcher]: Required value: must have Launcher replica spec", job("b", set(nil, "mpiReplicaSpecs", "Launcher"))},
		{"spec.mpiReplicaSpecs[Launcher].replicas: Invalid value: must be 1", job("b", set(2, "mpiReplicaSpecs", "Launcher", "replicas"))},
		{"spec.mpiReplicaSpecs[Worker].replicas: Invalid value: must be greater than or equal to 1", job("b", set(0, "mpiReplicaSpecs", "Worker", "replicas"))},
		{"spec.mpiReplicaSpecs[Worker].replicas: Invalid value: must be greater than or equal to 1", job("b", set(nil, "mpiReplicaSpecs", "Worker", "replicas"))},
		{`spec.mpiReplicaSpecs[Launcher].restartPolicy: Unsupported value`, job("b", set("Always", "mpiReplicaSpecs", "Launcher", "restartPolicy"))},
		{`spec.mpiReplicaSpecs[Worker].restartPolicy: Unsupported value`, job("b", set("ExitCode", "mpiReplicaSpecs", "Worker", "restartPolicy"))},
		{"spec.mpiReplicaSpecs[Launcher].template.spec.containers: Required value: must define at least one container", job("b", set([]any{}, "mpiReplicaSpecs", "Launcher", "template", "spec", "containers"))},
		{"spec.mpiReplicaSpecs[Worker].template.spec.containers: Required value: must define at least one container", job("b", set(nil, "mpiReplicaSpecs", "Worker", "template"))},
		{"spec.slotsPerWorker: Invalid value: must be greater than or equal to 0", job("b", set(-1, "slotsPerWorker"))},
		{"spec.mpiReplicaSpecs[Worker].replicas: Invalid value: host list and script", job("b", set(math.MaxInt32, "mpiReplicaSpecs", "Worker", "replicas"))},
		{"spec.mpiReplicaSpecs[Worker].replicas: Invalid value: host list and script", job("b", set(most("b")+1, "mpiReplicaSpecs", "Worker", "replicas"))},
		{"spec.slotsPerWorker: Invalid value: MPI counts no more than 2147483647 ranks", job("b", set(math.MaxInt32, "slotsPerWorker"))},
		{"spec.mpiReplicaSpecs[Worker].template.spec.containers: Invalid value: must have at most 256 items", job("b", set(containers(257), "mpiReplicaSpecs", "Worker", "template", "spec", "containers"))},
		{"spec.runPolicy.cleanPodPolicy: Unsupported value", job("b", set("Some", "runPolicy", "cleanPodPolicy"))},
		{"spec.runPolicy.ttlSecondsAfterFinished: Invalid value: must be greater than or equal to 0", job("b", set(-1, "runPolicy", "ttlSecondsAfterFinished"))},
		{"spec.runPolicy.activeDeadlineSeconds: Invalid value: must be greater than or equal to 0", job("b", set(-1, "runPolicy", "activeDeadlineSeconds"))},
		{"spec.runPolicy.backoffLimit: Invalid value: must be greater than or equal to 0", job("b", set(-1, "runPolicy", "backoffLimit"))},
		{"spec.runPolicy.managedBy: Unsupported value", job("b", set("example.com/other", "runPolicy", "managedBy"))},
	} {
		_, why, err := run(encoded(t, breach.job), "create", "--dry-run=server", "-f", "-")
		if err == nil || !strings.Contains(why, breach.wanted) {
			t.Errorf("wanted %q, got %q", breach.wanted, why)
		}
	}
}

func TestThePolicyAcceptsWhatTheOperatorAccepts(t *testing.T) {
	withPolicy(t)
	for name, accepted := range map[string]object{
		"plain":                  job("a"),
		"launcher alone":         job("a", set(nil, "mpiReplicaSpecs", "Worker")),
		"launcher without count": job("a", set(nil, "mpiReplicaSpecs", "Launcher", "replicas")),
		"everything said": job("a", set(0, "slotsPerWorker"), set("All", "runPolicy", "cleanPodPolicy"), set(0, "runPolicy", "backoffLimit"),
			set("kueue.x-k8s.io/multikueue", "runPolicy", "managedBy"), set("OnFailure", "mpiReplicaSpecs", "Worker", "restartPolicy")),
		"longest name":    job(strings.Repeat("a", 54)),
		"most workers":    job("a", set(most("a"), "mpiReplicaSpecs", "Worker", "replicas")),
		"most containers": job("a", set(containers(256), "mpiReplicaSpecs", "Worker", "template", "spec", "containers")),
		"most ranks":      job("a", set(math.MaxInt32, "slotsPerWorker"), set(1, "mpiReplicaSpecs", "Worker", "replicas")),
	} {
		if _, why, err := run(encoded(t, accepted), "create", "--dry-run=server", "-f", "-"); err != nil {
			t.Errorf("%s: %s", name, why)
		}
	}
	for _, file := range exampleFiles(t) {
		kubectl(t, nil, "apply", "--dry-run=server", "-f", file)
	}
}

func TestAStoredJobThatBreaksARuleCanBeLabelledButNotMadeWorse(t *testing.T) {
	stored(t, job("broken", set(-1, "slotsPerWorker"), set("kubeflow.org/mpi-operator", "runPolicy", "managedBy")))
	withPolicy(t)
	kubectl(t, nil, "label", "mpijob", "broken", "a=b")
	if _, why, err := run(nil, "patch", "mpijob", "broken", "--type=merge", "-p", `{"spec":{"slotsPerWorker":-2}}`); err == nil {
		t.Errorf("accepted: %s", why)
	}
	change := `{"spec":{"slotsPerWorker":1,"runPolicy":{"managedBy":"kueue.x-k8s.io/multikueue"}}}`
	if _, why, err := run(nil, "patch", "mpijob", "broken", "--type=merge", "-p", change); err == nil || !strings.Contains(why, "field is immutable") {
		t.Errorf("got %q", why)
	}
}

// Only the controller manager of a cluster checks types.
func TestThePolicyTypeChecks(t *testing.T) {
	withPolicy(t)
	eventually(t, func() string {
		status := document(t, kubectl(t, nil, "get", "validatingadmissionpolicy", policyName, "-o", "json"))["status"]
		if at(status, "typeChecking") == nil {
			return "it was not checked"
		}
		if warnings := at(status, "typeChecking", "expressionWarnings"); warnings != nil {
			t.Errorf("warnings: %v", warnings)
		}
		return ""
	})
}
