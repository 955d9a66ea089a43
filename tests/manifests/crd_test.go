package manifests

import (
	"reflect"
	"strings"
	"testing"
)

// stored creates the job and returns it as the API server keeps it.
func stored(t *testing.T, wanted object) object {
	t.Helper()
	name := at(wanted, "metadata", "name").(string)
	t.Cleanup(func() { run(nil, "delete", "mpijob", name, "--ignore-not-found") })
	return document(t, kubectl(t, encoded(t, wanted), "create", "-f", "-", "-o", "json"))
}

func TestDefaultsAppear(t *testing.T) {
	spec := at(stored(t, job("defaults", func(spec object) { spec["runPolicy"] = object{} })), "spec").(object)
	for key, wanted := range map[string]any{
		"slotsPerWorker":         1.0,
		"runLauncherAsWorker":    false,
		"sshAuthMountPath":       "/root/.ssh",
		"launcherCreationPolicy": "AtStartup",
		"mpiImplementation":      "OpenMPI",
		"runPolicy":              object{"suspend": false},
	} {
		if !reflect.DeepEqual(spec[key], wanted) {
			t.Errorf("%s is %v, not %v", key, spec[key], wanted)
		}
	}
	launcher := at(spec, "mpiReplicaSpecs", "Launcher", "template", "spec").(object)
	if len(launcher) != 1 {
		t.Errorf("the pod spec got more than its containers: %v", launcher)
	}
}

func TestAMissingRunPolicyStaysMissing(t *testing.T) {
	if policy := at(stored(t, job("no-policy")), "spec", "runPolicy"); policy != nil {
		t.Errorf("runPolicy is %v", policy)
	}
}

func TestPodFieldsHaveTheDefaultsOfThePublishedSchema(t *testing.T) {
	spec := at(stored(t, job("pod-defaults", func(spec object) {
		container := at(spec, "mpiReplicaSpecs", "Worker", "template", "spec", "containers", 0).(object)
		container["ports"] = []any{object{"containerPort": 2222}}
	})), "spec", "mpiReplicaSpecs", "Worker", "template", "spec")
	if protocol := at(spec, "containers", 0, "ports", 0, "protocol"); protocol != "TCP" {
		t.Errorf("protocol is %v", protocol)
	}
}

func TestPodFieldsOfNewerKubernetesAreKept(t *testing.T) {
	spec := at(stored(t, job("newer", func(spec object) {
		pod := at(spec, "mpiReplicaSpecs", "Worker", "template", "spec").(object)
		pod["futureField"] = object{"a": 1}
		container := at(pod, "containers", 0).(object)
		container["futureField"] = "b"
		container["securityContext"] = object{"futureField": []any{"c"}}
		pod["volumes"] = []any{object{"name": "v", "futureVolume": object{"d": 2}}}
	})), "spec", "mpiReplicaSpecs", "Worker", "template", "spec")
	for _, place := range []struct {
		path   []any
		wanted any
	}{
		{[]any{"futureField", "a"}, 1.0},
		{[]any{"containers", 0, "futureField"}, "b"},
		{[]any{"containers", 0, "securityContext", "futureField", 0}, "c"},
		{[]any{"volumes", 0, "futureVolume", "d"}, 2.0},
	} {
		if got := at(spec, place.path...); got != place.wanted {
			t.Errorf("%v is %v, not %v", place.path, got, place.wanted)
		}
	}
}

func TestUnknownFieldsOfTheJobItselfAreRefused(t *testing.T) {
	_, why, err := run(encoded(t, job("typo", func(spec object) { spec["slotPerWorker"] = 2 })), "apply", "--dry-run=server", "-f", "-")
	if err == nil || !strings.Contains(why, `unknown field "spec.slotPerWorker"`) {
		t.Errorf("got %q", why)
	}
}

func TestAnyImplementationIsAcceptedButNoNonsense(t *testing.T) {
	for name, accepted := range map[string]bool{
		"OpenMPI": true, "Intel": true, "MPICH": true, "mvapich2": true, "cray-mpich_8.1": true,
		"": false, "two words": false, "$(reboot)": false,
	} {
		wanted := job("implementation", func(spec object) { spec["mpiImplementation"] = name })
		_, why, err := run(encoded(t, wanted), "apply", "--dry-run=server", "-f", "-")
		if (err == nil) != accepted {
			t.Errorf("%q: accepted %v: %s", name, err == nil, why)
		}
	}
}

