package fakenode

import (
	"encoding/json"
	"testing"
	"time"
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
	kubelet := New(nil, "")
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
	kubelet := New(nil, "")
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
	kubelet := New(nil, "fake-nodes")
	kubelet.told(given(t, `{"metadata":{"uid":"u"},"spec":{"schedulerName":"default-scheduler"}}`), false)
	kubelet.told(given(t, `{"metadata":{"uid":"v"},"spec":{"schedulerName":"fake-nodes"}}`), false)
	if state := kubelet.state(""); state.Pods != 1 || state.Queue != 1 {
		t.Errorf("%+v", state)
	}
}
