#!/bin/sh
# Asks toise and PostgreSQL with PostGIS the same twelve questions about the same properties.
# Usage: benches/versus/postgres.sh [PROPERTIES]   (default 2000000; takes about 25 GB of disk at that size)
# Further arguments go to postgres.py (--rounds N, --json FILE, ...). PostgreSQL runs on loopback for as long as the script.
set -eu
here=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd)
root=$(CDPATH= cd -- "$here/../.." && pwd)
target=${CARGO_TARGET_DIR:-$root/target}
properties=2000000
case "${1:-}" in
    [0-9]*) properties=$1; shift ;;
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
(cd "$root" && cargo build --release --quiet)
exec "$venv/bin/python" "$here/postgres.py" --toise "$target/release/toise" --data "$target/versus/listings-$properties" \
    --postgres "$target/versus/postgres-$properties" --bin "$bin" --properties "$properties" "$@"
