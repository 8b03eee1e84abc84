#!/bin/sh
# Runs every step of the pages docs/for-*.md, each page from nothing. Usage: tests/guides/run.sh TOISE [PAGE...]
# TOISE is the executable.
set -eu
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
root=$(CDPATH='' cd -- "$here/../.." && pwd)
toise=$1
shift
. "$here/../support/skip.sh"
command -v curl > /dev/null || skip "the steps of the guides need curl"
[ $# -gt 0 ] || set -- "$root"/docs/for-*.md
python3 "$here/steps.py" "$toise" "$@"
