#!/bin/bash
# Builds the bed's programs into target/bed/bin; does nothing, in a second, where they are up to date.
set -euo pipefail
exec go -C "$(dirname "$0")" run ./cmd/build "$@"
