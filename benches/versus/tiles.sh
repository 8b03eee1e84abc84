#!/bin/sh
# Compares toise with PostgreSQL and PostGIS on the same vector tiles of the same sales. Usage: benches/versus/tiles.sh
# [SALES], the number of sales to generate (default 5000000). Further arguments go to tiles.py (--tiles N, --json FILE).
# TOISE names an executable; without it a release is built. PostgreSQL runs on loopback while the script runs. Its tiles
# are served over HTTP by MARTIN, or by martin on the path (cargo install martin). Without either, they are read over
# PostgreSQL's protocol, which is faster.
set -eu
here=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd)
. "$here/../support/setup.sh"
size_or 5000000 "$@"
shift "$taken"
need_postgis
need_python "$target/versus-venv" 'duckdb, psycopg' duckdb 'psycopg[binary]'
need_toise
martin=${MARTIN:-$(command -v martin || true)}
exec "$python" "$here/tiles.py" --toise "$TOISE" --data "$target/versus/sales-$size" --sales "$size" \
    --postgres "$target/versus/postgres-sales-$size" --bin "$bin" ${martin:+--martin "$martin"} "$@"
