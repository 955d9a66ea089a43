// Command build builds the bed's programs for one release of Kubernetes into a folder. build.sh runs it.
//
// What takes minutes (the node and the container shim) is kept in a cache by the hash of its sources, so that a second
// clone has it at once, and is not touched when it is up to date. The cache is $COXSWAIN_CACHE, else
// $XDG_CACHE_HOME/coxswain, else ~/.cache/coxswain.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// heavy are the programs that differ between releases.
func heavy(release, version string) []target {
	const tags = "no_btrfs,no_devmapper,no_zfs"
	module := filepath.Join(nodes, release)
	return []target{
		{
			name: "node", module: module, with: nodes, source: ".", tags: tags,
			// Clients that read versions misbehave on the one that the sources carry (v0.0.0-master+$Format).
			ldflags: "-s -w -X k8s.io/component-base/version.gitVersion=" + version,
			shown:   "the node of Kubernetes " + version + " (3 to 6 minutes the first time on 4 cores, 3 GB of Go modules)",
		},
		{
			name: "containerd-shim-runc-v2", module: module, source: "github.com/containerd/containerd/v2/cmd/containerd-shim-runc-v2",
			tags:    tags,
			ldflags: "-s -w",
			shown:   "the container shim",
		},
	}
}

var light = []target{
	{name: "bed", module: ".", source: "./cmd/bed", ldflags: "-s -w"},
	{name: "pause", module: ".", source: "./cmd/pause", ldflags: "-s -w"},
}

func main() {
	release := flag.String("kubernetes", "", "the release, a folder in node/")
	out := flag.String("out", "", "folder for the programs")
	flag.Parse()
	if err := run(*release, *out); err != nil {
		fmt.Fprintln(os.Stderr, "build:", err)
		os.Exit(1)
	}
}

func run(release, out string) error {
	if release == "" || out == "" {
		return errors.New("needs -kubernetes and -out, as build.sh gives them")
	}
	root, err := moduleRoot()
	if err != nil {
		return err
	}
	version, err := kubernetesVersion(filepath.Join(root, nodes, release))
	if err != nil {
		return err
	}
	if out, err = filepath.Abs(out); err != nil {
		return err
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	for _, wanted := range light {
		if err := wanted.build(root, filepath.Join(out, wanted.name)); err != nil {
			return err
		}
	}
	cache, err := cacheFolder()
	if err != nil {
		return err
	}
	for _, wanted := range heavy(release, version) {
		begin := time.Now()
		how, err := wanted.provide(root, cache, out)
		if err != nil {
			return err
		}
		if how != upToDate {
			fmt.Printf("bed: %s: %s (%.0f s)\n", wanted.name, how, time.Since(begin).Seconds())
		}
	}
	return prune(cache)
}
