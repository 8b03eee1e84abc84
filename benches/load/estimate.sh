#!/bin/sh
# Estimates one by one through the socket, and a portfolio from a file. Usage: benches/load/estimate.sh [SALES [HOMES]]
# SALES is how many invented sales the model learns from (default 3000000), HOMES how many homes the portfolio has
# (default 1000000); needs python3 and 2 GB of disk.
set -eu
here=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd)
. "$here/../support/setup.sh"
need_toise
exec python3 "$here/estimate.py" "$TOISE" "${1:-3000000}" "${2:-1000000}"
