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
	shared := filepath.Join(root, "shared")
	if err := os.Mkdir(shared, 0o755); err != nil {
		t.Fatal(err)
	}
	wanted := target{name: "x", module: ".", with: "shared", source: "."}
	first := key(wanted)
	if key(wanted) != first {
		t.Error("the same sources have two keys")
	}
	other := wanted
	other.ldflags = "-s"
	if key(other) == first {
		t.Error("other flags have the same key")
	}
	for _, changed := range []string{file, filepath.Join(root, "go.sum"), filepath.Join(shared, "node.go")} {
		if err := os.WriteFile(changed, []byte("package nain"), 0o644); err != nil {
			t.Fatal(err)
		}
		next := key(wanted)
		if next == first {
			t.Errorf("another %s has the same key", changed)
		}
		first = next
	}
}

func TestVersionIsTheOneThatTheModuleIsBuiltWith(t *testing.T) {
	for content, want := range map[string]string{
		"require k8s.io/kubernetes v1.2.3": "v1.2.3",
		"require k8s.io/kubernetes v1.2.3\nreplace k8s.io/kubernetes => k8s.io/kubernetes v1.2.4": "v1.2.4",
		"require k8s.io/api v0.2.3": "",
	} {
		folder := t.TempDir()
		if err := os.WriteFile(filepath.Join(folder, "go.mod"), []byte("module x\n"+content+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		if version, err := kubernetesVersion(folder); version != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q, %v", content, version, err)
		}
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
