#!/bin/sh
# Compares the benches of two builds. Usage: benches/compare.sh BASE_DIR [NEW_DIR] [OPTIONS]
# Each folder contains bench executables under their names (search_sales, match_bulk, ...). Without NEW_DIR, the benches
# of this checkout are built. `benches/compare.sh --keep DIR` only builds them and copies them to DIR, for a later
# comparison.
# `benches/compare.sh --help` lists the options; needs python3.
set -eu
here=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd)
exec python3 "$here/compare.py" "$@"
