#!/bin/bash
# Tries the project on a bare Debian 12: a fresh root of the smallest set of packages with git and make, a clone of what is
# committed, and a command in there.
#
#   tests/setup-check.sh                 make test
#   tests/setup-check.sh --toolchains    tests/setup.sh, then a crate with a dependency, a wasm build and Go; 5 minutes
#   tests/setup-check.sh COMMAND...      that command, in the clone
#
# In:  this checkout's commits; this machine's package mirror, proxy, certificates and registry settings. Needs root,
#      debootstrap and some 10 GB where COXSWAIN_CACHE (else ~/.cache/coxswain) is. Out: the command's exit code.
# The root is private: its mounts and processes end with this script, and its files are removed.
set -euo pipefail

script=$(realpath "$0")
repository=$(dirname "$(dirname "$script")")
cache=${COXSWAIN_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/coxswain}
suite=bookworm

say() { echo "setup-check: $*" >&2; }

outside() {
    [[ $EUID -eq 0 ]] || { say 'needs root, to make a root of its own'; exit 1; }
    type -P debootstrap >/dev/null || { say 'needs debootstrap: run tests/setup.sh'; exit 1; }
    local root started=$SECONDS code=0
    mkdir -p "$cache"
    root=$(mktemp -d "$cache/setup-check.XXXXXX")
    # shellcheck disable=SC2064 # the path of now
    trap "rm -rf --one-file-system '$root'" EXIT
    make_root "$root"
    git clone --quiet "$repository" "$root/root/coxswain"
    say "running $* ($((SECONDS - started)) s so far)"
    unshare --mount --pid --fork --kill-child --propagation private "$script" --inside "$root" "$@" || code=$?
    say "ended with $code after $((SECONDS - started)) s in all; removing the root"
    return "$code"
}

make_root() {
    local root=$1 mirror security
    mirror=$(mirrors /debian http://deb.debian.org/debian)
    security=$(mirrors /debian-security http://deb.debian.org/debian-security)
    say "making a bare Debian ($suite) from $mirror"
    # Its output is of interest only if it fails.
    # Whoever has a clone and this README has these two.
    debootstrap --variant=minbase --include=git,make "$suite" "$root" "$mirror" >"$root.log" 2>&1 || { tail "$root.log" >&2; exit 1; }
    rm "$root.log"
    cat >"$root/etc/apt/sources.list" <<LIST
deb $mirror $suite main
deb $mirror $suite-updates main
deb $security $suite-security main
LIST
    carry_settings "$root"
}

# The first address with this ending that apt uses here, else the public one.
mirrors() {
    PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$repository/tests/images python3 -c '
import sys, debian
print(next((uri for uri in debian.apt_uris() if uri.rstrip("/").endswith(sys.argv[1])), sys.argv[2]))' "$@"
}

# What this machine needs to reach registries, and nothing else: names, certificates, proxies, mirrors.
carry_settings() {
    local root=$1 file
    cp /etc/resolv.conf /etc/hosts "$root/etc/"
    for file in /etc/ssl/certs /usr/local/share/ca-certificates /etc/pip.conf /etc/apt/auth.conf /etc/apt/auth.conf.d \
        ~/.config/pip ~/.pip ~/.config/go/env ~/.cargo/config.toml ~/.netrc; do
        [[ -e $file ]] || continue
        mkdir -p "$root$(dirname "$file")"
        cp -rL "$file" "$root$(dirname "$file")/" 2>/dev/null || true
    done
    for file in $(grep -lsr 'Acquire::' /etc/apt/apt.conf /etc/apt/apt.conf.d || true); do
        cp "$file" "$root$(dirname "$file")/"
    done
}

# Runs in namespaces of its own. pivot_root and not chroot: runc refuses to start containers in a changed root.
inside() {
    local root=$1
    shift
    mount --bind "$root" "$root"
    mount --rbind /dev "$root/dev"
    mount --rbind /sys "$root/sys"
    mount -t proc proc "$root/proc"
    mount -t tmpfs tmpfs "$root/run"
    mapfile -t settings < <(settings_of_environment "$root")
    cd "$root"
    pivot_root . .
    umount -l .
    cd /root/coxswain
    exec env -i HOME=/root USER=root TERM="${TERM:-dumb}" LC_ALL=C.UTF-8 \
        PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "${settings[@]}" "$@"
}

# The variables by which proxies, certificates and registries are named. One that names a file this root does not have
# is left out.
settings_of_environment() {
    local root=$1 name
    compgen -e | grep -iE '^(.*_proxy|ssl_cert_.*|.*ca_bundle|.*ca_certs|git_ssl_.*|pip_.*|uv_.*|goproxy|gosumdb|gonosumdb|goprivate|goinsecure|cargo_(http|net|registries|registry|source)_.*|rustup_(dist|update)_.*)$' |
        while read -r name; do
            [[ ${!name} == /* && ! -e $root${!name} ]] || printf '%s=%s\n' "$name" "${!name}"
        done
}

# What the rest of the project asks of the toolchains, on a crate of three lines.
toolchains() {
    tests/setup.sh
    # shellcheck disable=SC1091 # written just now
    . target/setup.env
    time tests/setup.sh
    local crate=/tmp/hello
    mkdir -p $crate/src
    printf '[package]\nname = "hello"\nedition = "2024"\n[dependencies]\nitoa = "1"\n' >$crate/Cargo.toml
    printf 'fn main() {\n    println!("{}", itoa::Buffer::new().format(42))\n}\n' >$crate/src/main.rs
    cd $crate
    cargo fmt --check
    cargo clippy --quiet -- -Dwarnings
    [[ $(cargo run --quiet) == 42 ]]
    RUSTFLAGS='-C target-feature=+crt-static' cargo build --quiet --target x86_64-unknown-linux-gnu
    # shellcheck disable=SC2086 # words
    time env $COXSWAIN_WASM_ENV "$COXSWAIN_CARGO" build --release --target "$COXSWAIN_WASM_TARGET" $COXSWAIN_WASM_FLAGS
    ls -l target/*/debug/hello target/*/release/hello.wasm
    go version
    cd ~/coxswain/tests/bed
    cd "node/$(./kubernetes | cut -d ' ' -f 1)" && time go mod download
}

case ${1:-} in
    --inside)
        shift
        inside "$@"
        ;;
    --in-the-root)
        set -x
        toolchains
        ;;
    --toolchains) outside tests/setup-check.sh --in-the-root ;;
    '') outside make test ;;
    *) outside "$@" ;;
esac
