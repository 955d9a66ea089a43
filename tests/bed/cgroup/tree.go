package cgroup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// callers is the cgroup that the processes of a container's cgroup root move to, see evacuate.
const callers = "bed-callers"

// Create makes the cgroup name at the top of every hierarchy, with the controllers that a kubelet needs.
// It is no error if it exists.
func Create(hierarchies []Hierarchy, name string) error {
	unified := Unified(hierarchies)
	for _, hierarchy := range hierarchies {
		if hierarchy.V2 && unified {
			if err := delegate(hierarchy.Mount); err != nil {
				return fmt.Errorf("enabling cgroup controllers in %s: %w", hierarchy.Mount, err)
			}
		}
		if hierarchy.V2 && !unified {
			continue
		}
		if err := os.Mkdir(hierarchy.path(name), 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("creating a cgroup: %w", err)
		}
		// Version 1 starts a new cpuset empty, and no process may enter an empty one.
		for _, file := range []string{"cpuset.cpus", "cpuset.mems"} {
			if err := inherit(hierarchy, name, file); err != nil {
				return fmt.Errorf("copying %s to the cgroup %s: %w", file, name, err)
			}
		}
	}
	return nil
}

func inherit(hierarchy Hierarchy, name, file string) error {
	if hierarchy.V2 {
		return nil
	}
	value, err := os.ReadFile(filepath.Join(hierarchy.Mount, file))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(hierarchy.path(name), file), value, 0o644)
}

// delegate enables every available controller for the children of a version 2 root.
func delegate(root string) error {
	available, err := os.ReadFile(filepath.Join(root, "cgroup.controllers"))
	if err != nil {
		return err
	}
	control := filepath.Join(root, "cgroup.subtree_control")
	for controller := range strings.FieldsSeq(string(available)) {
		err := os.WriteFile(control, []byte("+"+controller), 0o644)
		if errors.Is(err, syscall.EBUSY) {
			if err := evacuate(root); err != nil {
				return err
			}
			err = os.WriteFile(control, []byte("+"+controller), 0o644)
		}
		// A controller may be there and refuse (cpu with realtime processes): the kubelet names those it misses.
		if err != nil && !errors.Is(err, syscall.EINVAL) && !errors.Is(err, syscall.ENOENT) {
			return fmt.Errorf("%s: %w", controller, err)
		}
	}
	return nil
}

// evacuate moves the processes of root to a leaf. Only a container sees a root that needs it: version 2 forbids
// processes beside children everywhere but in the machine's real root.
func evacuate(root string) error {
	leaf := filepath.Join(root, callers)
	if err := os.Mkdir(leaf, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	processes, err := os.ReadFile(filepath.Join(root, "cgroup.procs"))
	if err != nil {
		return err
	}
	for pid := range strings.FieldsSeq(string(processes)) {
		err := os.WriteFile(filepath.Join(leaf, "cgroup.procs"), []byte(pid), 0o644)
		if err != nil && !errors.Is(err, syscall.ESRCH) {
			return fmt.Errorf("moving process %s to %s: %w", pid, leaf, err)
		}
	}
	return nil
}

// Remove removes the cgroup name and what is below it from every hierarchy. Processes in it may still be ending:
// it waits for them up to patience, and then names those that remain. It ends none of them: every process of a bed ends
// with the bed's first process, so one that remains was put there by somebody else.
func Remove(hierarchies []Hierarchy, name string, patience time.Duration) error {
	deadline := time.Now().Add(patience)
	for {
		var failure error
		for _, hierarchy := range hierarchies {
			if err := removeTree(hierarchy.path(name)); err != nil {
				failure = fmt.Errorf("removing a cgroup (processes in it: %v): %w", Processes(hierarchy.path(name)), err)
			}
		}
		if failure == nil || time.Now().After(deadline) {
			return failure
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// removeTree removes folders from the leaves up. The files in a cgroup go with it and cannot be removed by themselves.
func removeTree(path string) error {
	entries, err := os.ReadDir(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if entry.IsDir() {
			if err := removeTree(filepath.Join(path, entry.Name())); err != nil {
				return err
			}
		}
	}
	if err := syscall.Rmdir(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return &fs.PathError{Op: "rmdir", Path: path, Err: err}
	}
	return nil
}

// Processes lists the ids of the processes in the cgroup at path and below it.
func Processes(path string) []string {
	var found []string
	_ = filepath.WalkDir(path, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Name() == "cgroup.procs" {
			content, _ := os.ReadFile(path)
			found = append(found, strings.Fields(string(content))...)
		}
		return nil // a cgroup may vanish during the walk
	})
	return found
}

// Exists says whether the cgroup name is in any hierarchy.
func Exists(hierarchies []Hierarchy, name string) bool {
	for _, hierarchy := range hierarchies {
		if _, err := os.Stat(hierarchy.path(name)); err == nil {
			return true
		}
	}
	return false
}

// Mounted finds this machine's hierarchies.
func Mounted() ([]Hierarchy, error) {
	mountinfo, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	hierarchies := Hierarchies(string(mountinfo))
	if len(hierarchies) == 0 {
		return nil, errors.New("no cgroup hierarchy is mounted")
	}
	return hierarchies, nil
}
