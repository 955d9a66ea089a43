# Two commands are for everybody:
#   make demo   a Kubernetes on this machine, Coxswain in it, and an MPI job that runs on two workers
#   make test   proves everything that the project claims, on parts that are real
# `make help` lists the rest.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
# Every recipe line finds the compilers that `setup` chose.
export BASH_ENV := $(CURDIR)/target/setup.env

# BED_KUBERNETES=1.35 takes a bed of that release for `bed`, `test-bed`, images and tests/cluster/run; see tests/bed/kubernetes.
export BED_KUBERNETES
export COXSWAIN_BED := $(CURDIR)/$(lastword $(shell BED_KUBERNETES='$(BED_KUBERNETES)' tests/bed/kubernetes))/bin/bed
TARGET := $(shell uname -m)-unknown-linux-gnu
# Kernels for arm64 have pages of 4, 16 or 64 KiB; a heap built for the largest works on all.
ifeq ($(shell uname -m),aarch64)
export JEMALLOC_SYS_WITH_LG_PAGE := 16
endif
OPERATOR := target/$(TARGET)/release/coxswain
.DEFAULT_GOAL := help

.PHONY: help
help: ## List the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):[^#]*## /\1\t/' | expand -t 16

# --- what is built ------------------------------------------------------------------------------------------------

.PHONY: setup
setup: ## Install what the targets below need, or say what to install
	@tests/setup.sh

.PHONY: plugins
plugins: setup ## Build the plugins as components, target/plugins/*.wasm
	@cargo run --quiet --release --package coxswain-plugin-build

.PHONY: operator
operator: setup ## Build the operator as one static binary
	@RUSTFLAGS="$${RUSTFLAGS:-} -C target-feature=+crt-static" \
		cargo build --release --package coxswain --target $(TARGET)
	@ls -l --block-size=M $(OPERATOR) | awk '{print "operator: " $$9 ", " $$5}'

.PHONY: tools
tools: operator plugins ## Link what authors of plugins call into target/bin
	@mkdir -p target/bin
	@ln -sf ../../$(OPERATOR) ../release/coxswain-plugin-build target/bin/

.PHONY: bed
bed: setup ## Build the one-machine Kubernetes
	@tests/bed/build.sh

.PHONY: other-beds
other-beds: setup ## Build those of the other releases of Kubernetes that `make integrations` runs on
	@BED_KUBERNETES=oldest tests/bed/build.sh
	@BED_KUBERNETES=coscheduling tests/bed/build.sh

.PHONY: images
images: bed operator plugins ## Build the images of the demo, without a registry or a container builder
	@tests/images/build openmpi4
	@tests/images/build operator $(OPERATOR) target/plugins

.PHONY: images-mpi
images-mpi: setup ## Build the images with four implementations of MPI
	@tests/images/build openmpi4 openmpi5 mpich intel

.PHONY: images-test
images-test: images images-mpi ## Build the images of the tests

.PHONY: images-integrations
images-integrations: images-test ## Build the images of `make integrations`: those of the tests, and the MPI Operator's
	@tests/images/build mpi-operator

# --- what runs ----------------------------------------------------------------------------------------------------

.PHONY: demo
demo: ## Show an MPI job on a real Kubernetes on this machine
	@tests/demo/run

.PHONY: demo-down
demo-down: ## Remove everything that `make demo` started
	@tests/demo/down

# The parts of `make test`. First what everything needs, then the checks that compute beside the release builds, then what
# runs on Kubernetes, which waits most of the time (test-guide first: it fetches the crates that test-cluster needs in its
# bed); last and alone, what counts or compares. tests/parts says how this is read, and what it prints at the end.
.PHONY: test
test: setup ## Everything that CI runs: every layer, what is long in a short form
	@tests/parts plugins \
		'lint test-rust | bed operator bench-programs images-mpi' \
		'test-cluster | test-guide test-conformance test-manifests test-bed test-simulator' \
		'test-bench test-swap test-outage test-gangs'

.PHONY: test-all
test-all: test conformance swap outage integrations bench ## `make test`, then all long forms

.PHONY: lint
lint: setup plugins ## Formatting, lints, purity of the deciding crate, direction of crates and files
	@tests/lint

.PHONY: test-rust
test-rust: plugins ## Unit, property, golden and plugin tests
	@cargo test --workspace

