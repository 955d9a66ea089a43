package main

import (
	"bufio"
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
)

// target is a program to build.
type target struct {
	name    string // of the file
	module  string // folder of its module
	with    string // another folder whose sources go into it, if any
	source  string // its main package
	tags    string
	ldflags string
	shown   string // what is said before a long build; empty if it is short
}

const upToDate = "up to date"

// flags are all that `go build` is told, but for where to.
func (wanted target) flags() []string {
	return []string{"-trimpath", "-tags", wanted.tags, "-ldflags", wanted.ldflags}
}

// key names what comes out by what goes in: sources, module files (go.sum names the rest), flags and compiler.
func (wanted target) key(root string) (string, error) {
	hash := sha256.New()
	fmt.Fprintln(hash, runtime.Version(), runtime.GOOS, runtime.GOARCH, wanted.source, wanted.flags())
	files, err := wanted.sources(root)
	if err != nil {
		return "", err
	}
	for _, path := range files {
		content, err := os.ReadFile(path)
		if err != nil {
			return "", fmt.Errorf("hashing the sources of %s: %w", wanted.name, err)
		}
		fmt.Fprintln(hash, filepath.Base(path), len(content))
		hash.Write(content)
	}
	return hex.EncodeToString(hash.Sum(nil))[:24], nil
}

// sources are the paths of its own files, always in the same order.
func (wanted target) sources(root string) ([]string, error) {
	var files []string
	for _, folder := range slices.Compact([]string{wanted.module, cmp.Or(wanted.with, wanted.module)}) {
		for _, pattern := range []string{"*.go", "go.*"} {
			found, err := filepath.Glob(filepath.Join(root, folder, pattern)) // which sorts
			if err != nil {
				return nil, err
			}
			files = append(files, found...)
		}
	}
	return files, nil
}

// provide puts the program into the folder out: it may be there, or in the cache, or has to be built.
func (wanted target) provide(root, cache, out string) (how string, err error) {
	key, err := wanted.key(root)
	if err != nil {
		return "", err
	}
	program, stamp := filepath.Join(out, wanted.name), filepath.Join(out, "."+wanted.name+".key")
	if known, err := os.ReadFile(stamp); err == nil && string(known) == key && exists(program) {
		return upToDate, nil
	}
	kept := filepath.Join(cache, key, wanted.name)
	how = "taken from " + kept
	if !exists(kept) {
		if err := os.MkdirAll(filepath.Dir(kept), 0o755); err != nil {
			return "", err
		}
		if err := wanted.build(root, kept); err != nil {
			return "", err
		}
		how = "built"
	}
	now := time.Now()
	_ = os.Chtimes(filepath.Dir(kept), now, now) // prune goes by it; a cache that cannot be written is still of use
	if err := copyFile(kept, program); err != nil {
		return "", err
	}
	return how, os.WriteFile(stamp, []byte(key), 0o644)
}

// build builds the program; the file appears whole or not at all, so that one that runs is not disturbed.
func (wanted target) build(root, program string) error {
	next := fmt.Sprintf("%s.%d.next", program, os.Getpid())
	defer os.Remove(next)
	arguments := append([]string{"build"}, wanted.flags()...)
	if wanted.shown != "" {
		fmt.Printf("bed: building %s\n", wanted.shown)
		arguments = append(arguments, "-v") // names each package, see progress
	}
	command := exec.Command("go", append(arguments, "-o", next, wanted.source)...)
	command.Dir = filepath.Join(root, wanted.module)
	command.Env = append(os.Environ(), "CGO_ENABLED=0")
	output, err := command.StderrPipe()
	if err != nil {
		return err
	}
	if err := command.Start(); err != nil {
		return fmt.Errorf("starting the Go compiler: %w", err)
	}
	said := progress(output, wanted.shown != "")
	if err := command.Wait(); err != nil {
		return fmt.Errorf("building %s: %w\n%s", wanted.name, err, said)
	}
	return os.Rename(next, program)
}

const progressInterval = 10 * time.Second

// progress counts what the Go command names, a line every ten seconds if shown, and returns the rest of what it says.
func progress(output io.Reader, shown bool) string {
	begin, last := time.Now(), time.Now()
	downloaded, compiled := 0, 0
	var rest bytes.Buffer
	lines := bufio.NewScanner(output)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		line := lines.Text()
		switch {
		case strings.HasPrefix(line, "go: downloading "):
			downloaded++
		case shown && !strings.ContainsAny(line, " :#"):
			compiled++
		default:
			fmt.Fprintln(&rest, line)
		}
		if shown && time.Since(last) >= progressInterval {
			last = time.Now()
			fmt.Printf("bed: %4.0f s: %d modules downloaded, %d packages compiled of about 3400\n", time.Since(begin).Seconds(), downloaded, compiled)
		}
	}
	return rest.String()
}
