package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"coxswain.dev/bed/box"
	"coxswain.dev/bed/plan"
	"coxswain.dev/bed/state"
)

func runExec(which selection, arguments []string) error {
	argv := which.parse("exec", arguments, false, nil)
	if len(argv) == 0 {
		return errors.New("exec: which command?")
	}
	record, err := which.running()
	if err != nil {
		return err
	}
	return inside(record, argv)
}

func runKubectl(which selection, arguments []string) error {
	record, err := which.running()
	if err != nil {
		return err
	}
	return inside(record, append([]string{record.Bed.Path("bin", "kubectl")}, arguments...))
}

// inside runs argv in the bed.
func inside(record state.Record, argv []string) error {
	if err := box.Enter(*record.First); err != nil {
		return err
	}
	return run(record.Bed, argv, os.Stdin, os.Stdout)
}

// tieCommand starts what runs inside; nobody else uses it.
const tieCommand = "tie"

func runTie(_ selection, arguments []string) error { return box.Tie(arguments, os.Environ()) }

// codeNotFound is the exit code that shells give for a program that is not there.
const codeNotFound = 127

// run runs argv after box.Enter.
func run(bed plan.Bed, argv []string, input io.Reader, output io.Writer) error {
	program, err := lookUp(bed, argv[0])
	if err != nil {
		fmt.Fprintln(os.Stderr, "bed:", err)
		return exitError(codeNotFound)
	}
	code, err := box.Run([]string{bed.Program("bed"), tieCommand}, append([]string{program}, argv[1:]...), environment(bed), input, output)
	if err != nil {
		return err
	}
	if code != 0 {
		return exitError(code)
	}
	return nil
}

// lookUp finds a program on the path that the bed has.
func lookUp(bed plan.Bed, name string) (string, error) {
	if strings.Contains(name, "/") {
		return name, nil
	}
	for _, folder := range searchPath(bed, os.Getenv("PATH")) {
		if path := filepath.Join(folder, name); executable(path) {
			return path, nil
		}
	}
	return "", fmt.Errorf("no program %s in $PATH", name)
}

func executable(path string) bool {
	file, err := os.Stat(path)
	return err == nil && file.Mode().IsRegular() && file.Mode()&0o111 != 0
}

// environment is this program's own, with what is different inside the bed.
func environment(bed plan.Bed) []string {
	ours := []string{
		"KUBECONFIG=" + bed.Kubeconfig(),
		// Every bed's API server has the same address: without its own cache, kubectl mixes them up.
		"KUBECACHEDIR=" + bed.Path("kubectl-cache"),
		// ctr repeats on every call what containerd's log says once.
		"CONTAINERD_SUPPRESS_DEPRECATION_WARNINGS=1",
		"PATH=" + strings.Join(searchPath(bed, os.Getenv("PATH")), ":"),
	}
	kept := slices.DeleteFunc(os.Environ(), func(variable string) bool {
		name, _, _ := strings.Cut(variable, "=")
		switch strings.ToLower(name) {
		// There is no way out of the bed, so no way to a proxy.
		case "http_proxy", "https_proxy", "all_proxy", "no_proxy", "kubeconfig", "kubecachedir", "path":
			return true
		}
		return false
	})
	return append(kept, ours...)
}

// searchPath puts the bed's commands first, and makes sure of the folders that hold iptables and runc, which many
// users' paths lack.
func searchPath(bed plan.Bed, path string) []string {
	folders := append([]string{bed.Path("bin")}, filepath.SplitList(path)...)
	for _, folder := range systemFolders {
		if !slices.Contains(folders, folder) {
			folders = append(folders, folder)
		}
	}
	return folders
}

var systemFolders = []string{"/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"}
