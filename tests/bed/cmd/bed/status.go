package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"time"

	"coxswain.dev/bed/plan"
	"coxswain.dev/bed/state"
	"coxswain.dev/bed/supervisor"
)

// askCommand asks the API server, from inside. `status` alone runs it.
const askCommand = "ask"

func runStatus(which selection, arguments []string) error {
	if rest := which.parse("status", arguments, true, nil); len(rest) > 0 {
		return fmt.Errorf("status: %q: takes no arguments", rest)
	}
	bed, err := which.bed()
	if err != nil {
		return err
	}
	record, found, err := state.ReadRecord(bed.Dir)
	if err != nil {
		return err
	}
	if !found || record.First == nil || !record.First.Alive() {
		fmt.Printf("bed %s: nothing runs\n", which.describe(bed))
		if found {
			fmt.Println("  something is left of one that has ended: `bed down` removes it")
		}
		return exitError(1)
	}
	progress, err := state.ReadProgress(bed.Dir)
	if err != nil {
		return err
	}
	printStatus(record, progress)
	if !progress.Done || len(progress.Broken()) > 0 {
		return exitError(1)
	}
	return nil
}

func printStatus(record state.Record, progress state.Progress) {
	bed := record.Bed
	condition := "up"
	switch {
	case len(progress.Broken()) > 0:
		condition = "BROKEN"
	case !progress.Done:
		condition = "starting"
	}
	fmt.Printf("bed %s: %s (%s), since %s (%s)\n", bed.Name, condition, kind(bed),
		record.Started.Format(time.DateTime), time.Since(record.Started).Round(time.Second))
	fmt.Printf("  kubeconfig  %s (inside: bed exec, bed kubectl)\n", bed.Kubeconfig())
	fmt.Printf("  logs        %s\n", bed.Path("log"))
	if bed.Audit {
		fmt.Printf("  audit log   %s\n", bed.AuditLog())
	}
	answers := ask(record)
	fmt.Printf("  API server  %s\n", answers.Server)
	if bed.Mode.RunsPods() {
		fmt.Printf("  node        %s %s\n", plan.NodeName, answers.Node)
	}
	steps := slices.Clone(progress.Steps)
	slices.SortStableFunc(steps, func(a, b state.Step) int { return int(a.Process - b.Process) })
	for _, step := range steps {
		switch {
		case step.Ended != "":
			fmt.Printf("  %-24s ENDED at %s: %s; log %s\n", step.Name, step.At.Format(time.TimeOnly), step.Ended, bed.Log(step.Name))
		case step.Elapsed == 0:
			fmt.Printf("  %-24s starting\n", step.Name)
		default:
			fmt.Printf("  %-24s %s, after %.1f s\n", step.Name, step.Shown, step.Elapsed.Seconds())
		}
	}
}

// ask runs askCommand inside, in a process of its own: this one has more to print.
func ask(record state.Record) (answers supervisor.Answers) {
	self, err := os.Executable()
	if err != nil {
		return supervisor.NoAnswers(err)
	}
	output, err := exec.Command(self, "--dir", record.Bed.Dir, "--name", record.Bed.Name, "exec", self, askCommand, record.Bed.Dir).Output()
	if err == nil {
		err = json.Unmarshal(output, &answers)
	}
	if err != nil {
		return supervisor.NoAnswers(err)
	}
	return answers
}

func runAsk(_ selection, arguments []string) error {
	if len(arguments) != 1 {
		return fmt.Errorf("%s is run by `bed status` alone", askCommand)
	}
	record, _, err := state.ReadRecord(arguments[0])
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(supervisor.Ask(record.Bed))
}
