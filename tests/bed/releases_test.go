package bed

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// chosen is the release that `kubernetes` says BED_KUBERNETES means, and the folder of its beds.
func chosen(wanted string) (release, folder string, err error) {
	command := exec.Command("./kubernetes")
	command.Env = append(os.Environ(), "BED_KUBERNETES="+wanted)
	line, err := command.Output()
	release, folder, _ = strings.Cut(strings.TrimSpace(string(line)), " ")
	return release, folder, err
}

func TestAReleaseIsChosenByUseOrNameAndNoOther(t *testing.T) {
	newest, folder, err := chosen("")
	if err != nil || folder != "target/bed" {
		t.Fatalf("%q in %q, %v", newest, folder, err)
	}
	for _, wanted := range []string{"newest", newest} {
		if release, at, err := chosen(wanted); err != nil || release != newest || at != folder {
			t.Errorf("%s: %q in %q, %v", wanted, release, at, err)
		}
	}
	oldest, folder, err := chosen("oldest")
	if err != nil || oldest == newest || folder != "target/bed/"+oldest {
		t.Errorf("%q in %q, %v", oldest, folder, err)
	}
	for _, wanted := range []string{"1.2", "new", "1.3", "newest 1"} {
		if release, _, err := chosen(wanted); err == nil {
			t.Errorf("%s: %q", wanted, release)
		}
	}
}

var (
	required = regexp.MustCompile(`k8s\.io/kubernetes v([0-9.]+)`)
	replaced = regexp.MustCompile(`k8s\.io/kubernetes => k8s\.io/kubernetes v([0-9.]+)`)
)

func TestEveryUseHasAModuleOfItsReleaseWhichTheDocumentationNames(t *testing.T) {
	documentation, err := os.ReadFile("../../docs/installation.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, use := range []string{"newest", "oldest", "coscheduling"} {
		release, _, err := chosen(use)
		if err != nil {
			t.Fatal(err)
		}
		module, err := os.ReadFile(filepath.Join("node", release, "go.mod"))
		if err != nil {
			t.Fatal(err)
		}
		version := required.FindSubmatch(module)
		if other := replaced.FindSubmatch(module); other != nil {
			version = other
		}
		if version == nil || !strings.HasPrefix(string(version[1]), release+".") {
			t.Errorf("the module of %s (%s) has %q", release, use, version)
			continue
		}
		if !strings.Contains(string(documentation), string(version[1])) {
			t.Errorf("docs/installation.md does not say %s, which is the %s that tests run on", version[1], use)
		}
	}
}