.PHONY: check-fast
check-fast: setup ## The inner loop: types of everything, tests of the deciding crate
	@cargo check --quiet --workspace --all-targets
	@cargo test --quiet --package coxswain-model

# With the flags of the operator's build, so that they share their dependencies.
SIMULATOR := RUSTFLAGS="$${RUSTFLAGS:-} -C target-feature=+crt-static" \
	cargo run --quiet --release --package coxswain-simulator --bin simulator --target $(TARGET) --

.PHONY: test-simulator
test-simulator: plugins ## The operator in virtual time: faults at writes, stale views and gaps at changes, seeds; 3 minutes
	@$(SIMULATOR) test

.PHONY: soak
soak: plugins ## The simulator: each fault at each place, then new seeds until it is stopped, or something fails
	@$(SIMULATOR) soak

.PHONY: simulator-mutants
simulator-mutants: plugins ## Known defects put back: the simulator finds each of them again; half an hour
	@tests/simulator/mutants/run

.PHONY: simulator-age
simulator-age: plugins ## The simulator: thirty days of churn in ten minutes, and what the processes hold after it
	@$(subst --bin simulator,--bin age,$(SIMULATOR))

.PHONY: simulator-replay
simulator-replay: plugins ## One history of the simulator, shown: PLAN= a workload, seed:N or a file
	@$(SIMULATOR) replay "$(PLAN)"

.PHONY: test-guide
test-guide: tools ## Every command of the guides to plugins that needs no cluster
	@tests/guide/run docs/plugins.md docs/plugin-tools.md

.PHONY: test-conformance
test-conformance: plugins operator ## Real launchers, the newest release of each, on what the plugins render
	@tests/conformance/run --newest

.PHONY: conformance
conformance: plugins operator ## Real launchers of all seven releases
	@tests/conformance/run

.PHONY: test-bed
test-bed: bed ## The bed itself: starts, runs a pod, leaves nothing behind
	@tests/bed/test.sh

.PHONY: test-manifests
test-manifests: bed plugins operator ## CRD, overlays and examples against an API server
	@tests/manifests/run

.PHONY: test-bench
test-bench: bench-programs ## What the operator asks for: counts that do not depend on the machine
	@tests/bench/run --guard

.PHONY: test-swap
test-swap: bench-programs ## Plugins swapped 6 times while 40 jobs run and 20 a second come
	@tests/bench/run --swap 2 --live 40

.PHONY: swap
swap: bench-programs ## Plugins swapped 21 times while 200 jobs run and 20 a second come
	@tests/bench/run --swap 7

.PHONY: test-cluster
test-cluster: images-test ## Real jobs, gates and swaps on the bed
	@tests/cluster/run

.PHONY: test-gangs
test-gangs: images-test ## Gangs of Kubernetes' own scheduler, on a bed that has them
	@tests/cluster/run native

.PHONY: integrations
integrations: images-integrations other-beds ## All cluster tests in their long forms, gangs, the MPI Operator, the oldest Kubernetes
	@tests/cluster/run long
	@for part in all kube-scheduler topology; do COXSWAIN_WITHOUT=$$part tests/cluster/run native_without; done
	@BED_KUBERNETES=coscheduling tests/cluster/run gang:: --test-threads=1
	@BED_KUBERNETES=oldest tests/cluster/run smoke

.PHONY: test-outage
test-outage: bed plugins operator ## Bad days of the API server in a short form: gone, frozen, slow, overloaded
	@tests/cluster/outage

.PHONY: outage
outage: bed plugins operator ## The same for longer, with 200 jobs and two more a second; an hour
	@tests/cluster/outage long

.PHONY: bench-programs
bench-programs: bed plugins # The operator and its bench share what they are linked with, so they are built as one.
	@RUSTFLAGS="$${RUSTFLAGS:-} -C target-feature=+crt-static" \
		cargo build --quiet --release --package coxswain --package coxswain-bench --target $(TARGET)

.PHONY: bench
bench: bench-programs ## Speed, memory and requests beside a plain client's; half an hour
	@tests/bench/run

.PHONY: bench-gangs
bench-gangs: bench-programs ## 100 gangs of 8 and one of 1,000 beside as many jobs without gangs; ten minutes
	@tests/bench/run --gangs 3

.PHONY: bench-quick
bench-quick: bench-programs ## The same on small sizes, in 3 minutes
	@tests/bench/run --quick

.PHONY: clean
clean: ## Remove what was built in this checkout (caches stay)
	@rm -rf target
