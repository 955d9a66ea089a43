package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"coxswain.dev/bed/box"
	"coxswain.dev/bed/cgroup"
	"coxswain.dev/bed/image"
	"coxswain.dev/bed/plan"
	"coxswain.dev/bed/state"
)

func runUp(which selection, arguments []string) error {
	var options plan.Options
	rest := which.parse("up", arguments, true, func(flags *flag.FlagSet) { optionFlags(flags, &options) })
	bed, err := which.bed()
	if err != nil {
		return err
	}
	bed.Options, bed.Mode = options, plan.Node
	switch {
	case len(rest) == 1 && slices.Contains([]plan.Mode{plan.ControlPlane, plan.FakeNodes, plan.Mixed}, plan.Mode(rest[0])):
		bed.Mode = plan.Mode(rest[0])
	case len(rest) > 0:
		return fmt.Errorf("up: %q: nothing, %q, %q or %q", rest, plan.ControlPlane, plan.FakeNodes, plan.Mixed)
	}
	if err := options.Check(bed.Mode); err != nil {
		return fmt.Errorf("up: %w", err)
	}
	if err := preflight(&bed); err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), unix.SIGINT, unix.SIGTERM, unix.SIGHUP)
	defer stop()

	folder, err := lock(ctx, bed.Dir)
	if err != nil {
		return err
	}
	defer folder.Close()
	if done, err := leaveRunning(bed); done || err != nil {
		return err
	}
	err = start(bed)
	if err == nil {
		err = follow(ctx, bed)
	}
	if err != nil {
		return errors.Join(err, endFailed(bed))
	}
	fmt.Printf("bed %s is up: bed kubectl get nodes, or bed exec COMMAND (KUBECONFIG=%s inside)\n", bed.Name, bed.Kubeconfig())
	return nil
}

// optionFlags are the flags that options are read from.
func optionFlags(flags *flag.FlagSet, options *plan.Options) {
	flags.BoolVar(&options.Audit, "audit", false, "")
	flags.BoolVar(&options.Scheduler, "scheduler", false, "")
	flags.StringVar(&options.RuntimeConfig, "runtime-config", "", "")
	flags.Func("feature-gates", "", into(&options.FeatureGates, plan.ParseGates))
	flags.Func("devices", "", into(&options.Shape.Devices, plan.ParseAmounts))
	flags.Func("domains", "", into(&options.Shape.Domains, plan.ParseAmounts))
}

// into reads a flag's value into a place.
func into[Value any](place *Value, parse func(string) (Value, error)) func(string) error {
	return func(text string) (err error) {
		*place, err = parse(text)
		return err
	}
}

// endFailed leaves the logs, for whoever wants to know why.
func endFailed(bed plan.Bed) error {
	record, _, err := findRecord(bed)
	if err != nil {
		return err
	}
	return end(record, true)
}

// leaveRunning says whether the bed runs already, and clears away what is left of one that does not.
func leaveRunning(bed plan.Bed) (done bool, err error) {
	record, found, err := findRecord(bed)
	if err != nil {
		return false, err
	}
	if !found {
		return false, refuseForeign(bed.Dir)
	}
	progress, err := state.ReadProgress(bed.Dir)
	if err != nil {
		return false, err
	}
	if record.First == nil || !record.First.Alive() || !progress.Done {
		fmt.Printf("clearing away a bed %s that has ended\n", bed.Name)
		return false, end(record, false)
	}
	if record.Bed.Mode != bed.Mode || !record.Bed.Options.Equal(bed.Options) {
		return false, fmt.Errorf("a bed %s runs, but otherwise (%s): end it with `bed down`, or give --name another name",
			bed.Name, kind(record.Bed))
	}
	if broken := progress.Broken(); len(broken) > 0 {
		return false, fmt.Errorf("the bed %s runs, but %s has ended (%s): look at %s, then `bed down`",
			bed.Name, broken[0].Name, broken[0].Ended, bed.Log(broken[0].Name))
	}
	fmt.Printf("bed %s is up already, since %s\n", bed.Name, record.Started.Format(time.DateTime))
	return true, nil
}

