#!/bin/sh
# Sends generated requests to a running demo and looks for answers that are none of a sound service. Usage:
# tests/flood/run.sh TOISE [REQUESTS] [SEED]
# TOISE is the executable, REQUESTS how many (default 20000; a million takes a quarter of an hour with a release).
set -eu
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
toise=$1
data=$(mktemp -d)
RUST_LOG=error "$toise" --data "$data" --json demo --small --set collect.wait_s=0 --listen 127.0.0.1:0 > "$data/ready.json" 2> "$data/log.txt" &
server=$!
trap 'kill "$server" 2>/dev/null; wait "$server" 2>/dev/null; rm -rf "$data"' EXIT
waited=0
while [ ! -s "$data/ready.json" ]; do
    kill -0 "$server" || { cat "$data/log.txt"; exit 1; }
    waited=$((waited + 1))
    [ "$waited" -lt 1800 ] || { echo "the demo is not ready after 3 minutes"; exit 1; }
    sleep 0.1
done
# The rates of the demo's keys would make most of the time waiting.
for key in key admin_key; do
    "$toise" --data "$data" keys set-limit "$(python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))[sys.argv[2]])' "$data/ready.json" $key)" \
        --rate 100000 > "$data/limit.txt"
done
status=0
python3 "$here/flood.py" "$data/ready.json" --pid "$server" --requests "${2:-20000}" --seed "${3:-1}" || status=$?
if [ "$status" != 0 ]; then
    tail -20 "$data/log.txt"
fi
exit "$status"
