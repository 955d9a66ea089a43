// Command node is a node of Kubernetes 1.37.
package main

import (
	"context"

	containerd "github.com/containerd/containerd/v2/cmd/containerd/command"
	ctr "github.com/containerd/containerd/v2/cmd/ctr/app"

	"coxswain.dev/bed/node"
)

func main() {
	node.Main(node.Release{
		Containerd: func(arguments []string) error { return containerd.App().Run(context.Background(), arguments) },
		Ctr:        func(arguments []string) error { return ctr.New().Run(context.Background(), arguments) },
	})
}
