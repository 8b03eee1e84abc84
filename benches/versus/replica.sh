#!/bin/sh
# Times a replica from its start with an empty disk to its first response, and a plain download of the same objects,
# from an S3 server on loopback (moto). Usage: benches/versus/replica.sh [SALES], the number of sales to generate (default
# 5000000). Further arguments go to replica.py (--rounds N, --json). TOISE names an executable; without it a release is
# built.
set -eu
here=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd)
. "$here/../support/setup.sh"
size_or 5000000 "$@"
shift "$taken"
command -v curl >/dev/null || skip "no curl here"
need_python "${MOTO_VENV:-$target/moto-venv}" 'boto3, moto.server' boto3 'moto[server]'
need_toise
exec "$python" "$here/replica.py" --toise "$TOISE" --data "$target/versus/sales-$size" --sales "$size" "$@"
