package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"coxswain.dev/bed/box"
	"coxswain.dev/bed/cgroup"
	"coxswain.dev/bed/plan"
	"coxswain.dev/bed/state"
)

// endPatience is how long processes may take to end after they were killed; much memory takes long to give back.
const endPatience = 30 * time.Second

func runDown(which selection, arguments []string) error {
	keepLogs := false
	rest := which.parse("down", arguments, true, func(flags *flag.FlagSet) { flags.BoolVar(&keepLogs, "keep-logs", false, "") })
	if len(rest) > 0 {
		return fmt.Errorf("down: %q: takes no arguments", rest)
	}
	bed, err := which.bed()
	if err != nil {
		return err
	}
	if os.Geteuid() != 0 {
		return errors.New("down: needs root")
	}
	ctx, stop := signal.NotifyContext(context.Background(), unix.SIGINT, unix.SIGTERM)
	defer stop()
	folder, err := lockAgainst(ctx, bed.Dir)
	if err != nil {
		return err
	}
	defer folder.Close()
	record, found, err := findRecord(bed)
	if err != nil {
		return err
	}
	if !found {
		if err := refuseForeign(bed.Dir); err != nil {
			return err
		}
	}
	if err := end(record, keepLogs); err != nil {
		return err
	}
	if !keepLogs {
		if err := os.Remove(bed.Dir); err != nil {
			return err
		}
	}
	if !found {
		fmt.Printf("there is no bed %s\n", which.describe(bed))
		return nil
	}
	fmt.Printf("bed %s is down\n", bed.Name)
	return nil
}

// lockAgainst takes the lock from an `up` that is under way, by ending what it starts.
func lockAgainst(ctx context.Context, dir string) (*os.File, error) {
	for {
		brief, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
		folder, err := lock(brief, dir)
		cancel()
		if err == nil || ctx.Err() != nil || !errors.Is(err, context.DeadlineExceeded) {
			return folder, err
		}
		if record, found, err := state.ReadRecord(dir); err == nil && found && record.First != nil {
			if err := box.End(*record.First, endPatience); err != nil {
				return nil, err
			}
		}
	}
}

// findRecord finds a bed by its record; or, where somebody has removed its state folder (with the whole of `target`
// perhaps), by its first process. What it returns names the bed even if nothing is found.
func findRecord(bed plan.Bed) (record state.Record, found bool, err error) {
	if record, found, err = state.ReadRecord(bed.Dir); err != nil || found {
		return record, found, err
	}
	record = state.Record{Bed: bed}
	first, found, err := state.FindByArguments(firstCommand, bed.Dir)
	if found {
		record.First = &first
	}
	return record, found, err
}

// end ends whatever is left of the bed and empties its state folder; the logs stay if keepLogs.
func end(record state.Record, keepLogs bool) error {
	if record.First != nil {
		if err := box.End(*record.First, endPatience); err != nil {
			return err
		}
	}
	hierarchies, err := cgroup.Mounted()
	if err != nil {
		return err
	}
	if err := cgroup.Remove(hierarchies, record.Bed.Cgroup(), endPatience); err != nil {
		return err
	}
	return removeState(record.Bed, keepLogs)
}

// removeState removes the record last, so that a removal that is broken off can be taken up again; and not at all
// if logs stay, or the folder would look like somebody else's.
func removeState(bed plan.Bed, keepLogs bool) error {
	if mounts, err := mountsUnder(bed.Dir); err != nil || len(mounts) > 0 {
		return fmt.Errorf("removing %s: something is mounted there: %v (%w)", bed.Dir, mounts, err)
	}
	entries, err := os.ReadDir(bed.Dir)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if entry.Name() == state.RecordName || keepLogs && entry.Name() == filepath.Base(bed.Path("log")) {
			continue
		}
		if err := os.RemoveAll(bed.Path(entry.Name())); err != nil {
			return err
		}
	}
	if keepLogs {
		return nil
	}
	if err := os.Remove(bed.Path(state.RecordName)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

func mountsUnder(dir string) ([]string, error) {
	mountinfo, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	var found []string
	for line := range strings.Lines(string(mountinfo)) {
		fields := strings.Fields(line)
		if len(fields) > 4 && strings.HasPrefix(fields[4], dir+"/") {
			found = append(found, fields[4])
		}
	}
	slices.Sort(found)
	return found, nil
}

// refuseForeign keeps us from taking over a folder that holds something else.
func refuseForeign(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if entry.Name() == state.RecordName+state.Next { // an `up` was killed in the middle of its first word
			continue
		}
		return fmt.Errorf("%s is not a bed's folder and not empty: name another one with --dir", dir)
	}
	return nil
}

// lock makes the folder and waits until nobody else starts or ends a bed there. The lock goes with the file.
func lock(ctx context.Context, dir string) (*os.File, error) {
	for {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return nil, err
		}
		folder, err := os.Open(dir)
		if err != nil {
			return nil, err
		}
		err = unix.Flock(int(folder.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil && same(folder, dir) { // else it was removed while we waited
			return folder, nil
		}
		folder.Close()
		if err != nil && !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR) {
			return nil, fmt.Errorf("locking %s: %w", dir, err)
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("waiting for another `bed up` or `bed down` of %s: %w", dir, ctx.Err())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func same(file *os.File, path string) bool {
	one, err := file.Stat()
	if err != nil {
		return false
	}
	other, err := os.Stat(path)
	return err == nil && os.SameFile(one, other)
}
