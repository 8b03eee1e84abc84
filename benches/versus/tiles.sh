#!/bin/sh
# Asks toise and PostgreSQL with PostGIS for the same vector tiles of the same sales. Usage: benches/versus/tiles.sh [SALES]
# SALES are made (default 5000000). Further arguments go to tiles.py (--tiles N, --json FILE, ...). TOISE names an executable;
# without it a release is built. PostgreSQL runs on loopback for as long as the script; MARTIN, or martin on the path (cargo
# install martin), serves its tiles over HTTP, otherwise its tiles are read over its own protocol, which is quicker.
set -eu
here=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd)
root=$(CDPATH= cd -- "$here/../.." && pwd)
target=${CARGO_TARGET_DIR:-$root/target}
sales=5000000
case "${1:-}" in
    [0-9]*) sales=$1; shift ;;
esac

skip() { echo "skipped: $1" >&2; exit 0; }
bin=$(pg_config --bindir 2>/dev/null || ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V | tail -1)
[ -x "$bin/initdb" ] || skip "no PostgreSQL here (Debian: apt install postgresql postgresql-15-postgis-3)"
ls "$("$bin/pg_config" --sharedir)/extension/postgis.control" >/dev/null 2>&1 || skip "PostGIS is not installed here"
venv=$target/versus-venv
if ! "$venv/bin/python" -c 'import duckdb, psycopg' 2>/dev/null; then
    if ! python3 -m venv "$venv" || ! "$venv/bin/pip" install --quiet --disable-pip-version-check duckdb 'psycopg[binary]'; then
        skip "duckdb and psycopg cannot be installed here (needs python3 with venv, and PyPI)"
    fi
fi
if [ -z "${TOISE:-}" ]; then
    (cd "$root" && cargo build --release --quiet)
    TOISE=$target/release/toise
fi
martin=${MARTIN:-$(command -v martin || true)}
exec "$venv/bin/python" "$here/tiles.py" --toise "$TOISE" --data "$target/versus/sales-$sales" --sales "$sales" \
    --postgres "$target/versus/postgres-sales-$sales" --bin "$bin" ${martin:+--martin "$martin"} "$@"
