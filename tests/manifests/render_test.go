package manifests

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"sigs.k8s.io/yaml"
)

// What the operator makes of every example is what Kubernetes takes: rendered by the binary, created as a dry run.
func TestWhatEveryExampleRendersToIsAccepted(t *testing.T) {
	for _, file := range exampleFiles(t) {
		for _, example := range documents(t, read(t, file)) {
			if example["kind"] != "MPIJob" {
				continue
			}
			objects := documents(t, render(t, file, example))
			if jobs := kinds(objects); !slices.Contains(jobs, "Job") || !slices.Contains(jobs, "Pod") {
				t.Errorf("%s renders to %v", filepath.Base(file), jobs)
			}
			for _, rendered := range objects {
				if rendered["kind"] == "Secret" { // the operator makes the key pair when it creates it
					rendered["stringData"] = object{"ssh-privatekey": "a", "ssh-publickey": "b"}
				}
				_, why, err := run(encoded(t, rendered), "create", "--dry-run=server", "--validate=strict", "-n", "default", "-f", "-")
				if err != nil || why != "" {
					t.Errorf("%s, %s %v: %s", filepath.Base(file), rendered["kind"], at(rendered, "metadata", "name"), why)
				}
			}
		}
	}
}

func render(t *testing.T, file string, job object) string {
	t.Helper()
	text, err := yaml.Marshal(job)
	if err != nil {
		t.Fatal(err)
	}
	command := exec.Command(os.Getenv("COXSWAIN"), "render", "-", "--plugin-dir", filepath.Join(root, "target", "plugins"))
	var out, why bytes.Buffer
	command.Stdin, command.Stdout, command.Stderr = bytes.NewReader(text), &out, &why
	if err := command.Run(); err != nil {
		t.Fatalf("rendering %s: %v: %s", filepath.Base(file), err, why.String())
	}
	return out.String()
}
