package main

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"slices"
)

// nodes is the folder that has a folder with a module for each release, and what these have in common.
const nodes = "node"

// kubernetes is the module whose version is the release's.
const kubernetes = "k8s.io/kubernetes"

// kubernetesVersion is the version that the module in the folder is built with: what its API server shall call itself.
func kubernetesVersion(folder string) (string, error) {
	output, err := exec.Command("go", "-C", folder, "mod", "edit", "-json").Output()
	if err != nil {
		return "", fmt.Errorf("reading go.mod in %s: %w", folder, err)
	}
	type module struct{ Path, Version string }
	var file struct {
		Require []module
		Replace []struct{ Old, New module }
	}
	if err := json.Unmarshal(output, &file); err != nil {
		return "", fmt.Errorf("reading what Go says of go.mod in %s: %w", folder, err)
	}
	for _, other := range file.Replace {
		if other.Old.Path == kubernetes {
			return other.New.Version, nil
		}
	}
	at := slices.IndexFunc(file.Require, func(wanted module) bool { return wanted.Path == kubernetes })
	if at < 0 {
		return "", fmt.Errorf("go.mod in %s does not require %s", folder, kubernetes)
	}
	return file.Require[at].Version, nil
}
