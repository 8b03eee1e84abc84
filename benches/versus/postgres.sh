#!/bin/sh
# Compares toise with PostgreSQL and PostGIS on fourteen queries of the same properties.
# Usage: benches/versus/postgres.sh [PROPERTIES]   (default 2000000; takes about 25 GB of disk at that size)
# Further arguments go to postgres.py (--rounds N, --json FILE, ...). PostgreSQL runs on loopback while the script runs.
set -eu
here=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd)
. "$here/../support/setup.sh"
size_or 2000000 "$@"
shift "$taken"
need_postgis
need_python "$target/versus-venv" 'duckdb, psycopg' duckdb 'psycopg[binary]'
need_toise
exec "$python" "$here/postgres.py" --toise "$TOISE" --data "$target/versus/listings-$size" \
    --postgres "$target/versus/postgres-$size" --bin "$bin" --properties "$size" "$@"
