// Command build builds the bed's programs into target/bed/bin of the repository. Run it as `go -C tests/bed run ./cmd/build`.
//
// What takes minutes (the node and the container shim) is kept in a cache by the hash of its sources, so that a second
// clone has it at once, and is not touched when it is up to date. The cache is $COXSWAIN_CACHE, else
// $XDG_CACHE_HOME/coxswain, else ~/.cache/coxswain.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// kubernetesVersion is what the API server calls itself; node/go.mod decides what it is. Clients that read versions
// misbehave on the one that the sources carry (v0.0.0-master+$Format).
const kubernetesVersion = "v1.34.2"

var heavy = []target{
	{
		name: "node", module: "node", source: ".",
		tags:    "no_btrfs,no_devmapper,no_zfs",
		ldflags: "-s -w -X k8s.io/component-base/version.gitVersion=" + kubernetesVersion,
		shown:   "the Kubernetes node (3 to 6 minutes the first time on 4 cores, 3 GB of Go modules)",
	},
	{
		name: "containerd-shim-runc-v2", module: "node", source: "github.com/containerd/containerd/v2/cmd/containerd-shim-runc-v2",
		tags:    "no_btrfs,no_devmapper,no_zfs",
		ldflags: "-s -w",
		shown:   "the container shim",
	},
}

var light = []target{
	{name: "bed", module: ".", source: "./cmd/bed", ldflags: "-s -w"},
	{name: "pause", module: ".", source: "./cmd/pause", ldflags: "-s -w"},
}

func main() {
	out := flag.String("out", "", "folder for the programs (default target/bed/bin in the repository)")
	flag.Parse()
	if err := run(*out); err != nil {
		fmt.Fprintln(os.Stderr, "build:", err)
		os.Exit(1)
	}
}

func run(out string) error {
	root, err := moduleRoot()
	if err != nil {
		return err
	}
	if out == "" {
		out = filepath.Join(root, "..", "..", "target", "bed", "bin")
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
	for _, wanted := range heavy {
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
