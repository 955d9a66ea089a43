// Package manifests checks what a user applies: the CRD, the overlays, the plugin ConfigMaps and the examples, with
// kubectl against a real API server. In: KUBECONFIG, kubectl on the path, COXSWAIN_ROOT (the repository), PUBLISHED (the
// sources of the MPI Operator 0.8.2), and COXSWAIN (the operator's binary).
package manifests

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"
)

type object = map[string]any

var (
	root    = os.Getenv("COXSWAIN_ROOT")
	crdFile = filepath.Join(root, "crds", "kubeflow.org_mpijobs.yaml")
)

// namespaces that the overlays are for.
var namespaces = []string{"mpi-operator", "kubeflow"}

func TestMain(m *testing.M) {
	if err := prepare(); err != nil {
		fmt.Fprintln(os.Stderr, "manifests:", err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// prepare installs what the first users did: the CRD of the MPI Operator 0.8.2. Every test then runs on ours, applied
// over it with plain `kubectl apply`.
func prepare() error {
	published := filepath.Join(os.Getenv("PUBLISHED"), "manifests", "base", "kubeflow.org_mpijobs.yaml")
	if _, why, err := run(nil, "apply", "--server-side", "--force-conflicts", "-f", published); err != nil {
		return fmt.Errorf("applying the published CRD: %s", why)
	}
	for _, file := range []string{crdFile, crdFile} {
		if _, why, err := run(nil, "apply", "-f", file); err != nil {
			return fmt.Errorf("applying the CRD: %s", why)
		}
	}
	if _, why, err := run(nil, "wait", "--for=condition=Established", "--timeout=30s", "crd/mpijobs.kubeflow.org"); err != nil {
		return fmt.Errorf("waiting for the CRD: %s", why)
	}
	for _, name := range namespaces {
		if _, why, err := run(nil, "create", "namespace", name, "--save-config"); err != nil && !strings.Contains(why, "AlreadyExists") {
			return fmt.Errorf("creating namespace %s: %s", name, why)
		}
	}
	return nil
}

// run calls kubectl with input, and returns what it says on both channels.
func run(input []byte, arguments ...string) (output, complaint string, err error) {
	command := exec.Command("kubectl", arguments...)
	var out, why bytes.Buffer
	command.Stdin, command.Stdout, command.Stderr = bytes.NewReader(input), &out, &why
	err = command.Run()
	return out.String(), strings.TrimSpace(why.String()), err
}

// kubectl is run for calls that must succeed.
func kubectl(t *testing.T, input []byte, arguments ...string) string {
	t.Helper()
	output, why, err := run(input, arguments...)
	if err != nil {
		t.Fatalf("kubectl %s: %s", strings.Join(arguments, " "), why)
	}
	return output
}

// document parses one JSON or YAML document.
func document(t *testing.T, text string) object {
	t.Helper()
	var parsed object
	if err := yaml.Unmarshal([]byte(text), &parsed); err != nil {
		t.Fatal(err)
	}
	return parsed
}

// documents parses a stream of YAML documents.
func documents(t *testing.T, text string) []object {
	t.Helper()
	var all []object
	for _, part := range strings.Split("\n"+text, "\n---") {
		if strings.TrimSpace(part) != "" {
			all = append(all, document(t, part))
		}
	}
	return all
}

// at follows keys and list indexes; nil if there is nothing.
func at(value any, path ...any) any {
	for _, step := range path {
		switch step := step.(type) {
		case string:
			parent, _ := value.(object)
			value = parent[step]
		case int:
			list, _ := value.([]any)
			if step >= len(list) {
				return nil
			}
			value = list[step]
		}
	}
	return value
}

func encoded(t *testing.T, value any) []byte {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// eventually calls check until it says nothing, for 20 seconds at most.
func eventually(t *testing.T, check func() string) {
	t.Helper()
	var why string
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(200 * time.Millisecond) {
		if why = check(); why == "" {
			return
		}
	}
	t.Fatal(why)
}

// job returns an MPIJob with one launcher and two workers, changed by the callers' functions.
func job(name string, changes ...func(spec object)) object {
	template := func(container string) object {
		return object{"spec": object{"containers": []any{object{"name": container, "image": "localhost/x"}}}}
	}
	spec := object{"mpiReplicaSpecs": object{
		"Launcher": object{"replicas": 1, "template": template("launcher")},
		"Worker":   object{"replicas": 2, "template": template("worker")},
	}}
	for _, change := range changes {
		change(spec)
	}
	return object{
		"apiVersion": "kubeflow.org/v2beta1", "kind": "MPIJob",
		"metadata": object{"name": name, "namespace": "default"}, "spec": spec,
	}
}