func TestWrongTypesInThePodSpecAreRefused(t *testing.T) {
	wanted := job("types", func(spec object) {
		at(spec, "mpiReplicaSpecs", "Worker", "template", "spec").(object)["hostNetwork"] = "yes"
	})
	if _, why, err := run(encoded(t, wanted), "apply", "--dry-run=server", "-f", "-"); err == nil || !strings.Contains(why, "hostNetwork") {
		t.Errorf("got %q", why)
	}
}

func TestServerSideApplyMergesContainersByName(t *testing.T) {
	stored(t, job("merge"))
	addition := object{
		"apiVersion": "kubeflow.org/v2beta1", "kind": "MPIJob", "metadata": object{"name": "merge", "namespace": "default"},
		"spec": object{"mpiReplicaSpecs": object{"Worker": object{"template": object{"spec": object{"containers": []any{
			object{"name": "worker", "env": []any{object{"name": "A", "value": "1"}}},
			object{"name": "sidecar", "image": "localhost/y"},
		}}}}}},
	}
	applied := document(t, kubectl(t, encoded(t, addition), "apply", "--server-side", "--field-manager=other", "-f", "-", "-o", "json"))
	containers := at(applied, "spec", "mpiReplicaSpecs", "Worker", "template", "spec", "containers").([]any)
	if len(containers) != 2 || at(containers, 0, "image") != "localhost/x" || at(containers, 0, "env", 0, "name") != "A" {
		t.Errorf("containers are %v", containers)
	}
}

func TestKubectlGetTellsTheState(t *testing.T) {
	stored(t, job("columns"))
	kubectl(t, nil, "patch", "mpijob", "columns", "--subresource=status", "--type=merge", "-p", `{"status": {
		"startTime": "2026-01-01T00:00:00Z", "replicaStatuses": {"Worker": {"active": 2}}, "conditions": [
		{"type": "Created", "status": "True", "reason": "MPIJobCreated"},
		{"type": "Suspended", "status": "True", "reason": "MPIJobSuspended"},
		{"type": "Running", "status": "False", "reason": "MPIJobSuspended"}]}}`)
	lines := strings.Split(strings.TrimSpace(kubectl(t, nil, "get", "mpijobs", "columns")), "\n")
	heads, cells := strings.Fields(lines[0]), strings.Fields(lines[1])
	if wanted := []string{"NAME", "STATE", "WORKERS", "ACTIVE", "IMPLEMENTATION", "AGE"}; !reflect.DeepEqual(heads, wanted) {
		t.Errorf("columns are %v", heads)
	}
	if wanted := []string{"columns", "MPIJobSuspended", "2", "2", "OpenMPI"}; len(cells) < 5 || !reflect.DeepEqual(cells[:5], wanted) {
		t.Errorf("cells are %v", cells)
	}
}

func TestTheStatusIsASubresource(t *testing.T) {
	wanted := job("status")
	wanted["status"] = object{"startTime": "2026-01-01T00:00:00Z"}
	if status := stored(t, wanted)["status"]; status != nil {
		t.Errorf("creation set the status to %v", status)
	}
}

func TestConditionsMergeByType(t *testing.T) {
	stored(t, job("conditions"))
	for _, part := range []string{"Created", "Running"} {
		status := object{
			"apiVersion": "kubeflow.org/v2beta1", "kind": "MPIJob", "metadata": object{"name": "conditions", "namespace": "default"},
			"status": object{"conditions": []any{object{"type": part, "status": "True"}}},
		}
		kubectl(t, encoded(t, status), "apply", "--server-side", "--subresource=status", "--field-manager="+part, "-f", "-")
	}
	got := document(t, kubectl(t, nil, "get", "mpijob", "conditions", "-o", "json"))
	if conditions, _ := at(got, "status", "conditions").([]any); len(conditions) != 2 {
		t.Errorf("conditions are %v", conditions)
	}
}
