package main

import (
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"coxswain.dev/bed/plan"
	"coxswain.dev/bed/state"
)

func TestImagesThatTheKubeletCannotSeeAreFound(t *testing.T) {
	list := `REF                TYPE        LABELS
localhost/seen:1   application io.cri-containerd.image=managed
localhost/not:1    application -
`
	if unseen := unseenImages(list); !reflect.DeepEqual(unseen, []string{"localhost/not:1"}) {
		t.Errorf("found %v", unseen)
	}
}

func TestEnvironmentInsideHasNoProxyAndTheBedsOwnKubeconfig(t *testing.T) {
	t.Setenv("HTTPS_PROXY", "http://proxy")
	t.Setenv("no_proxy", "x")
	t.Setenv("KUBECONFIG", "/elsewhere")
	t.Setenv("KEPT", "yes")
	t.Setenv("PATH", "/mine")
	variables := environment(plan.Bed{Name: "x", Dir: "/state/x"})
	for _, variable := range variables {
		if strings.Contains(strings.ToLower(variable), "_proxy=") {
			t.Errorf("%s is kept", variable)
		}
	}
	for _, want := range []string{"KEPT=yes", "KUBECONFIG=/state/x/kubeconfig"} {
		if !slices.Contains(variables, want) {
			t.Errorf("no %s in %v", want, variables)
		}
	}
	path := slices.IndexFunc(variables, func(variable string) bool { return strings.HasPrefix(variable, "PATH=") })
	if path < 0 || !strings.HasPrefix(variables[path], "PATH=/state/x/bin:/mine:") || !strings.Contains(variables[path], "/usr/sbin") {
		t.Errorf("the path is %v", variables[path])
	}
}

func TestOptionsStandBeforeAndBehindACommandButNotInWhatItRuns(t *testing.T) {
	var which selection
	rest := which.parse("up", []string{"control-plane", "--name", "two"}, true, nil)
	if which.name != "two" || !reflect.DeepEqual(rest, []string{"control-plane"}) {
		t.Errorf("%v, %v", which, rest)
	}
	which = selection{name: "one"}
	rest = which.parse("exec", []string{"kubectl", "--name", "x"}, false, nil)
	if which.name != "one" || !reflect.DeepEqual(rest, []string{"kubectl", "--name", "x"}) {
		t.Errorf("%v, %v", which, rest)
	}
}

func TestOptionsOfUpAreReadAndSurviveTheRecord(t *testing.T) {
	var options plan.Options
	words := []string{
		"--audit", "--feature-gates", "A=true,kubelet:B=false", "--runtime-config", "a/v1=true", "--devices", "x/gpu=2", "--domains", "x/rack=5",
		"--scheduler",
	}
	var which selection
	rest := which.parse("up", append([]string{"fake-nodes"}, words...), true, func(flags *flag.FlagSet) { optionFlags(flags, &options) })
	if !reflect.DeepEqual(rest, []string{"fake-nodes"}) || !slices.Equal(options.Words(), words) {
		t.Errorf("%v, %v", rest, options.Words())
	}
	for _, options := range []plan.Options{options, {}} {
		record := state.Record{Bed: plan.Bed{Dir: t.TempDir(), Mode: plan.FakeNodes, Options: options}}
		if err := record.Write(); err != nil {
			t.Fatal(err)
		}
		read, _, err := state.ReadRecord(record.Bed.Dir)
		if err != nil || !read.Bed.Options.Equal(options) {
			t.Errorf("%v is read as %v (%v)", options, read.Bed.Options, err)
		}
	}
}

func TestStateFolderUnderWhatTheBedCoversIsRefused(t *testing.T) {
	for dir, good := range map[string]bool{"/run/bed": false, "/var/run/x": false, "/proc/1": false, "/runs/x": true, "/srv/x": true} {
		if _, err := (selection{name: "x", dir: dir}).bed(); (err == nil) != good {
			t.Errorf("%s: %v", dir, err)
		}
	}
}

func TestTailShowsTheLastLinesAndWhereTheRestIs(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.log")
	if err := os.WriteFile(path, []byte(strings.Repeat("early\n", 100)+"late\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	shown := tail(path)
	if strings.Count(shown, "early") != tailLines-1 || !strings.Contains(shown, "late") || !strings.Contains(shown, path) {
		t.Error(shown)
	}
	if shown := tail(path + "x"); !strings.Contains(shown, "no such file") {
		t.Error(shown)
	}
}

func TestOnlyAFolderWithSomethingElseInItIsForeign(t *testing.T) {
	dir := t.TempDir()
	if err := refuseForeign(dir); err != nil {
		t.Errorf("empty: %v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "bed.json.next"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := refuseForeign(dir); err != nil {
		t.Errorf("left by a killed `up`: %v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "thesis.tex"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := refuseForeign(dir); err == nil {
		t.Error("somebody else's is taken")
	}
}

func TestOrdersAreWellFormedOrRefused(t *testing.T) {
	for words, want := range map[string]string{
		"kubelet end a b":               "",
		"kubelet end a":                 "POST 127.0.0.1:10270/end?namespace=a",
		"kubelet state":                 "GET 127.0.0.1:10270/state",
		"component stop kube-apiserver": "POST 127.0.0.1:10271/stop?component=kube-apiserver",
		"component kill kube-apiserver": "",
		"component stop":                "",
		"fault":                         "",
		"fault none":                    "POST 127.0.0.1:10272/fault",
		"fault delay=2s cut=20s":        "POST 127.0.0.1:10272/fault?delay=2s&cut=20s",
	} {
		method, address, err := order(strings.Fields(words))
		if (err == nil) != (want != "") || err == nil && method+" "+address != want {
			t.Errorf("%s: %s %s, %v", words, method, address, err)
		}
	}
}
