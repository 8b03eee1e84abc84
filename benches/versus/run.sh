#!/bin/sh
# Asks toise and DuckDB the same twelve questions about the same Parquet files. Usage: benches/versus/run.sh [ROWS]
# ROWS sales and as many diagnostics (default 5000000). Further arguments go to run.py (--rounds N, --json FILE, ...).
set -eu
here=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd)
root=$(CDPATH= cd -- "$here/../.." && pwd)
target=${CARGO_TARGET_DIR:-$root/target}
rows=5000000
case "${1:-}" in
    [0-9]*) rows=$1; shift ;;
esac

venv=$target/versus-venv
if ! "$venv/bin/python" -c 'import duckdb' 2>/dev/null; then
    if ! python3 -m venv "$venv" || ! "$venv/bin/pip" install --quiet --disable-pip-version-check duckdb; then
        echo "skipped: DuckDB cannot be installed here (needs python3 with venv, and PyPI)" >&2
        exit 0
    fi
fi
(cd "$root" && cargo build --release --quiet)
exec "$venv/bin/python" "$here/run.py" --toise "$target/release/toise" --data "$target/versus/lake-$rows" --rows "$rows" "$@"
