// Package cgroup makes and removes the cgroup that a bed's pods live in, on version 1 and version 2 machines.
//
// Cgroups are not in a namespace of the bed's own: without a root of its own, the kubelet of one bed would end the pods
// of another as orphans.
package cgroup

import (
	"path/filepath"
	"slices"
	"strings"
)

// Hierarchy is one mounted tree of cgroups.
type Hierarchy struct {
	Mount  string // mount point, such as /sys/fs/cgroup/cpu
	V2     bool
	Device string // major:minor, the same for two mounts of one hierarchy
}

// Hierarchies finds the cgroup mounts in the text of /proc/self/mountinfo, one for each hierarchy, in its order.
func Hierarchies(mountinfo string) []Hierarchy {
	var found []Hierarchy
	for line := range strings.Lines(mountinfo) {
		fields := strings.Fields(line)
		separator := slices.Index(fields, "-")
		if separator < 6 || len(fields) <= separator+1 {
			continue
		}
		filesystem := fields[separator+1]
		if filesystem != "cgroup" && filesystem != "cgroup2" {
			continue
		}
		hierarchy := Hierarchy{Mount: unescape(fields[4]), V2: filesystem == "cgroup2", Device: fields[2]}
		if !slices.ContainsFunc(found, func(other Hierarchy) bool { return other.Device == hierarchy.Device }) {
			found = append(found, hierarchy)
		}
	}
	return found
}

// unescape turns mountinfo's octal escapes back; mount points have no other special characters than spaces in practice.
func unescape(path string) string {
	return strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace(path)
}

// Unified says whether version 2 alone is in charge. On a hybrid machine the version 2 tree has no controllers.
func Unified(hierarchies []Hierarchy) bool {
	return len(hierarchies) > 0 && !slices.ContainsFunc(hierarchies, func(h Hierarchy) bool { return !h.V2 })
}

func (hierarchy Hierarchy) path(name string) string { return filepath.Join(hierarchy.Mount, name) }
