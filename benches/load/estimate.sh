#!/bin/sh
# Times estimates: one by one over HTTP, and a portfolio from a file. Usage: benches/load/estimate.sh [SALES [HOMES]]
# SALES is the number of synthetic sales for the training of the model (default 3000000), HOMES the number of homes of
# the portfolio (default 1000000). Needs python3 and 2 GB of disk.
set -eu
here=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd)
. "$here/../support/setup.sh"
need_toise
exec python3 "$here/estimate.py" "$TOISE" "${1:-3000000}" "${2:-1000000}"
