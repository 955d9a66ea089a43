#!/bin/bash
# Builds the bed's programs into target/bed/bin, or target/bed/RELEASE/bin of the release that BED_KUBERNETES names (see
# `kubernetes`); does nothing, in a second, where they are up to date.
set -euo pipefail
cd "$(dirname "$0")"
chosen=$(./kubernetes)
read -r release folder <<<"$chosen"
exec go run ./cmd/build -kubernetes "$release" -out "../../$folder/bin"
