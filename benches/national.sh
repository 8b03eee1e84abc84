#!/bin/sh
# Builds a country of invented data from files in the official formats, on one machine, and times everything on it.
# Usage: benches/national.sh [PERCENT [FOLDER]]: the share of the country's size (default 100), and where to put it.
# Needs python3. A tenth takes seven minutes and 11 GB of disk on two cores; the whole country was not run yet. An
# interrupted run continues where it stopped. At the end the data is deleted; --keep keeps it.
set -eu
here=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd)
. "$here/support/setup.sh"
size_or 100 "$@"
shift "$taken"
folder=$target/national-$size
case "${1:-}" in
    "" | -*) ;;
    *) folder=$1; shift ;;
esac
need_python "$target/versus-venv" duckdb duckdb
need_toise
exec "$python" "$here/national.py" --toise "$TOISE" --percent "$size" --folder "$folder" "$@"