// kind says how a bed was started.
func kind(bed plan.Bed) string {
	return strings.Join(append([]string{string(bed.Mode)}, bed.Options.Words()...), " ")
}

// start writes the bed's files and starts its first process.
func start(bed plan.Bed) error {
	record := state.Record{Bed: bed, Started: time.Now()}
	if err := record.Write(); err != nil { // from here on, `down` knows what to remove
		return err
	}
	if err := writeFiles(bed, record.Started); err != nil {
		return fmt.Errorf("writing the bed's files: %w", err)
	}
	if bed.Mode.RunsPods() {
		if err := prepareNode(bed); err != nil {
			return err
		}
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	return box.Spawn([]string{self, firstCommand, bed.Dir}, bed.Log("bed"), func(first state.Process) error {
		record.First = &first
		return record.Write()
	})
}

func writeFiles(bed plan.Bed, now time.Time) error {
	for _, folder := range bed.Folders() {
		if err := os.MkdirAll(folder, 0o755); err != nil {
			return err
		}
	}
	files, err := bed.Files(now)
	if err != nil {
		return err
	}
	for _, file := range files {
		mode := os.FileMode(0o644)
		if file.Secret {
			mode = 0o600
		}
		if err := os.WriteFile(file.Path, file.Content, mode); err != nil {
			return err
		}
	}
	for link, target := range bed.Links() {
		if err := os.Symlink(target, link); err != nil {
			return err
		}
	}
	return nil
}

// prepareNode makes what the node's programs need from outside: a cgroup and the sandbox image.
func prepareNode(bed plan.Bed) error {
	hierarchies, err := cgroup.Mounted()
	if err != nil {
		return err
	}
	if err := cgroup.Create(hierarchies, bed.Cgroup()); err != nil {
		return err
	}
	root := bed.Path("pause")
	if err := os.Mkdir(root, 0o755); err != nil {
		return err
	}
	program, err := os.ReadFile(bed.Program("pause"))
	if err != nil {
		return err
	}
	if err := os.WriteFile(bed.Path("pause", "pause"), program, 0o755); err != nil {
		return err
	}
	return image.Write(plan.SandboxImage, root, bed.Path("pause.tar"), image.Config{Entrypoint: []string{"/pause"}})
}

// follow prints the steps as they are done, until all are or the bed has given up.
func follow(ctx context.Context, bed plan.Bed) error {
	record, _, err := state.ReadRecord(bed.Dir)
	if err != nil {
		return err
	}
	printed := map[string]bool{}
	for {
		alive := record.First.Alive() // asked before the progress is read, or the last words are missed
		progress, err := state.ReadProgress(bed.Dir)
		if err != nil {
			return err
		}
		for _, step := range progress.Steps {
			if step.Elapsed > 0 && !printed[step.Name] {
				printed[step.Name] = true
				fmt.Printf("%6.1fs  %s (%.1f s)\n", step.Elapsed.Seconds(), step.Shown, step.Took.Seconds())
			}
		}
		switch {
		case progress.Done:
			return nil
		case progress.Failure != "":
			return failure(bed, progress)
		case !alive:
			return fmt.Errorf("the bed's first process was killed while it started\n%s", tail(bed.Log("bed")))
		}
		select {
		case <-ctx.Done():
			return errors.New("interrupted: the bed was ended again")
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// failure blames the component and shows the end of its log.
func failure(bed plan.Bed, progress state.Progress) error {
	log := bed.Log("bed")
	if progress.Culprit != "" {
		if _, err := os.Stat(bed.Log(progress.Culprit)); err == nil {
			log = bed.Log(progress.Culprit)
		}
	}
	return fmt.Errorf("the bed %s did not start: %s\n%s", bed.Name, progress.Failure, tail(log))
}
