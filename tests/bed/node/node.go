// Package node holds every program of a one-machine Kubernetes, as the main package of each release starts them. The first
// argument names the program, the rest are that program's own arguments: `node kube-apiserver --etcd-servers ...`.
// `node programs` lists the names. A link whose name is a program's runs that one: kubectl.
package node

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	_ "github.com/containerd/containerd/v2/cmd/containerd/builtins"
	"github.com/coredns/coredns/core/dnsserver"
	"github.com/coredns/coredns/coremain"
	_ "github.com/coredns/coredns/plugin/bind"
	_ "github.com/coredns/coredns/plugin/cache"
	_ "github.com/coredns/coredns/plugin/errors"
	_ "github.com/coredns/coredns/plugin/kubernetes"
	_ "github.com/coredns/coredns/plugin/ready"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/cobra"
	"go.etcd.io/etcd/server/v3/etcdmain"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	kubectl "k8s.io/kubectl/pkg/cmd"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	proxy "k8s.io/kubernetes/cmd/kube-proxy/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	kubelet "k8s.io/kubernetes/cmd/kubelet/app"
)

// Release is what one release has otherwise than another.
type Release struct {
	Containerd, Ctr func(arguments []string) error
	// Scheduler adds plugins, which a configuration may enable.
	Scheduler []scheduler.Option
}

// program runs one of the node's programs on os.Args and returns its exit code.
type program func() int

// Main runs the program that the arguments name, and ends with its exit code.
func Main(release Release) {
	programs := release.programs()
	if run := programs[filepath.Base(os.Args[0])]; run != nil {
		os.Exit(run())
	}
	names := strings.Join(slices.Sorted(maps.Keys(programs)), "\n")
	if len(os.Args) == 2 && os.Args[1] == "programs" {
		fmt.Println(names)
		return
	}
	if len(os.Args) < 2 || programs[os.Args[1]] == nil {
		fmt.Fprintf(os.Stderr, "usage: node PROGRAM [ARGUMENT...], where PROGRAM is one of:\n%s\n", names)
		os.Exit(2)
	}
	run := programs[os.Args[1]]
	os.Args = os.Args[1:]
	os.Exit(run())
}

func (release Release) programs() map[string]program {
	return map[string]program{
		"containerd":              release.runContainerd,
		"coredns":                 runCoreDNS,
		"ctr":                     func() int { return exitCode("ctr", release.Ctr(os.Args)) },
		"etcd":                    runEtcd,
		"kube-apiserver":          cobraProgram(apiserver.NewAPIServerCommand),
		"kube-controller-manager": cobraProgram(controllermanager.NewControllerManagerCommand),
		"kube-proxy":              cobraProgram(proxy.NewProxyCommand),
		"kube-scheduler":          cobraProgram(func() *cobra.Command { return scheduler.NewSchedulerCommand(release.Scheduler...) }),
		"kubectl":                 cobraProgram(kubectl.NewDefaultKubectlCommand),
		"kubelet":                 cobraProgram(func() *cobra.Command { return kubelet.NewKubeletCommand(context.Background()) }),
	}
}

func cobraProgram(command func() *cobra.Command) program {
	return func() int { return cli.Run(command()) }
}

func runEtcd() int {
	etcdmain.Main(os.Args)
	return 0
}

func (release Release) runContainerd() int {
	// etcd's packages have put gRPC metrics of the same names into the default registry, and containerd panics on them.
	prometheus.DefaultRegisterer = prometheus.NewRegistry()
	return exitCode("containerd", release.Containerd(os.Args))
}

func runCoreDNS() int {
	// The order in which a query passes the plugins; only those imported above are there.
	dnsserver.Directives = []string{"bind", "ready", "errors", "cache", "kubernetes"}
	coremain.Run()
	return 0
}

func exitCode(name string, err error) int {
	if err == nil {
		return 0
	}
	fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
	return 1
}
