#!/bin/sh
# Loads a running demo over HTTP. Usage: benches/load/run.sh [SECONDS]   (default 10 a measurement; needs wrk and python3)
set -eu
here=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd)
root=$(CDPATH= cd -- "$here/../.." && pwd)
command -v wrk > /dev/null || { echo "skipped: wrk is not installed" >&2; exit 0; }
(cd "$root" && cargo build --release --quiet)
exec python3 "$here/run.py" "${CARGO_TARGET_DIR:-$root/target}/release/toise" "${1:-10}"
