// Command node is a node of Kubernetes 1.34, with scheduler-plugins' gang scheduling in its scheduler.
package main

import (
	containerd "github.com/containerd/containerd/v2/cmd/containerd/command"
	ctr "github.com/containerd/containerd/v2/cmd/ctr/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	// Puts the types of the plugins' arguments into the scheduler's scheme.
	_ "sigs.k8s.io/scheduler-plugins/apis/config/scheme"
	"sigs.k8s.io/scheduler-plugins/pkg/coscheduling"

	"coxswain.dev/bed/node"
)

func main() {
	node.Main(node.Release{
		Containerd: func(arguments []string) error { return containerd.App().Run(arguments) },
		Ctr:        func(arguments []string) error { return ctr.New().Run(arguments) },
		Scheduler:  []scheduler.Option{scheduler.WithPlugin(coscheduling.Name, coscheduling.New)},
	})
}
