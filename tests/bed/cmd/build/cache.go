package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// keptVersions is how many programs the cache keeps: a node of up to 190 MB and a shim for each release, and those of one
// more that was built before.
const keptVersions = 8

func cacheFolder() (string, error) {
	if folder := os.Getenv("COXSWAIN_CACHE"); folder != "" {
		return filepath.Join(folder, "bed"), nil
	}
	folder, err := os.UserCacheDir() // $XDG_CACHE_HOME, else ~/.cache
	if err != nil {
		return "", fmt.Errorf("finding the cache (set COXSWAIN_CACHE): %w", err)
	}
	return filepath.Join(folder, "coxswain", "bed"), nil
}

// prune removes the versions that were not used for longest.
func prune(cache string) error {
	entries, err := os.ReadDir(cache)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	type version struct {
		path string
		used int64
	}
	var versions []version
	for _, entry := range entries {
		if info, err := entry.Info(); err == nil && info.IsDir() {
			versions = append(versions, version{filepath.Join(cache, entry.Name()), info.ModTime().UnixNano()})
		}
	}
	slices.SortFunc(versions, func(a, b version) int { return cmp.Compare(b.used, a.used) })
	for _, old := range versions[min(keptVersions, len(versions)):] {
		if err := os.RemoveAll(old.path); err != nil {
			return err
		}
	}
	return nil
}

// moduleRoot is the folder of the bed's own module, in which `go run` was called.
func moduleRoot() (string, error) {
	output, err := exec.Command("go", "env", "GOMOD").Output()
	if err != nil {
		return "", fmt.Errorf("asking Go for the module: %w", err)
	}
	root := filepath.Dir(strings.TrimSpace(string(output)))
	if !exists(filepath.Join(root, nodes, "go.mod")) {
		return "", errors.New("run it in tests/bed, as build.sh does")
	}
	return root, nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// copyFile copies a program by way of another name, so that one that runs is not disturbed.
func copyFile(from, to string) error {
	source, err := os.Open(from)
	if err != nil {
		return err
	}
	defer source.Close()
	next, err := os.CreateTemp(filepath.Dir(to), ".next-*")
	if err != nil {
		return err
	}
	defer os.Remove(next.Name()) // fails after the rename, as it should
	defer next.Close()
	if _, err := io.Copy(next, source); err != nil {
		return err
	}
	if err := next.Chmod(0o755); err != nil {
		return err
	}
	return os.Rename(next.Name(), to)
}
