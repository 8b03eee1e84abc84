#!/bin/sh
# Compares the benches of two builds. Usage: benches/compare.sh BASE_DIR [NEW_DIR] [OPTIONS]
# Each folder holds bench executables by their names (search_sales, match_bulk, ...); without NEW_DIR the benches of this
# checkout are built. `benches/compare.sh --keep DIR` only builds them and keeps them in DIR, for a comparison later.
# `benches/compare.sh --help` lists the options; needs python3.
set -eu
here=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd)
exec python3 "$here/compare.py" "$@"
