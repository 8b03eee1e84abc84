#!/bin/sh
# Sends a load of requests to a running demo over HTTP.
# Usage: benches/load/run.sh [SECONDS]   (per measurement, default 10; needs wrk and python3)
set -eu
here=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd)
. "$here/../support/setup.sh"
command -v wrk > /dev/null || skip "no wrk here (Debian: apt install wrk)"
need_toise
exec python3 "$here/run.py" "$TOISE" "${1:-10}"
