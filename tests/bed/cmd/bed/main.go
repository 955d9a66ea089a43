// Command bed is a Kubernetes on one machine, for tests and the demo. `bed help` lists what it does.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"

	"coxswain.dev/bed/plan"
)

const usage = `bed: a Kubernetes on one machine, in namespaces of its own (needs root)

usage: bed [--name NAME] [--dir FOLDER] COMMAND

  up [OPTION...]                start a cluster with one node that runs pods; returns when it is ready
  up control-plane [OPTION...]  start the API server and its controllers only
  up fake-nodes [OPTION...]     the same with nodes that are objects only: pods are Running and Ready, and run nothing
  up mixed [OPTION...]          a node that runs pods, and fake nodes for pods of the scheduler fake-nodes; pods reach
                                the API server by a proxy that takes orders, see fault
    --audit                     write what ServiceAccounts ask for to a log
    --feature-gates [COMPONENT:]GATE=true|false,...
                                of API server, controllers, scheduler and kubelet, or of one, such as kube-scheduler
    --runtime-config API=true|false,...
                                what the API server serves, such as scheduling.k8s.io/v1beta1=true
    --scheduler                 with fake-nodes: the real scheduler puts pods on them
    --devices RESOURCE=N,...    of each fake node, such as example.com/gpu=2
    --domains LABEL=N,...       a label of fake nodes; N in a row have the same value, such as example.com/rack=5
  kubelet state [NAMESPACE]     how many pods the fake nodes have; the following are for them too
  kubelet hold | release        no pod starts, until released
  kubelet end NAMESPACE         the launchers of MPI jobs there end with success
  component stop | start NAME   end a component such as kube-apiserver; start it again and wait until it is ready
  component freeze | thaw NAME  it stops working and keeps its connections; it goes on
  fault [delay=2s] [refuse=0.5] [cut=20s]
                                every answer to pods is late, a part of them 429, watches end after so long
  fault none | state            answers pass; what the proxy has done so far
  status                        what runs, since when; exit code 1 unless everything does
  exec COMMAND [ARGUMENT...]    run a command inside, with KUBECONFIG set and kubectl on the path
  kubectl ARGUMENT...           the same as: exec kubectl ARGUMENT...
  load IMAGE.tar...             import docker-archive images
  down [--keep-logs]            end everything and remove the state
  image --name NAME --root FOLDER --out FILE.tar [--entrypoint JSON] [--cmd JSON] [--env KEY=VALUE]...
        [--workdir FOLDER] [--user USER]
                                pack a folder as a docker-archive image of one layer

  --name NAME    which bed; several may run side by side (default "default")
  --dir FOLDER   where its state is (default $BED_DIR, else a folder NAME beside the folder of this program)

Options of a command may also stand before it. The API server's address means nothing outside the bed: use exec.
`

// exitError ends the program with a command's own exit code, without a message.
type exitError int

func (code exitError) Error() string { return fmt.Sprintf("exit code %d", int(code)) }

var commands = map[string]func(which selection, arguments []string) error{
	"component":  runComponent,
	"down":       runDown,
	"exec":       runExec,
	"fault":      runFault,
	"image":      runImage,
	"kubectl":    runKubectl,
	"kubelet":    runKubelet,
	"load":       runLoad,
	"status":     runStatus,
	"up":         runUp,
	firstCommand: runFirst,
	askCommand:   runAsk,
	tieCommand:   runTie,
	orderCommand: runOrder,

	plan.FakeKubeletCommand: runFakeKubelet,
	plan.FaultProxyCommand:  runFaultProxy,
}

func main() {
	which := selection{}
	flags := flag.NewFlagSet("bed", flag.ExitOnError)
	flags.Usage = func() { fmt.Fprint(os.Stderr, usage) }
	which.flags(flags)
	_ = flags.Parse(os.Args[1:]) // ends the program itself
	if flags.NArg() == 0 || flags.Arg(0) == "help" {
		fmt.Print(usage)
		return
	}
	run, known := commands[flags.Arg(0)]
	if !known {
		fmt.Fprintf(os.Stderr, "bed: no command %q; `bed help` lists them\n", flags.Arg(0))
		os.Exit(2)
	}
	err := run(which, flags.Args()[1:])
	var code exitError
	switch {
	case errors.As(err, &code):
		os.Exit(int(code))
	case err != nil:
		fmt.Fprintln(os.Stderr, "bed:", err)
		os.Exit(1)
	}
}
