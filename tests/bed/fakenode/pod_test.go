package fakenode

import (
	"encoding/json"
	"testing"
	"time"

	"coxswain.dev/bed/plan"
)

func given(t *testing.T, text string) pod {
	t.Helper()
	seen, err := read(json.RawMessage(text))
	if err != nil {
		t.Fatal(err)
	}
	return seen
}

func TestWhatAKubeletDoesNextFollowsFromThePod(t *testing.T) {
	launcher := `"metadata":{"labels":{"training.kubeflow.org/job-role":"launcher"}}`
	for name, expected := range map[string]struct {
		pod          string
		held, ending bool
		action       action
	}{
		"a new pod starts":                       {pod: `{}`, action: start},
		"a bound one too":                        {pod: `{"spec":{"nodeName":"x"}}`, action: start},
		"not while it is held":                   {pod: `{}`, held: true},
		"nor while it has a gate":                {pod: `{"spec":{"schedulingGates":[{"name":"x"}]}}`},
		"a running one goes on":                  {pod: `{"status":{"phase":"Running"}}`, ending: true},
		"a launcher ends on request":             {pod: `{` + launcher + `,"status":{"phase":"Running"}}`, ending: true, action: finish},
		"but not before":                         {pod: `{` + launcher + `,"status":{"phase":"Running"}}`},
		"one that has ended stays":               {pod: `{"status":{"phase":"Succeeded"}}`, ending: true},
		"a deleted one goes, held or not":        {pod: `{"metadata":{"deletionTimestamp":"2026-01-01T00:00:00Z"}}`, held: true, action: remove},
		"a deleted one goes when it has ended":   {pod: `{"metadata":{"deletionTimestamp":"2026-01-01T00:00:00Z"},"status":{"phase":"Failed"}}`, action: remove},
		"a launcher that never ran starts first": {pod: `{` + launcher + `}`, ending: true, action: start},
	} {
		if action := given(t, expected.pod).next(expected.held, expected.ending); action != expected.action {
			t.Errorf("%s: %d, not %d", name, action, expected.action)
		}
	}
}

func TestPodsHaveAddressesOfTheirOwn(t *testing.T) {
	seen := map[string]bool{}
	for serial := range uint32(100_000) {
		seen[podAddress(serial)] = true
	}
	if len(seen) != 100_000 || podAddress(0) != "100.64.0.0" || podAddress(1<<22-1) != "100.127.255.255" {
		t.Errorf("%d addresses of 100000 pods, from %s to %s", len(seen), podAddress(0), podAddress(1<<22-1))
	}
}

func TestAStaleWatchDoesNotUndoWhatWasReported(t *testing.T) {
	kubelet := New(nil, OfAll, plan.NodesShape{})
	running := given(t, `{"metadata":{"uid":"u"},"spec":{"nodeName":"x"},"status":{"phase":"Running"}}`)
	kubelet.told(running, false)
	kubelet.told(given(t, `{"metadata":{"uid":"u"}}`), false)
	if state := kubelet.state(""); state.Running != 1 || state.Bound != 1 || state.Queue != 0 {
		t.Errorf("%+v", state)
	}
	stale := running.running(1, time.Unix(0, 0))
	if stale["status"].(object)["podIP"] == "" {
		t.Error(stale)
	}
	kubelet.told(running, true)
	if state := kubelet.state(""); state.Pods != 0 {
		t.Errorf("%+v", state)
	}
}

func TestALauncherWithATimeEndsByItself(t *testing.T) {
	kubelet := New(nil, OfAll, plan.NodesShape{})
	kubelet.told(given(t, `{"metadata":{"uid":"u","labels":{"training.kubeflow.org/job-role":"launcher"},
		"annotations":{"bed.coxswain.dev/runs-for":"20ms"}},"status":{"phase":"Running"}}`), false)
	if state := kubelet.state(""); state.Queue != 0 {
		t.Errorf("it ends at once: %+v", state)
	}
	for began := time.Now(); kubelet.state("").Queue == 0; time.Sleep(time.Millisecond) {
		if time.Since(began) > 10*time.Second {
			t.Fatal("it never ends")
		}
	}
}

func TestPodsOfAnotherSchedulerAreLeftAlone(t *testing.T) {
	kubelet := New(nil, Named("fake-nodes"), plan.NodesShape{})
	kubelet.told(given(t, `{"metadata":{"uid":"u"},"spec":{"schedulerName":"default-scheduler"}}`), false)
	kubelet.told(given(t, `{"metadata":{"uid":"v"},"spec":{"schedulerName":"fake-nodes"}}`), false)
	if state := kubelet.state(""); state.Pods != 1 || state.Queue != 1 {
		t.Errorf("%+v", state)
	}
}

func TestWithARealSchedulerAPodStartsWhenItIsBound(t *testing.T) {
	kubelet := New(nil, Another, plan.NodesShape{})
	kubelet.told(given(t, `{"metadata":{"uid":"u"}}`), false)
	if state := kubelet.state(""); state.Pods != 1 || state.Queue != 0 {
		t.Errorf("before: %+v", state)
	}
	kubelet.told(given(t, `{"metadata":{"uid":"u"},"spec":{"nodeName":"fake-00"}}`), false)
	if state := kubelet.state(""); state.Bound != 1 || state.Queue != 1 {
		t.Errorf("after: %+v", state)
	}
	kubelet.told(given(t, `{"metadata":{"uid":"v","deletionTimestamp":"2026-01-01T00:00:00Z"}}`), false)
	if state := kubelet.state(""); state.Queue != 2 {
		t.Errorf("one that goes before it is bound: %+v", state)
	}
}

func TestNodesAreShapedAsAskedForAndOpenToARealSchedulerOnly(t *testing.T) {
	shape := plan.NodesShape{Devices: plan.Amounts{"example.com/gpu": 2}, Domains: plan.Amounts{"example.com/rack": 5}}
	for serial, rack := range map[uint32]string{0: "domain-00", 4: "domain-00", 5: "domain-01", 19: "domain-03"} {
		made := node(serial, shape, true, time.Unix(0, 0))
		labels := made["metadata"].(object)["labels"].(object)
		allocatable := made["status"].(object)["allocatable"].(object)
		if labels["example.com/rack"] != rack || allocatable["example.com/gpu"] != "2" || made["spec"].(object)["unschedulable"] != false {
			t.Errorf("%d: %v", serial, made)
		}
	}
	plain := node(0, plan.NodesShape{}, false, time.Unix(0, 0))
	if len(plain["metadata"].(object)["labels"].(object)) != 2 || plain["spec"].(object)["unschedulable"] != true {
		t.Error(plain)
	}
}
