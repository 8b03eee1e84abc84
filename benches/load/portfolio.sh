#!/bin/sh
# Times portfolios and reports: the first valuation of a portfolio, its valuation after a new model while another client
# asks for estimates, and reports of a home. Usage: benches/load/portfolio.sh [SALES [HOMES]]
# (default 1000000, 1000000). Needs python3 and 4 GB of disk.
set -eu
here=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd)
. "$here/../support/setup.sh"
need_toise
exec python3 "$here/portfolio.py" "$TOISE" "${1:-1000000}" "${2:-1000000}"
