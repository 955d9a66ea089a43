package state

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Process names a process for good: its id alone may be given to another one later.
type Process struct {
	ID    int    `json:"id"`
	Birth string `json:"birth"` // clock ticks from the machine's start to the process's
	Boot  string `json:"boot"`  // which start of the machine
}

// FindProcess names the process that has the id now.
func FindProcess(id int) (Process, error) {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return Process{}, err
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", id))
	if err != nil {
		return Process{}, err
	}
	_, birth, err := parseStat(string(stat))
	return Process{ID: id, Birth: birth, Boot: strings.TrimSpace(string(boot))}, err
}

// FindByArguments finds a running process that was called with exactly these arguments.
func FindByArguments(arguments ...string) (process Process, found bool, err error) {
	paths, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		return Process{}, false, err
	}
	for _, path := range paths {
		line, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended meanwhile
		}
		argv := strings.Split(strings.TrimSuffix(string(line), "\x00"), "\x00")
		id, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if err != nil || !slices.Equal(argv[1:], arguments) {
			continue
		}
		if process, err := FindProcess(id); err == nil && process.Alive() {
			return process, true, nil
		}
	}
	return Process{}, false, nil
}

// Alive says whether the process runs. One that has ended and was not yet buried by its parent does not.
func (process Process) Alive() bool {
	now, err := FindProcess(process.ID)
	if err != nil || now != process {
		return false
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", process.ID))
	if err != nil {
		return false
	}
	condition, _, err := parseStat(string(stat))
	return err == nil && condition != "Z" && condition != "X"
}

// parseStat takes the condition (third field) and the time of birth (22nd) from the text of /proc/ID/stat. The second
// field is the program's name in brackets and may hold anything.
func parseStat(stat string) (condition, birth string, err error) {
	end := strings.LastIndexByte(stat, ')')
	if end < 0 {
		return "", "", fmt.Errorf("reading a process's stat: no name in %q", stat)
	}
	fields := strings.Fields(stat[end+1:])
	if len(fields) < 20 {
		return "", "", fmt.Errorf("reading a process's stat: too short: %q", stat)
	}
	if _, err := strconv.ParseUint(fields[19], 10, 64); err != nil {
		return "", "", fmt.Errorf("reading a process's stat: %w", err)
	}
	return fields[0], fields[19], nil
}
