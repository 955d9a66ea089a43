package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"coxswain.dev/bed/plan"
	"coxswain.dev/bed/state"
)

// selection says which bed is meant.
type selection struct{ name, dir string }

func (which *selection) flags(flags *flag.FlagSet) {
	flags.StringVar(&which.name, "name", orElse(which.name, "default"), "")
	flags.StringVar(&which.dir, "dir", orElse(which.dir, os.Getenv("BED_DIR")), "")
}

func orElse(value, otherwise string) string {
	if value == "" {
		return otherwise
	}
	return value
}

// parse reads the flags of a command, which may also name the bed, and returns what is not a flag. Flags may stand
// behind the first argument if mixed.
func (which *selection) parse(command string, arguments []string, mixed bool, more func(*flag.FlagSet)) []string {
	flags := flag.NewFlagSet("bed "+command, flag.ExitOnError)
	flags.Usage = func() { fmt.Fprint(os.Stderr, usage) }
	which.flags(flags)
	if more != nil {
		more(flags)
	}
	var rest []string
	for {
		_ = flags.Parse(arguments) // ends the program itself
		if !mixed || flags.NArg() == 0 {
			return append(rest, flags.Args()...)
		}
		rest, arguments = append(rest, flags.Arg(0)), flags.Args()[1:]
	}
}

// bed is the bed that is meant, without what only `up` decides.
func (which selection) bed() (plan.Bed, error) {
	if err := plan.CheckName(which.name); err != nil {
		return plan.Bed{}, err
	}
	self, err := os.Executable()
	if err != nil {
		return plan.Bed{}, fmt.Errorf("finding this program: %w", err)
	}
	if self, err = filepath.EvalSymlinks(self); err != nil {
		return plan.Bed{}, fmt.Errorf("finding this program: %w", err)
	}
	bin := filepath.Dir(self)
	dir := orElse(which.dir, filepath.Join(filepath.Dir(bin), which.name))
	if dir, err = filepath.Abs(dir); err != nil {
		return plan.Bed{}, fmt.Errorf("--dir: %w", err)
	}
	// The bed has a /run and a /proc of its own.
	for _, covered := range []string{"/run", "/var/run", "/proc"} {
		if under, err := filepath.Rel(covered, dir); err == nil && filepath.IsLocal(under) {
			return plan.Bed{}, fmt.Errorf("--dir %s: not under %s, which the bed covers", dir, covered)
		}
	}
	return plan.Bed{Name: which.name, Dir: dir, Bin: bin}, nil
}

// running is the record of the bed that is meant, if it runs.
func (which selection) running() (state.Record, error) {
	bed, err := which.bed()
	if err != nil {
		return state.Record{}, err
	}
	record, found, err := state.ReadRecord(bed.Dir)
	if err != nil {
		return state.Record{}, err
	}
	if !found || record.First == nil || !record.First.Alive() {
		return state.Record{}, fmt.Errorf("the bed %s does not run: start it with `bed up`", which.describe(bed))
	}
	return record, nil
}

func (which selection) describe(bed plan.Bed) string {
	return fmt.Sprintf("%s (%s)", bed.Name, bed.Dir)
}
