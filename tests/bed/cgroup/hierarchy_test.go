package cgroup

import (
	"reflect"
	"testing"
)

const (
	hybrid = `24 1 254:0 / / rw,relatime - ext4 /dev/root rw
30 29 0:26 / /sys/fs/cgroup/cpu,cpuacct rw,relatime shared:9 - cgroup cgroup rw,cpu,cpuacct
31 29 0:27 / /sys/fs/cgroup/memory rw,relatime shared:10 master:3 - cgroup cgroup rw,memory
32 29 0:28 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw
33 29 0:27 / /other\040place/memory rw,relatime - cgroup cgroup rw,memory
`
	unified = `24 1 254:0 / / rw,relatime - overlay overlay rw,lowerdir=/a - b
30 29 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup rw,nsdelegate
`
)

func TestHierarchiesAreFoundOnceEachInMountinfo(t *testing.T) {
	want := []Hierarchy{
		{Mount: "/sys/fs/cgroup/cpu,cpuacct", Device: "0:26"},
		{Mount: "/sys/fs/cgroup/memory", Device: "0:27"},
		{Mount: "/sys/fs/cgroup/unified", Device: "0:28", V2: true},
	}
	if found := Hierarchies(hybrid); !reflect.DeepEqual(found, want) {
		t.Errorf("found %v", found)
	}
}

func TestOnlyAMachineWithoutVersion1IsUnified(t *testing.T) {
	for text, want := range map[string]bool{hybrid: false, unified: true, "": false} {
		if Unified(Hierarchies(text)) != want {
			t.Errorf("unified is not %t of:\n%s", want, text)
		}
	}
}

func TestMountPointsAreUnescaped(t *testing.T) {
	if path := unescape(`/a\040b\134c`); path != `/a b\c` {
		t.Errorf("became %q", path)
	}
}
