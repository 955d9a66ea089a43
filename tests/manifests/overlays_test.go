package manifests

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// overlay builds deploy/overlays/NAME.
func overlay(t *testing.T, name string) []object {
	t.Helper()
	return documents(t, kubectl(t, nil, "kustomize", filepath.Join(root, "deploy", "overlays", name)))
}

// kinds lists the kinds that occur.
func kinds(objects []object) []string {
	var found []string
	for _, one := range objects {
		found = append(found, one["kind"].(string))
	}
	slices.Sort(found)
	return slices.Compact(found)
}

func only(t *testing.T, objects []object, kind, name string) object {
	t.Helper()
	var found []object
	for _, one := range objects {
		if one["kind"] == kind && at(one, "metadata", "name") == name {
			found = append(found, one)
		}
	}
	if len(found) != 1 {
		t.Fatalf("%d objects %s/%s", len(found), kind, name)
	}
	return found[0]
}

func TestEveryOverlayIsAcceptedByTheServer(t *testing.T) {
	overlays, err := os.ReadDir(filepath.Join(root, "deploy", "overlays"))
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range overlays {
		folder := filepath.Join(root, "deploy", "overlays", entry.Name())
		_, why, err := run(nil, "apply", "--dry-run=server", "-k", folder)
		if err != nil || why != "" {
			t.Errorf("%s: %s", entry.Name(), why)
		}
	}
}

func TestTheDeploymentCanReplaceThatOfTheMPIOperator(t *testing.T) {
	theirs := documents(t, kubectl(t, nil, "kustomize", filepath.Join(os.Getenv("PUBLISHED"), "manifests", "overlays", "standalone")))
	ours := overlay(t, "standalone")
	for _, kept := range [][]string{
		{"Namespace", "mpi-operator"}, {"ServiceAccount", "mpi-operator"}, {"Deployment", "mpi-operator"},
		{"ClusterRole", "mpi-operator"}, {"ClusterRoleBinding", "mpi-operator"},
		{"ClusterRole", "kubeflow-mpijobs-admin"}, {"ClusterRole", "kubeflow-mpijobs-edit"}, {"ClusterRole", "kubeflow-mpijobs-view"},
	} {
		only(t, theirs, kept[0], kept[1])
		only(t, ours, kept[0], kept[1])
	}
	their, our := only(t, theirs, "Deployment", "mpi-operator"), only(t, ours, "Deployment", "mpi-operator")
	for _, path := range [][]any{
		{"spec", "selector"}, {"metadata", "namespace"}, {"metadata", "labels"}, {"spec", "template", "metadata", "labels"},
		{"spec", "template", "spec", "serviceAccountName"}, {"spec", "template", "spec", "containers", 0, "name"},
		{"spec", "template", "metadata", "annotations", "sidecar.istio.io/inject"},
	} {
		if !reflect.DeepEqual(at(their, path...), at(our, path...)) {
			t.Errorf("%v: theirs %v, ours %v", path, at(their, path...), at(our, path...))
		}
	}
}

func TestTheOperatorRunsWithoutPrivileges(t *testing.T) {
	pod := at(only(t, overlay(t, "standalone"), "Deployment", "mpi-operator"), "spec", "template", "spec").(object)
	container := at(pod, "containers", 0)
	for _, expected := range []struct {
		got, wanted any
	}{
		{at(pod, "securityContext", "runAsNonRoot"), true},
		{at(pod, "securityContext", "seccompProfile", "type"), "RuntimeDefault"},
		{at(container, "securityContext", "readOnlyRootFilesystem"), true},
		{at(container, "securityContext", "allowPrivilegeEscalation"), false},
		{at(container, "securityContext", "capabilities", "drop", 0), "ALL"},
	} {
		if expected.got != expected.wanted {
			t.Errorf("got %v, wanted %v", expected.got, expected.wanted)
		}
	}
	kubectl(t, nil, "create", "namespace", "restricted")
	t.Cleanup(func() { run(nil, "delete", "namespace", "restricted", "--wait=false") })
	kubectl(t, nil, "label", "namespace", "restricted", "pod-security.kubernetes.io/enforce=restricted")
	kubectl(t, nil, "create", "serviceaccount", "mpi-operator", "-n", "restricted")
	bare := object{"apiVersion": "v1", "kind": "Pod", "spec": pod, "metadata": object{"name": "operator", "namespace": "restricted"}}
	kubectl(t, encoded(t, bare), "apply", "--dry-run=server", "-f", "-")
}

func TestTheNamespacedOverlayHasNoRightOutside(t *testing.T) {
	built := overlay(t, "namespaced")
	if wanted := []string{"Deployment", "Role", "RoleBinding", "ServiceAccount"}; !reflect.DeepEqual(kinds(built), wanted) {
		t.Errorf("it holds %v", kinds(built))
	}
	for _, one := range built {
		if at(one, "metadata", "namespace") != "default" {
			t.Errorf("%s is in %v", one["kind"], at(one, "metadata", "namespace"))
		}
	}
	arguments := fmt.Sprint(at(only(t, built, "Deployment", "mpi-operator"), "spec", "template", "spec", "containers", 0, "args"))
	if !strings.Contains(arguments, "--namespace=$(POD_NAMESPACE)") {
		t.Errorf("arguments are %s", arguments)
	}
	cluster := only(t, overlay(t, "standalone"), "ClusterRole", "mpi-operator")
	if !reflect.DeepEqual(only(t, built, "Role", "mpi-operator")["rules"], cluster["rules"]) {
		t.Error("its Role differs from the ClusterRole")
	}
}

