package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

const (
	core     = "io.k8s.api.core.v1."
	meta     = "io.k8s.apimachinery.pkg.apis.meta.v1."
	quantity = "io.k8s.apimachinery.pkg.api.resource.Quantity"
	intOrStr = "io.k8s.apimachinery.pkg.util.intstr.IntOrString"

	// quantityPattern is the pattern that the published CRD has on quantities.
	quantityPattern = `^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$`
)

// atomicReferences embed a LocalObjectReference, which is atomic. OpenAPI loses that, the published CRD has it.
var atomicReferences = []string{"ConfigMapEnvSource", "SecretEnvSource", "ConfigMapVolumeSource", "ConfigMapProjection", "SecretProjection"}

// undefaulted lists defaults that Kubernetes has and the published CRD has not: named constants, which its generator
// cannot read. The API server sets them on the pod in any case.
var undefaulted = map[string][]string{"AzureDiskVolumeSource": {"cachingMode", "kind"}}

// keptKeys are the schema keys that go over as they are. Enums, patch keys, unions and descriptions do not.
var keptKeys = []string{"type", "format", "x-kubernetes-list-type", "x-kubernetes-list-map-keys", "x-kubernetes-map-type"}

// inliner turns named OpenAPI schemas into structural ones without references.
type inliner struct {
	schemas object
	// open says whether objects keep fields that they do not know.
	open bool
}

// structural returns the named schema of Kubernetes as a CRD can hold it.
func structural(schemas object, name string) (object, error) {
	switch name {
	case "Quantity":
		return anyNumber(quantityPattern), nil
	case "LabelSelector":
		return inliner{schemas: schemas}.named(meta + "LabelSelector")
	case "PodTemplate":
		spec, err := inliner{schemas: schemas, open: true}.named(core + "PodSpec")
		return object{"type": "object", "properties": object{"metadata": embeddedMetadata(), "spec": spec}}, err
	}
	return nil, fmt.Errorf("no rule for the schema %q", name)
}

func (in inliner) named(name string) (object, error) {
	switch name {
	case quantity:
		return anyNumber(quantityPattern), nil
	case intOrStr:
		return anyNumber(""), nil
	case meta + "ObjectMeta":
		return embeddedMetadata(), nil
	}
	schema, known := in.schemas[name].(object)
	if !known {
		return nil, fmt.Errorf("OpenAPI has no schema %q", name)
	}
	inlined, err := in.inline(schema)
	if err != nil {
		return nil, fmt.Errorf("in %s: %w", name, err)
	}
	short := name[strings.LastIndex(name, ".")+1:]
	if slices.Contains(atomicReferences, short) {
		inlined["x-kubernetes-map-type"] = "atomic"
	}
	for _, property := range undefaulted[short] {
		delete(inlined["properties"].(object)[property].(object), "default")
	}
	return inlined, nil
}

func (in inliner) inline(schema object) (object, error) {
	if reference, found := referenceOf(schema); found {
		return in.named(reference)
	}
	inlined := object{}
	for _, key := range keptKeys {
		if value, present := schema[key]; present {
			inlined[key] = value
		}
	}
	if required := texts(schema["required"]); len(required) > 0 {
		slices.Sort(required)
		inlined["required"] = required
	}
	for _, key := range []string{"items", "additionalProperties"} {
		if inner, present := schema[key].(object); present {
			value, err := in.inline(inner)
			if err != nil {
				return nil, err
			}
			inlined[key] = value
		}
	}
	properties, present := schema["properties"].(object)
	if !present {
		return inlined, nil
	}
	if in.open {
		inlined["x-kubernetes-preserve-unknown-fields"] = true
	}
	required := texts(schema["required"])
	inlinedProperties := object{}
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		property := properties[name].(object)
		value, err := in.inline(property)
		if err != nil {
			return nil, err
		}
		if standard, present := property["default"]; present && isMeant(standard, slices.Contains(required, name)) {
			value["default"] = standard
		}
		inlinedProperties[name] = value
	}
	inlined["properties"] = inlinedProperties
	return inlined, nil
}

// isMeant tells a default that Kubernetes' authors wrote from the zero value that OpenAPI gives to every field that
// must be there, and to objects.
func isMeant(standard any, required bool) bool {
	_, isObject := standard.(object)
	return !isObject && !required
}

// referenceOf finds the schema that another stands for: `$ref`, alone or as the only member of `allOf`.
func referenceOf(schema object) (string, bool) {
	if all, present := schema["allOf"].([]any); present && len(all) == 1 {
		schema, _ = all[0].(object)
	}
	reference, present := schema["$ref"].(string)
	return strings.TrimPrefix(reference, "#/components/schemas/"), present
}

// texts returns a JSON list of strings, nil for anything else.
func texts(list any) []string {
	items, _ := list.([]any)
	var found []string
	for _, item := range items {
		if text, isText := item.(string); isText {
			found = append(found, text)
		}
	}
	return found
}

func anyNumber(pattern string) object {
	schema := object{"anyOf": []any{object{"type": "integer"}, object{"type": "string"}}, "x-kubernetes-int-or-string": true}
	if pattern != "" {
		schema["pattern"] = pattern
	}
	return schema
}

// embeddedMetadata is what a template inside another object may say about its pods or claims.
func embeddedMetadata() object {
	text := object{"type": "string"}
	textMap := object{"type": "object", "additionalProperties": text}
	return object{"type": "object", "properties": object{
		"annotations": textMap,
		"finalizers":  object{"type": "array", "items": text},
		"labels":      textMap,
		"name":        text,
		"namespace":   text,
	}}
}
