#!/bin/sh
# Estimates one by one through the socket, and a million homes from a file. Usage: benches/load/estimate.sh [SALES]
# SALES is how many invented sales the model learns from (default 3000000; needs python3 and 2 GB of disk).
set -eu
here=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd)
root=$(CDPATH= cd -- "$here/../.." && pwd)
(cd "$root" && cargo build --release --quiet)
exec python3 "$here/estimate.py" "${CARGO_TARGET_DIR:-$root/target}/release/toise" "${1:-3000000}"
