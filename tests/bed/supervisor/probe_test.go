package supervisor

import (
	"strings"
	"testing"
)

func TestNodeIsSchedulableOnlyWhenReadyAndWithoutTaints(t *testing.T) {
	for body, want := range map[string]string{
		`{"status":{"conditions":[{"type":"Ready","status":"True"}]}}`:                  "",
		`{"status":{"conditions":[{"type":"Ready","status":"False","message":"cni"}]}}`: "not Ready: cni",
		`{"status":{"conditions":[{"type":"DiskPressure","status":"False"}]}}`:          "no condition",
		`{}`: "no condition",
		`{"spec":{"taints":[{"key":"k","effect":"NoSchedule"}]},"status":{"conditions":[{"type":"Ready","status":"True"}]}}`:       "taint k:NoSchedule",
		`{"spec":{"taints":[{"key":"k","effect":"PreferNoSchedule"}]},"status":{"conditions":[{"type":"Ready","status":"True"}]}}`: "",
		`not JSON`: "reading the node",
	} {
		err := schedulable([]byte(body))
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", body, err)
		}
	}
}
