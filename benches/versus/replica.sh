#!/bin/sh
# How long a replica takes from an empty disk to its first answer, beside a bare download of the same objects, from an S3
# server on loopback (moto). Usage: benches/versus/replica.sh [SALES]; SALES are made (default 5000000). Further arguments
# go to replica.py (--rounds N, --json). TOISE names an executable; without it a release is built.
set -eu
here=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd)
root=$(CDPATH= cd -- "$here/../.." && pwd)
target=${CARGO_TARGET_DIR:-$root/target}
sales=5000000
case "${1:-}" in
    [0-9]*) sales=$1; shift ;;
esac

skip() { echo "skipped: $1" >&2; exit 0; }
command -v curl >/dev/null || skip "no curl here"
venv=${MOTO_VENV:-$target/moto-venv}
if ! "$venv/bin/python" -c 'import boto3, moto.server' 2>/dev/null; then
    if ! python3 -m venv "$venv" || ! "$venv/bin/pip" install --quiet --disable-pip-version-check boto3 'moto[server]'; then
        skip "moto and boto3 cannot be installed here (needs python3 with venv, and PyPI)"
    fi
fi
if [ -z "${TOISE:-}" ]; then
    (cd "$root" && cargo build --release --quiet)
    TOISE=$target/release/toise
fi
exec "$venv/bin/python" "$here/replica.py" --toise "$TOISE" --data "$target/versus/sales-$sales" --sales "$sales" "$@"
