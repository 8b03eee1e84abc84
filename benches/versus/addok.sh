#!/bin/sh
# Compares toise with addok on the same addresses: forward, while typing, by position, over HTTP, from a file; and their
# share of right results. Usage: benches/versus/addok.sh DATA [--leave-out CODES] [...]
# DATA is a data folder after `toise import ban`. Further arguments go to geocoders.py (--rounds N, --json FILE). TOISE and
# TOISE_LAB may name executables. redis-server (Debian's package, or REDIS_SERVER) and addok (PyPI) run on loopback while
# the script runs. wrk (Debian's package) sends the requests over HTTP.
set -eu
here=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd)
. "$here/../support/setup.sh"
[ $# -ge 1 ] || { sed -n '2,6s/^# //p' "$0" >&2; exit 2; }
data=$1
shift
[ -f "$data/lake/_ban/snapshot.json" ] || skip "$data has no addresses (toise import ban FILE... --data $data)"
redis=${REDIS_SERVER:-$(command -v redis-server || true)}
[ -x "$redis" ] || skip "no redis-server here (Debian: apt install redis-server)"
command -v wrk > /dev/null || skip "no wrk here (Debian: apt install wrk)"
need_python "${ADDOK_VENV:-$target/versus-addok-venv}" 'addok, addok_fr, addok_france, addok_csv, duckdb, gunicorn' \
    addok==1.3.2 addok-fr==1.1.0 addok-france==1.2.0 addok-csv==1.1.0 gunicorn duckdb
need_toise -p toise -p toise-lab --bins
lab=${TOISE_LAB:-$(dirname -- "$TOISE")/toise-lab}
exec "$python" "$here/geocoders.py" --toise "$TOISE" --toise-lab "$lab" --data "$data" --redis "$redis" --work "$target/versus/addok" "$@"
