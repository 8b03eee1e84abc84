#!/bin/sh
# Measures the first paint of the console, and the time until the map is complete after a pan or zoom, in a real browser
# with many sales. Usage: benches/load/console.sh [SALES], the number of sales to generate (default 5000000). Further
# arguments go to console.py (--moves N, --json). TOISE names an executable; without it a release is built.
set -eu
here=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd)
. "$here/../support/setup.sh"
size_or 5000000 "$@"
shift "$taken"
chromium=$(command -v chromium || command -v chromium-browser || command -v google-chrome || true)
[ -n "$chromium" ] || skip "no Chromium here"
need_python "${TOISE_VENV:-$target/console-venv}" playwright 'playwright>=1.50,<2'
need_toise
need_sales "$size"
exec "$python" "$here/console.py" --chromium "$chromium" --toise "$TOISE" --data "$data" --sales "$size" "$@"
