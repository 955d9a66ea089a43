package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"coxswain.dev/bed/plan"
)

// tools are the distribution's programs that a node needs, and the Debian packages that hold them.
var tools = map[string]string{"runc": "runc", "iptables": "iptables", "iptables-restore": "iptables"}

// plugins are the CNI plugins that the network configuration names, and loopback, which containerd takes for granted.
var plugins = []string{"host-local", "loopback", "portmap", "ptp"}

const pluginsPackage = "containernetworking-plugins"

// pluginFolders are where distributions and the plugins' own releases put them.
var pluginFolders = []string{"/usr/lib/cni", "/opt/cni/bin", "/usr/libexec/cni"}

// preflight says what is missing before anything starts, and fills in what the machine decides.
func preflight(bed *plan.Bed) error {
	if os.Geteuid() != 0 {
		return errors.New("up: needs root, to make namespaces")
	}
	programs := []string{"node"}
	if bed.Mode.RunsPods() {
		programs = append(programs, "containerd-shim-runc-v2", "pause")
	}
	for _, program := range programs {
		if !executable(bed.Program(program)) {
			return fmt.Errorf("up: no program %s: build the bed first (tests/bed/build.sh)", bed.Program(program))
		}
	}
	if !bed.Mode.RunsPods() {
		return nil
	}
	var missing, packages []string
	for tool, from := range tools {
		if _, err := lookUp(*bed, tool); err != nil {
			missing, packages = append(missing, tool), append(packages, from)
		}
	}
	bed.Plugins = findPlugins()
	if bed.Plugins == "" {
		missing = append(missing, "CNI plugins ("+strings.Join(plugins, ", ")+" in one of "+strings.Join(pluginFolders, ", ")+")")
		packages = append(packages, pluginsPackage)
	}
	if len(missing) > 0 {
		slices.Sort(packages)
		return fmt.Errorf("up: the node needs %s: apt-get install %s (or `bed up control-plane`, which needs none of it)",
			strings.Join(missing, ", "), strings.Join(slices.Compact(packages), " "))
	}
	var err error
	bed.Snapshotter, err = snapshotter(bed.Dir)
	return err
}

func findPlugins() string {
	for _, folder := range pluginFolders {
		if !slices.ContainsFunc(plugins, func(plugin string) bool { return !executable(filepath.Join(folder, plugin)) }) {
			return folder
		}
	}
	return ""
}

// snapshotter is overlayfs, unless the state folder lies on an overlay itself (as in most containers), which cannot
// carry another one: then each container gets a whole copy of its image.
func snapshotter(dir string) (string, error) {
	for {
		var filesystem unix.Statfs_t
		err := unix.Statfs(dir, &filesystem)
		if errors.Is(err, unix.ENOENT) {
			dir = filepath.Dir(dir)
			continue
		}
		if err != nil {
			return "", fmt.Errorf("looking at the file system of %s: %w", dir, err)
		}
		if filesystem.Type == unix.OVERLAYFS_SUPER_MAGIC {
			fmt.Printf("%s is on an overlay file system: images are copied, which is slow; --dir can name a better place\n", dir)
			return "native", nil
		}
		return "overlayfs", nil
	}
}
