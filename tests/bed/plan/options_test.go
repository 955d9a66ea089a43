package plan

import (
	"reflect"
	"slices"
	"strings"
	"testing"
)

// argument is what a component of the bed is started with behind a flag, nothing without it.
func argument(t *testing.T, bed Bed, component, flag string) string {
	t.Helper()
	components := bed.Components()
	at := slices.IndexFunc(components, func(other Component) bool { return other.Name == component })
	if at < 0 {
		t.Fatalf("no %s in a bed of the kind %s", component, bed.Mode)
	}
	argv := components[at].Argv
	if at = slices.Index(argv, flag); at < 0 {
		return ""
	}
	return argv[at+1]
}

func TestGatesReachTheirComponentsAndNobodyElse(t *testing.T) {
	bed := bed(Node)
	for _, component := range bed.Components() {
		if slices.Contains(component.Argv, "--feature-gates") {
			t.Errorf("%s of a usual bed is started with %v", component.Name, component.Argv)
		}
	}
	gates, err := ParseGates("B=true,kube-scheduler:B=false,A=false,kubelet:C=true")
	if err != nil {
		t.Fatal(err)
	}
	bed.FeatureGates = gates
	for component, want := range map[string]string{
		"kube-apiserver": "A=false,B=true", "kube-controller-manager": "A=false,B=true",
		"kube-scheduler": "A=false,B=false", "kubelet": "A=false,B=true,C=true",
		"etcd": "", "kube-proxy": "", "containerd": "", NodeName: "",
	} {
		if given := argument(t, bed, component, "--feature-gates"); given != want {
			t.Errorf("%s: %q, not %q", component, given, want)
		}
	}
	again, err := ParseGates(gates.String())
	if err != nil || !reflect.DeepEqual(again, gates) {
		t.Errorf("%s is read as %v (%v)", gates, again, err)
	}
}

func TestAGateOfOneComponentAloneIsOnlyThere(t *testing.T) {
	bed := bed(ControlPlane)
	bed.FeatureGates = Gates{"kube-scheduler": {"A": true}}
	if one, other := argument(t, bed, "kube-scheduler", "--feature-gates"), argument(t, bed, "kube-apiserver", "--feature-gates"); one != "A=true" || other != "" {
		t.Errorf("%q and %q", one, other)
	}
}

func TestGatesAndAmountsThatAreNoneAreRefused(t *testing.T) {
	for _, text := range []string{"A", "A=", "A=1", "=true", "etcd:A=true", ":A=true", "kubelet:=true", "A=true,", ","} {
		if gates, err := ParseGates(text); err == nil {
			t.Errorf("%q is read as %v", text, gates)
		}
	}
	for _, text := range []string{"a", "a=", "a=0", "a=-1", "a=x", "=1", "a=1,"} {
		if amounts, err := ParseAmounts(text); err == nil {
			t.Errorf("%q is read as %v", text, amounts)
		}
	}
}

func TestRuntimeConfigIsTheAPIServers(t *testing.T) {
	bed := bed(ControlPlane)
	if given := argument(t, bed, "kube-apiserver", "--runtime-config"); given != "" {
		t.Errorf("of a usual bed: %q", given)
	}
	bed.RuntimeConfig = "a/v1=true"
	if given := argument(t, bed, "kube-apiserver", "--runtime-config"); given != "a/v1=true" {
		t.Errorf("%q", given)
	}
	if given := argument(t, bed, "kube-controller-manager", "--runtime-config"); given != "" {
		t.Errorf("of the controllers: %q", given)
	}
}

func TestFakeNodesHaveASchedulerOnlyIfAskedFor(t *testing.T) {
	for _, wanted := range []bool{false, true} {
		bed := bed(FakeNodes)
		bed.Scheduler = wanted
		runs := slices.ContainsFunc(bed.Components(), func(component Component) bool { return component.Name == "kube-scheduler" })
		if runs != wanted {
			t.Errorf("asked for %t, runs %t", wanted, runs)
		}
		// Or its nodes would have the taint of a new node, which the scheduler minds.
		if off := argument(t, bed, "kube-apiserver", "--disable-admission-plugins"); off != "TaintNodesByCondition" {
			t.Errorf("disabled: %q", off)
		}
	}
}

func TestOptionsThatAModeHasNoUseForAreRefused(t *testing.T) {
	for _, mode := range []Mode{ControlPlane, Node, FakeNodes, Mixed} {
		if err := (Options{Audit: true, FeatureGates: Gates{"": {"A": true}}, RuntimeConfig: "a"}).Check(mode); err != nil {
			t.Errorf("%s: %v", mode, err)
		}
		if err := (Options{Scheduler: true}).Check(mode); (err == nil) != (mode == FakeNodes) {
			t.Errorf("%s with a scheduler: %v", mode, err)
		}
		for _, shape := range []NodesShape{{Devices: Amounts{"a": 1}}, {Domains: Amounts{"a": 1}}} {
			if err := (Options{Shape: shape}).Check(mode); (err == nil) != mode.HasFakeNodes() {
				t.Errorf("%s with %v: %v", mode, shape, err)
			}
		}
	}
}

func TestWordsTellOptionsApart(t *testing.T) {
	all := Options{
		Audit: true, FeatureGates: Gates{"": {"B": true}, "kubelet": {"A": false}}, RuntimeConfig: "a/v1=true", Scheduler: true,
		Shape: NodesShape{Devices: Amounts{"x/gpu": 2}, Domains: Amounts{"x/rack": 5}},
	}
	want := "--audit --feature-gates B=true,kubelet:A=false --runtime-config a/v1=true --devices x/gpu=2 --domains x/rack=5 --scheduler"
	if words := strings.Join(all.Words(), " "); words != want {
		t.Error(words)
	}
	if words := (Options{}).Words(); len(words) > 0 || all.Equal(Options{}) || !all.Equal(all) {
		t.Error(words)
	}
}
