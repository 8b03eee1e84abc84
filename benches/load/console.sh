#!/bin/sh
# First paint of the console, and how soon the map is whole after a pan or zoom, in a real browser over many sales. Usage:
# benches/load/console.sh [SALES]; SALES are made (default 5000000). Further arguments go to console.py (--moves N, --json).
# TOISE names an executable; without it a release is built.
set -eu
here=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd)
root=$(CDPATH= cd -- "$here/../.." && pwd)
target=${CARGO_TARGET_DIR:-$root/target}
sales=5000000
case "${1:-}" in
    [0-9]*) sales=$1; shift ;;
esac

skip() { echo "skipped: $1" >&2; exit 0; }
chromium=$(command -v chromium || command -v chromium-browser || command -v google-chrome || true)
[ -n "$chromium" ] || skip "no Chromium here"
venv=${TOISE_VENV:-$target/console-venv}
if ! "$venv/bin/python" -c 'import playwright' 2>/dev/null; then
    if ! python3 -m venv "$venv" || ! "$venv/bin/pip" install --quiet --disable-pip-version-check 'playwright>=1.50,<2'; then
        skip "Playwright for Python cannot be installed here (needs python3 with venv, and PyPI)"
    fi
fi
if [ -z "${TOISE:-}" ]; then
    (cd "$root" && cargo build --release --quiet)
    TOISE=$target/release/toise
fi
data=$target/versus/sales-$sales
[ -f "$data/lake/_dvf/snapshot.json" ] || "$TOISE" --data "$data" synth --lake --dvf "$sales"
exec "$venv/bin/python" "$here/console.py" --chromium "$chromium" --toise "$TOISE" --data "$data" --sales "$sales" "$@"
