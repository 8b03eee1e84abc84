#!/bin/sh
# Times imports of sales next to a server, without and with alerts on sales in turn, and the time until every alert was
# notified of every new sale that it matches, once. Usage: benches/load/sales_alerts.sh [SALES [ALERTS
# [ROUNDS]]] (default 1000000, 10000, 3). Needs python3 and 4 GB of disk.
set -eu
here=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd)
. "$here/../support/setup.sh"
need_toise
exec python3 "$here/sales_alerts.py" "$TOISE" "${1:-1000000}" "${2:-10000}" "${3:-3}"
