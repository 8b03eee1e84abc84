#!/bin/sh
# Reads narrow rows of sales by SQL over HTTP, by Flight SQL, and with DuckDB from the same Parquet files, and watches the
# memory of the server; then times a modest client alone and beside heavy queries. Usage: benches/versus/sql.sh [ROWS] [--limit N]
# ROWS sales are made (default 5000000). TOISE names an executable; without it a release is built.
set -eu
here=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd)
root=$(CDPATH= cd -- "$here/../.." && pwd)
target=${CARGO_TARGET_DIR:-$root/target}
rows=5000000
case "${1:-}" in
    [0-9]*) rows=$1; shift ;;
esac
skip() { echo "skipped: $1" >&2; exit 0; }
venv=${SQL_VENV:-$target/versus-sql-venv}
if ! "$venv/bin/python" -c 'import duckdb, pyarrow, requests, adbc_driver_flightsql' 2>/dev/null; then
    if ! python3 -m venv "$venv" || ! "$venv/bin/pip" install --quiet --disable-pip-version-check duckdb pyarrow requests \
        adbc-driver-flightsql; then
        skip "DuckDB and ADBC cannot be installed here (needs python3 with venv, and PyPI)"
    fi
fi
if [ -z "${TOISE:-}" ]; then
    (cd "$root" && cargo build --release --quiet)
    TOISE=$target/release/toise
fi
data=$target/versus/sales-$rows
[ -f "$data/lake/_dvf/snapshot.json" ] || "$TOISE" --data "$data" synth --lake --dvf "$rows"
new_key() { "$TOISE" --data "$data" --json keys create "$@" | "$venv/bin/python" -c 'import json, sys; print(json.load(sys.stdin)["key"])'; }
key=$(new_key --scopes sql)
modest=$(new_key --rate 1000)
ready=$(mktemp)
"$TOISE" --data "$data" --json serve --listen 127.0.0.1:0 --set flight.listen=127.0.0.1:0 > "$ready" 2>/dev/null &
server=$!
trap 'kill $server; rm -f "$ready"' EXIT
while [ ! -s "$ready" ]; do sleep 0.1; done
address() { "$venv/bin/python" -c 'import json, sys; print(json.load(open(sys.argv[1]))[sys.argv[2]])' "$ready" "$1"; }
"$venv/bin/python" "$here/sql.py" --http "$(address address)" --flight "$(address flight)" --key "$key" \
    --modest-key "$modest" --data "$data" --pid "$server" "$@"
