// Command node holds every program of a one-machine Kubernetes. The first argument names the program, the rest are
// that program's own arguments: `node kube-apiserver --etcd-servers ...`. `node programs` lists the names. A link whose
// name is a program's runs that one: kubectl.
package main

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	_ "github.com/containerd/containerd/v2/cmd/containerd/builtins"
	containerd "github.com/containerd/containerd/v2/cmd/containerd/command"
	ctr "github.com/containerd/containerd/v2/cmd/ctr/app"
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
	// Puts the types of the plugins' arguments into the scheduler's scheme.
	_ "sigs.k8s.io/scheduler-plugins/apis/config/scheme"
	"sigs.k8s.io/scheduler-plugins/pkg/coscheduling"
)

// program runs one of the node's programs on os.Args and returns its exit code.
type program func() int

var programs = map[string]program{
	"containerd":              runContainerd,
	"coredns":                 runCoreDNS,
	"ctr":                     runCtr,
	"etcd":                    runEtcd,
	"kube-apiserver":          cobraProgram(apiserver.NewAPIServerCommand),
	"kube-controller-manager": cobraProgram(controllermanager.NewControllerManagerCommand),
	"kube-proxy":              cobraProgram(proxy.NewProxyCommand),
	"kube-scheduler":          cobraProgram(newScheduler),
	"kubectl":                 cobraProgram(kubectl.NewDefaultKubectlCommand),
	"kubelet":                 cobraProgram(func() *cobra.Command { return kubelet.NewKubeletCommand(context.Background()) }),
}

func main() {
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

func cobraProgram(command func() *cobra.Command) program {
	return func() int { return cli.Run(command()) }
}

// newScheduler is the scheduler with scheduler-plugins' gang scheduling, which a configuration may enable.
func newScheduler() *cobra.Command {
	return scheduler.NewSchedulerCommand(scheduler.WithPlugin(coscheduling.Name, coscheduling.New))
}

func runEtcd() int {
	etcdmain.Main(os.Args)
	return 0
}

func runContainerd() int {
	// etcd's packages have put gRPC metrics of the same names into the default registry, and containerd panics on them.
	prometheus.DefaultRegisterer = prometheus.NewRegistry()
	return exitCode("containerd", containerd.App().Run(os.Args))
}

func runCtr() int {
	return exitCode("ctr", ctr.New().Run(os.Args))
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
