#!/bin/sh
# Compares toise with DuckDB on twelve queries of the same Parquet files. Usage: benches/versus/run.sh [ROWS], the
# number of sales and of diagnostics (default 5000000). Further arguments go to run.py (--rounds N, --json FILE, ...).
set -eu
here=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd)
. "$here/../support/setup.sh"
size_or 5000000 "$@"
shift "$taken"
need_python "$target/versus-venv" duckdb duckdb
need_toise
exec "$python" "$here/run.py" --toise "$TOISE" --data "$target/versus/lake-$size" --rows "$size" "$@"
