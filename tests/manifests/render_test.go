package manifests

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// What the operator makes of every example is what Kubernetes takes: rendered by the binary, created as a dry run.
func TestWhatEveryExampleRendersToIsAccepted(t *testing.T) {
	for _, file := range exampleFiles(t) {
		for _, example := range documents(t, read(t, file)) {
			if example["kind"] != "MPIJob" {
				continue
			}
			objects := documents(t, render(t, file))
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

// The name that the claim's template tells DraNet to give the card reaches NCCL, UCX and Open MPI, in every pod with ranks.
func TestTheInterfaceOfTheExamplesClaimReachesEveryLibrary(t *testing.T) {
	objects := documents(t, render(t, filepath.Join(root, "examples", "dranet.yaml")))
	files := only(t, objects, "ConfigMap", "dranet-files")
	for key, line := range map[string]string{"nccl-conf": "NCCL_SOCKET_IFNAME=dranet0\n", "ucx-conf": "UCX_NET_DEVICES=dranet0\n"} {
		if content, _ := at(files, "data", key).(string); !strings.Contains(content, line) {
			t.Errorf("%s is %q", key, content)
		}
	}
	launcher := at(only(t, objects, "Job", "dranet-launcher"), "spec", "template", "spec", "containers", 0)
	if !slices.ContainsFunc(at(launcher, "env").([]any), func(env any) bool {
		return at(env, "name") == "OMPI_MCA_btl_tcp_if_include" && at(env, "value") == "dranet0"
	}) {
		t.Errorf("the launcher has %s", encoded(t, at(launcher, "env")))
	}
	worker := at(only(t, objects, "Pod", "dranet-worker-0"), "spec")
	text := string(encoded(t, worker))
	for _, part := range []string{`"/dev/shm"`, `"8Gi"`, `"IPC_LOCK"`, `"/etc/nccl.conf"`, `"/etc/ucx/ucx.conf"`} {
		if !strings.Contains(text, part) {
			t.Errorf("a worker lacks %s: %s", part, text)
		}
	}
}

func render(t *testing.T, file string) string {
	t.Helper()
	command := exec.Command(os.Getenv("COXSWAIN"), "render", file, "--plugin-dir", filepath.Join(root, "target", "plugins"))
	var out, why bytes.Buffer
	command.Stdout, command.Stderr = &out, &why
	if err := command.Run(); err != nil {
		t.Fatalf("rendering %s: %v: %s", filepath.Base(file), err, why.String())
	}
	return out.String()
}
