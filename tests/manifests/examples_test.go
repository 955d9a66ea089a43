package manifests

import (
	"path/filepath"
	"strings"
	"testing"
)

func exampleFiles(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, "examples", "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no examples in %s: %v", root, err)
	}
	return files
}

func TestEveryExampleIsAccepted(t *testing.T) {
	for _, file := range exampleFiles(t) {
		output, why, err := run(nil, "apply", "--dry-run=server", "--namespace=default", "-f", file)
		if err != nil || why != "" {
			t.Errorf("%s: %s", filepath.Base(file), why)
		}
		if !strings.Contains(output, "mpijob.kubeflow.org/") {
			t.Errorf("%s holds no MPIJob", filepath.Base(file))
		}
	}
}

// The schema keeps unknown fields of pods; Kubernetes itself knows which are misspelt.
func TestEveryTemplateOfTheExamplesIsAPodTemplateForKubernetes(t *testing.T) {
	for _, file := range exampleFiles(t) {
		for _, example := range documents(t, read(t, file)) {
			roles, _ := at(example, "spec", "mpiReplicaSpecs").(object)
			for role, replica := range roles {
				pod := object{
					"apiVersion": "v1", "kind": "PodTemplate", "template": at(replica, "template"),
					"metadata": object{"name": "check", "namespace": "default"},
				}
				if _, why, err := run(encoded(t, pod), "create", "--dry-run=server", "--validate=strict", "-f", "-"); err != nil || why != "" {
					t.Errorf("%s, %s: %s", filepath.Base(file), role, why)
				}
			}
		}
	}
}

func TestEveryExampleSaysWhatItNeedsAndShows(t *testing.T) {
	for _, file := range exampleFiles(t) {
		comment, _, _ := strings.Cut(read(t, file), "apiVersion:")
		for _, word := range []string{"# Needs:", "# Look at:"} {
			if !strings.Contains(comment, word) {
				t.Errorf("%s does not say %q before its first object", filepath.Base(file), word)
			}
		}
	}
}

func TestEveryExampleIsNamedLikeItsFile(t *testing.T) {
	for _, file := range exampleFiles(t) {
		for _, example := range documents(t, read(t, file)) {
			if example["kind"] == "MPIJob" && at(example, "metadata", "name") != strings.TrimSuffix(filepath.Base(file), ".yaml") {
				t.Errorf("%s names its job %v", filepath.Base(file), at(example, "metadata", "name"))
			}
		}
	}
}
