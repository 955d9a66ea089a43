package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestKeyChangesWithSourcesAndFlags(t *testing.T) {
	root := t.TempDir()
	file := filepath.Join(root, "main.go")
	key := func(wanted target) string {
		t.Helper()
		key, err := wanted.key(root)
		if err != nil {
			t.Fatal(err)
		}
		return key
	}
	if err := os.WriteFile(file, []byte("package main"), 0o644); err != nil {
		t.Fatal(err)
	}
	wanted := target{name: "x", module: ".", source: "."}
	first := key(wanted)
	if key(wanted) != first {
		t.Error("the same sources have two keys")
	}
	other := wanted
	other.ldflags = "-s"
	if key(other) == first {
		t.Error("other flags have the same key")
	}
	if err := os.WriteFile(file, []byte("package nain"), 0o644); err != nil {
		t.Fatal(err)
	}
	if key(wanted) == first {
		t.Error("other sources have the same key")
	}
}

func TestPruneRemovesWhatWasNotUsedForLongest(t *testing.T) {
	cache := t.TempDir()
	for age := range keptVersions + 2 {
		path := filepath.Join(cache, string(rune('a'+age)))
		if err := os.Mkdir(path, 0o755); err != nil {
			t.Fatal(err)
		}
		used := time.Now().Add(-time.Duration(age) * time.Hour)
		if err := os.Chtimes(path, used, used); err != nil {
			t.Fatal(err)
		}
	}
	if err := prune(cache); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(cache)
	if err != nil || len(entries) != keptVersions || entries[0].Name() != "a" {
		t.Errorf("left are %v (%v)", entries, err)
	}
	if err := prune(filepath.Join(cache, "none")); err != nil {
		t.Error(err)
	}
}

func TestCompilersMessagesSurviveTheCountOfPackages(t *testing.T) {
	said := progress(strings.NewReader("go: downloading x v1\ncrypto/tls\n# x/y\nmain.go:3:1: wrong\n"), true)
	if said != "# x/y\nmain.go:3:1: wrong\n" {
		t.Errorf("left is %q", said)
	}
}
