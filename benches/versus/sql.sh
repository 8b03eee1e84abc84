#!/bin/sh
# Reads narrow rows of sales by SQL over HTTP, by Flight SQL, and with DuckDB from the same Parquet files, and records
# the server's memory. Then times a modest client, alone and during heavy queries.
# Usage: benches/versus/sql.sh [ROWS] [--limit N]; ROWS is the number of sales to generate (default 5000000).
# TOISE names an executable; without it a release is built.
set -eu
here=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd)
. "$here/../support/setup.sh"
size_or 5000000 "$@"
shift "$taken"
need_python "${SQL_VENV:-$target/versus-sql-venv}" 'duckdb, pyarrow, requests, adbc_driver_flightsql' duckdb pyarrow requests \
    adbc-driver-flightsql
need_toise
need_sales "$size"
new_key() { "$TOISE" --data "$data" --json keys create "$@" | "$python" -c 'import json, sys; print(json.load(sys.stdin)["key"])'; }
key=$(new_key --scopes sql)
modest=$(new_key --rate 1000)
ready=$(mktemp)
"$TOISE" --data "$data" --json serve --listen 127.0.0.1:0 --set flight.listen=127.0.0.1:0 > "$ready" 2>/dev/null &
server=$!
trap 'kill $server; rm -f "$ready"' EXIT
while [ ! -s "$ready" ]; do sleep 0.1; done
address() { "$python" -c 'import json, sys; print(json.load(open(sys.argv[1]))[sys.argv[2]])' "$ready" "$1"; }
"$python" "$here/sql.py" --http "$(address address)" --flight "$(address flight)" --key "$key" \
    --modest-key "$modest" --data "$data" --pid "$server" "$@"
