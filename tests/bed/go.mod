// The bed: a Kubernetes on one machine, for tests and the demo. Its programs are in ./node, a module of its own,
// because they take minutes to build and this takes seconds.
module coxswain.dev/bed

go 1.24.0
