package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// lastAppliedLimit bounds the annotations of an object, and so what plain `kubectl apply` can handle, bytes.
const lastAppliedLimit = 256 * 1024

func TestTheFileIsUpToDate(t *testing.T) {
	wanted, err := render()
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(wanted, written(t)) {
		t.Error("kubeflow.org_mpijobs.yaml is out of date: run `go run .` in crds/generate")
	}
}

func TestPlainApplyHasRoomForTheWholeObjectTwice(t *testing.T) {
	compact, err := yaml.YAMLToJSON(written(t))
	if err != nil {
		t.Fatal(err)
	}
	if len(compact) > lastAppliedLimit/2 {
		t.Errorf("the CRD takes %d bytes as JSON", len(compact))
	}
}

func TestEveryObjectOfThePodSpecKeepsFieldsOfNewerKubernetes(t *testing.T) {
	schema := schemaOf(versionOf(t, written(t)))
	for _, name := range strings.Split("properties spec properties mpiReplicaSpecs additionalProperties properties template properties spec", " ") {
		schema = schema.(object)[name]
	}
	if count := closedObjects(schema); count != 0 {
		t.Errorf("%d objects of the pod spec drop unknown fields", count)
	}
	metadata, _ := json.Marshal(embeddedMetadata())
	if strings.Contains(string(metadata), "preserve") {
		t.Error("the template's metadata keeps unknown fields")
	}
}

func closedObjects(schema any) int {
	count := 0
	switch schema := schema.(type) {
	case []any:
		for _, item := range schema {
			count += closedObjects(item)
		}
	case object:
		_, isObject := schema["properties"].(object)
		if isObject && schema["type"] == "object" && schema["x-kubernetes-preserve-unknown-fields"] != true {
			count++
		}
		for key, inner := range schema {
			if key != "metadata" { // claim templates' metadata is trimmed, as in the published CRD
				count += closedObjects(inner)
			}
		}
	}
	return count
}

func TestASchemaThatOpenAPIDoesNotHaveIsNamed(t *testing.T) {
	_, err := inliner{schemas: object{}}.inline(object{"allOf": []any{object{"$ref": "#/components/schemas/io.k8s.Gone"}}})
	if err == nil || !strings.Contains(err.Error(), "io.k8s.Gone") {
		t.Errorf("got %v", err)
	}
}

func TestDefaultsThatNobodyWroteAreDropped(t *testing.T) {
	inlined, err := inliner{}.inline(object{
		"required": []any{"must"},
		"properties": object{
			"must":   object{"type": "string", "default": ""},
			"nested": object{"type": "object", "default": object{}},
			"may":    object{"type": "string", "default": "TCP"},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	properties := inlined["properties"].(object)
	for name, wanted := range map[string]any{"must": nil, "nested": nil, "may": "TCP"} {
		if got := properties[name].(object)["default"]; got != wanted {
			t.Errorf("%s: default %v, wanted %v", name, got, wanted)
		}
	}
}
