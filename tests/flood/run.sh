#!/bin/sh
# Sends generated requests to a running demo and reports faulty responses. Usage:
# tests/flood/run.sh TOISE [REQUESTS] [SEED]
# TOISE is the executable, REQUESTS the number of requests (default 20000; a million took eight minutes with a release).
set -eu
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
toise=$1
. "$here/../support/demo.sh"
start_demo "$toise" --small --set collect.wait_s=0
allow_rate 100000
status=0
python3 "$here/flood.py" "$data/ready.json" --pid "$server" --requests "${2:-20000}" --seed "${3:-1}" || status=$?
if [ "$status" != 0 ]; then
    tail -20 "$data/log.txt"
fi
exit "$status"
