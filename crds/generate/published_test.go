package main

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

const publishedModule = "github.com/kubeflow/mpi-operator@v0.8.2"

// differences from the CRD of the MPI Operator 0.8.2, each with its reason. A path covers everything below it.
var differences = map[string]string{
	"spec.mpiImplementation.enum": "any name that a plugin serves is allowed",
	// The published schema is that of Kubernetes 1.35, ours that of 1.34. Unknown fields of the pod spec are kept.
	"PODSPEC.workloadRef": "a field of Kubernetes 1.35",
	"PODSPEC.volumes.items.projected.sources.items.podCertificate.userAnnotations": "a field of Kubernetes 1.35",
}

// ignored keys carry no behaviour.
var ignored = []string{"description"}

// faults lists where ours says less or something else than theirs, by path.
func faults(path string, theirs, ours any) []string {
	if _, known := differences[path]; known {
		return nil
	}
	their, isObject := theirs.(object)
	if !isObject {
		if reflect.DeepEqual(theirs, ours) {
			return nil
		}
		return []string{fmt.Sprintf("%s: published %v, ours %v", path, theirs, ours)}
	}
	our, _ := ours.(object)
	var found []string
	for key, value := range their {
		if !slices.Contains(ignored, key) || isPropertyMap(path) {
			found = append(found, faults(below(path, key), value, our[key])...)
		}
	}
	return found
}

// additions lists keys that only ours has, other than those that the design adds.
func additions(path string, theirs, ours any) []string {
	our, isObject := ours.(object)
	if !isObject {
		return nil
	}
	their, _ := theirs.(object)
	var found []string
	for key, value := range our {
		inner := below(path, key)
		switch _, both := their[key]; {
		case both:
			found = append(found, additions(inner, their[key], value)...)
		case slices.Contains(ignored, key), key == "x-kubernetes-preserve-unknown-fields":
		case strings.HasPrefix(inner, "spec.mpiImplementation."):
		default:
			found = append(found, inner)
		}
	}
	return found
}

func below(path, key string) string {
	if key == "properties" || key == "items" || key == "additionalProperties" {
		return path + "." + key
	}
	path = strings.ReplaceAll(path+"."+key, ".properties.", ".")
	path = strings.TrimPrefix(strings.TrimPrefix(path, "."), "properties.")
	return strings.Replace(path, "spec.mpiReplicaSpecs.additionalProperties.template.spec.", "PODSPEC.", 1)
}

func isPropertyMap(path string) bool { return strings.HasSuffix(path, "properties") }

func versionOf(t *testing.T, text []byte) object {
	t.Helper()
	var crd object
	if err := yaml.Unmarshal(text, &crd); err != nil {
		t.Fatal(err)
	}
	return crd["spec"].(object)["versions"].([]any)[0].(object)
}

func published(t *testing.T) []byte {
	t.Helper()
	folder, err := moduleFolder(publishedModule)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(folder, "manifests", "base", "kubeflow.org_mpijobs.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func schemaOf(version object) any { return version["schema"].(object)["openAPIV3Schema"] }

func written(t *testing.T) []byte {
	t.Helper()
	text, err := os.ReadFile(target)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestEverythingInThePublishedSchemaIsInOurs(t *testing.T) {
	theirs, ours := versionOf(t, published(t)), versionOf(t, written(t))
	for _, fault := range faults("", schemaOf(theirs), schemaOf(ours)) {
		t.Error(fault)
	}
	if !reflect.DeepEqual(theirs["subresources"], ours["subresources"]) {
		t.Errorf("subresources: published %v, ours %v", theirs["subresources"], ours["subresources"])
	}
}

func TestOursAddsOnlyWhatTheDesignAdds(t *testing.T) {
	for _, addition := range additions("", schemaOf(versionOf(t, published(t))), schemaOf(versionOf(t, written(t)))) {
		t.Error("only ours has", addition)
	}
}
