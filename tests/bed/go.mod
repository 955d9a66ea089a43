// The bed: a Kubernetes on one machine, for tests and the demo. Its programs are in ./node, a module of its own,
// because they take minutes to build and this takes seconds.
module coxswain.dev/bed

go 1.24.3

require (
	github.com/vishvananda/netlink v1.3.1 // the address of the node, without iproute2
	golang.org/x/sys v0.37.0 // setns, pidfd and mounts, which the standard library lacks
)

require github.com/vishvananda/netns v0.0.5 // indirect
