#!/bin/bash
# Tests the bed: the pure parts, then beds of its own that run, break and must leave nothing behind (90 s, root).
# build.sh comes first. Arguments go to the second `go test`: `tests/bed/test.sh -run Pod -v`.
set -euo pipefail
cd "$(dirname "$0")"
export CGO_ENABLED=0
unformatted=$(gofmt -l .)
if [[ -n $unformatted ]]; then
    echo "bed: not formatted: $unformatted" >&2
    exit 1
fi
go vet -tags bed ./...
go test ./...
go test -tags bed -count=1 "$@" .
