package supervisor

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"coxswain.dev/bed/plan"
)

// furnish makes the new namespaces fit to live in: mounts that nobody outside sees, the node's address, limits.
// The order matters only in that the mounts become private first.
func furnish(bed plan.Bed) error {
	if err := furnishMounts(bed); err != nil {
		return err
	}
	if err := furnishNetwork(); err != nil {
		return err
	}
	return limitFiles()
}

// openFiles is what a distribution's service gets. The runtime hands its limits down to containers, and far more makes
// programs slow that close all of them.
const openFiles = 65536

func limitFiles() error {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return fmt.Errorf("reading the limit of open files: %w", err)
	}
	limit.Cur = min(openFiles, limit.Max) // to raise the maximum needs a privilege that containers often lack
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return fmt.Errorf("setting the limit of open files to %d: %w", limit.Cur, err)
	}
	return nil
}

func furnishMounts(bed plan.Bed) error {
	// Private first, so that nothing reaches the machine; then shared, as container runtimes expect, among ourselves.
	for _, propagation := range []uintptr{unix.MS_PRIVATE, unix.MS_SHARED} {
		if err := unix.Mount("", "/", "", unix.MS_REC|propagation, ""); err != nil {
			return fmt.Errorf("separating mounts from the machine's: %w", err)
		}
	}
	if err := unix.Mount("proc", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
		return fmt.Errorf("mounting /proc: %w", err)
	}
	resolver, _ := filepath.EvalSymlinks("/etc/resolv.conf") // before /run is covered, where it often lives
	if err := unix.Mount("tmpfs", "/run", "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=755"); err != nil {
		return fmt.Errorf("mounting /run: %w", err)
	}
	if err := os.MkdirAll("/run/netns", 0o755); err != nil {
		return err
	}
	for path, folder := range bed.Mounts() {
		if err := os.MkdirAll(path, 0o755); err != nil {
			return err
		}
		if err := unix.Mount(folder, path, "", unix.MS_BIND, ""); err != nil {
			return fmt.Errorf("mounting %s on %s: %w", folder, path, err)
		}
	}
	if bed.Mode.RunsPods() && resolver != "" {
		return furnishResolver(bed.Path("config", "resolv.conf"), resolver)
	}
	return nil
}

// furnishResolver lets programs that run inside without a container look names of Services up.
func furnishResolver(ours, resolver string) error {
	if !strings.HasPrefix(resolver, "/run/") {
		if err := unix.Mount(ours, resolver, "", unix.MS_BIND, ""); err != nil {
			return fmt.Errorf("mounting %s on %s: %w", ours, resolver, err)
		}
		return nil
	}
	content, err := os.ReadFile(ours)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(resolver), 0o755); err != nil {
		return err
	}
	return os.WriteFile(resolver, content, 0o644)
}

// furnishNetwork gives the node its address, on a bridge without ports: some kernels lack `dummy` links, and an address
// of the loopback link is not one that an API server advertises.
func furnishNetwork() error {
	loopback, err := netlink.LinkByName("lo")
	if err != nil {
		return fmt.Errorf("finding the loopback link: %w", err)
	}
	if err := netlink.LinkSetUp(loopback); err != nil {
		return fmt.Errorf("setting the loopback link up: %w", err)
	}
	bridge := &netlink.Bridge{LinkAttrs: netlink.LinkAttrs{Name: "bed0"}}
	if err := netlink.LinkAdd(bridge); err != nil {
		return fmt.Errorf("adding the node's link: %w", err)
	}
	address, err := netlink.ParseAddr(plan.NodeAddress + "/32")
	if err != nil {
		return err
	}
	if err := netlink.AddrAdd(bridge, address); err != nil {
		return fmt.Errorf("giving the node its address: %w", err)
	}
	if err := netlink.LinkSetUp(bridge); err != nil {
		return fmt.Errorf("setting the node's link up: %w", err)
	}
	// Services are translated on the way out, and without a route there is no way out. There is none to anywhere else:
	// what leaves the bed fails at once.
	services, err := netlink.ParseIPNet(plan.ServiceRange)
	if err != nil {
		return err
	}
	route := &netlink.Route{LinkIndex: bridge.Attrs().Index, Dst: services, Scope: netlink.SCOPE_LINK}
	if err := netlink.RouteAdd(route); err != nil {
		return fmt.Errorf("adding the route to Services: %w", err)
	}
	err = os.WriteFile("/proc/sys/net/ipv4/ip_forward", []byte("1"), 0o644)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("letting the node forward packets: %w", err)
	}
	return nil
}