func TestTheOperatorHasNoWildcardAndNoEscalation(t *testing.T) {
	for _, one := range overlay(t, "standalone") {
		if !strings.HasPrefix(fmt.Sprint(at(one, "metadata", "name")), "mpi-operator") || one["rules"] == nil {
			continue
		}
		text := string(encoded(t, one["rules"]))
		for _, forbidden := range []string{`"*"`, "escalate", "impersonate", `"bind"`, "pods/exec", "customresourcedefinitions"} {
			if strings.Contains(text, forbidden) {
				t.Errorf("%s %s allows %s", one["kind"], at(one, "metadata", "name"), forbidden)
			}
		}
	}
}

func TestTheProductionOverlayHasAStandbyAndSchemasForItsServiceAccount(t *testing.T) {
	built := overlay(t, "production")
	if replicas := at(only(t, built, "Deployment", "mpi-operator"), "spec", "replicas"); replicas != 2.0 {
		t.Errorf("replicas: %v", replicas)
	}
	for _, name := range []string{"mpi-operator", "mpi-operator-leader-election"} {
		subject := at(only(t, built, "FlowSchema", name), "spec", "rules", 0, "subjects", 0, "serviceAccount")
		wanted := object{"name": "mpi-operator", "namespace": "mpi-operator"}
		if !reflect.DeepEqual(subject, wanted) {
			t.Errorf("%s is for %v", name, subject)
		}
	}
}

// withComponent builds an overlay as a user does who adds a component to it.
func withComponent(t *testing.T, overlay, component string) []object {
	t.Helper()
	folder := t.TempDir()
	near := func(parts ...string) string {
		path, err := filepath.Rel(folder, filepath.Join(append([]string{root, "deploy"}, parts...)...))
		if err != nil {
			t.Fatal(err)
		}
		return path
	}
	text := encoded(t, object{
		"kind": "Kustomization", "resources": []any{near("overlays", overlay)}, "components": []any{near("components", component)},
	})
	if err := os.WriteFile(filepath.Join(folder, "kustomization.yaml"), text, 0o600); err != nil {
		t.Fatal(err)
	}
	return documents(t, kubectl(t, nil, "kustomize", folder))
}

func TestSignedPluginsReadTheirKeysFromASecret(t *testing.T) {
	pod := at(only(t, withComponent(t, "standalone", "signed-plugins"), "Deployment", "mpi-operator"), "spec", "template", "spec")
	args := fmt.Sprint(at(pod, "containers", 0, "args"))
	for _, flag := range []string{"--lock-namespace", "--plugin-signatures=require", "--plugin-keys=/plugin-keys/keys.pem"} {
		if !strings.Contains(args, flag) {
			t.Errorf("%s is missing in %s", flag, args)
		}
	}
	if secret := at(pod, "volumes", 0, "secret", "secretName"); secret != "coxswain-plugin-keys" {
		t.Errorf("the keys come from %v", secret)
	}
}

func TestNoRoleForUsersWritesConfigMaps(t *testing.T) {
	for _, name := range []string{"kubeflow-mpijobs-admin", "kubeflow-mpijobs-edit", "kubeflow-mpijobs-view"} {
		if rules := fmt.Sprint(at(only(t, overlay(t, "standalone"), "ClusterRole", name), "rules")); strings.Contains(rules, "configmaps") {
			t.Errorf("%s may touch ConfigMaps, and so bring plugins: %s", name, rules)
		}
	}
}

func TestMonitoringGoesWithTheOperatorsNamespace(t *testing.T) {
	built := withComponent(t, "kubeflow", "monitoring")
	for _, kind := range []string{"PodMonitor", "PrometheusRule"} {
		if namespace := at(only(t, built, kind, "mpi-operator"), "metadata", "namespace"); namespace != "kubeflow" {
			t.Errorf("%s is in %v", kind, namespace)
		}
	}
	quoted := regexp.MustCompile(`namespace="([^"]*)"`)
	rules := at(only(t, built, "PrometheusRule", "mpi-operator"), "spec", "groups", 0, "rules").([]any)
	for _, rule := range rules {
		for _, found := range quoted.FindAllStringSubmatch(at(rule, "expr").(string), -1) {
			if found[1] != "kubeflow" {
				t.Errorf("%v looks at namespace %s", at(rule, "alert"), found[1])
			}
		}
	}
}

func TestPluginConfigMapsHoldTheBytesThatWereGiven(t *testing.T) {
	file := filepath.Join(root, "target", "plugins", "openmpi.wasm")
	component, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	rendered, err := exec.Command(os.Getenv("COXSWAIN"), "plugin", "pack", file).Output()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { run(nil, "delete", "configmap", "-n", "mpi-operator", "openmpi") })
	kubectl(t, rendered, "apply", "-n", "mpi-operator", "-f", "-")
	kubectl(t, rendered, "apply", "-n", "mpi-operator", "-f", "-")
	kept := document(t, kubectl(t, nil, "get", "configmap", "-n", "mpi-operator", "-l", "coxswain.dev/plugin=openmpi", "-o", "json"))
	if got := at(kept, "items", 0, "binaryData", "plugin.wasm"); got != base64.StdEncoding.EncodeToString(component) {
		t.Errorf("binaryData is %v", got)
	}
	if got := at(kept, "items", 0, "data", "sha256"); got != fmt.Sprintf("%x", sha256.Sum256(component)) {
		t.Errorf("sha256 is %v", got)
	}
	if _, err := exec.Command(os.Getenv("COXSWAIN"), "plugin", "pack", file+"x").Output(); err == nil {
		t.Error("a missing file is no error")
	}
}
