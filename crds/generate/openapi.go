package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// kubernetesModule holds the OpenAPI documents of the Kubernetes release whose pod template the CRD describes.
const kubernetesModule = "k8s.io/kubernetes@v1.34.2"

// openAPIDigest is the sha256 of that release's document of the core group, version v1.
const openAPIDigest = "737fe1c001340793f6536d2466e4f01d728915ae7851d2ef25a5b8cf3d48667d"

// object is one JSON object of a schema.
type object = map[string]any

// coreSchemas returns the schemas of the core group, version v1, by their full names. The document comes from the Go
// module cache, and from the module proxy the first time.
func coreSchemas() (object, error) {
	folder, err := moduleFolder(kubernetesModule)
	if err != nil {
		return nil, fmt.Errorf("finding the sources of %s: %w", kubernetesModule, err)
	}
	document, err := os.ReadFile(filepath.Join(folder, "api", "openapi-spec", "v3", "api__v1_openapi.json"))
	if err != nil {
		return nil, fmt.Errorf("reading the OpenAPI document: %w", err)
	}
	if digest := sha256.Sum256(document); hex.EncodeToString(digest[:]) != openAPIDigest {
		return nil, fmt.Errorf("the OpenAPI document of %s has sha256 %x, not %s", kubernetesModule, digest, openAPIDigest)
	}
	var parsed struct {
		Components struct{ Schemas object }
	}
	if err := json.Unmarshal(document, &parsed); err != nil {
		return nil, fmt.Errorf("parsing the OpenAPI document: %w", err)
	}
	return parsed.Components.Schemas, nil
}

func moduleFolder(module string) (string, error) {
	command := exec.Command("go", "mod", "download", "-json", module)
	output, err := command.Output()
	var failed struct{ Dir, Error string }
	if parsed := json.Unmarshal(output, &failed); parsed == nil && failed.Error != "" {
		return "", errors.New(failed.Error)
	}
	if err != nil {
		return "", fmt.Errorf("running go mod download: %w", err)
	}
	return failed.Dir, nil
}
