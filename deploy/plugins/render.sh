#!/bin/sh
# Prints one ConfigMap for each plugin, for kubectl:
#
#   deploy/plugins/render.sh | kubectl apply -n mpi-operator -f -
#   deploy/plugins/render.sh target/plugins/openmpi.wasm | kubectl apply -n mpi-operator -f -
#
# In: files NAME.wasm or NAME.wasm.gz; none means all of target/plugins, where `make plugins` puts them.
# Out: YAML. Other keys that such a ConfigMap has in the cluster, such as settings, stay unless they were in the file that
# was applied last. (The operator keeps its own objects under coxswain-plugin-* and coxswain-copy-*.)
set -eu
root=$(dirname "$0")/../..

if [ $# -eq 0 ]; then
  set -- "$root"/target/plugins/*.wasm
fi

for file in "$@"; do
  [ -f "$file" ] || { echo "render.sh: $file is missing: run make plugins, or name the file" >&2; exit 1; }
  case $file in
    *.wasm) key=plugin.wasm name=$(basename "$file" .wasm) ;;
    *.wasm.gz) key=plugin.wasm.gz name=$(basename "$file" .wasm.gz) ;;
    *) echo "render.sh: $file is neither NAME.wasm nor NAME.wasm.gz" >&2; exit 1 ;;
  esac
  cat <<EOF
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: $name
  labels:
    coxswain.dev/plugin: $name
data:
  sha256: $(if [ "$key" = plugin.wasm ]; then cat "$file"; else gzip -dc "$file"; fi | sha256sum | cut -d' ' -f1)
binaryData:
  $key: $(base64 <"$file" | tr -d '\n')
EOF
done
