#!/bin/sh
# Holds a running demo to its own OpenAPI document: schemathesis draws requests from it, and the examples in it are
# asked again. Usage: tests/schemathesis/run.sh TOISE [EXAMPLES]
# TOISE is the executable, EXAMPLES how many requests are drawn per operation (default 25).
set -eu
here=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd)
toise=$1
examples=${2:-25}
venv=${TOISE_VENV:-${XDG_CACHE_HOME:-$HOME/.cache}/toise-schemathesis}

if ! "$venv/bin/python" -c 'import schemathesis' 2>/dev/null; then
    if ! python3 -m venv "$venv" 2>/dev/null ||
        ! "$venv/bin/pip" install --quiet --disable-pip-version-check 'schemathesis>=4,<5' 2>/dev/null; then
        echo "skipped: schemathesis cannot be installed here (needs python3 with venv, and PyPI)"
        exit 0
    fi
fi

data=$(mktemp -d)
# Few adverts: an unoptimised build makes no more than a hundred a second. The model learns from few sales, below.
# Pages drawn from the document are of hosts that are not there: a call for one is answered 202 after a second.
RUST_LOG=error "$toise" --data "$data" --json demo --adverts 300 --no-model --set collect.wait_s=1 --listen 127.0.0.1:0 > "$data/ready.json" &
server=$!
trap 'kill "$server" 2>/dev/null; wait "$server" 2>/dev/null; rm -rf "$data"' EXIT
waited=0
while [ ! -s "$data/ready.json" ]; do
    kill -0 "$server" || { echo "the demo ended before it was ready"; exit 1; }
    waited=$((waited + 1))
    [ "$waited" -lt 1800 ] || { echo "the demo is not ready after 3 minutes"; exit 1; }
    sleep 0.1
done
ready() { "$venv/bin/python" -c 'import json, sys; print(json.load(open(sys.argv[1]))[sys.argv[2]])' "$data/ready.json" "$1"; }
address=$(ready address)

"$venv/bin/python" "$here/examples.py" "$address" "$(ready key)"
"$toise" --data "$data" train --until 2021-01-31 > "$data/trained.txt"
# The server looks for another model every second.
sleep 3
# The rates of the demo's keys would make most of the time waiting.
for key in key admin_key; do
    "$toise" --data "$data" keys set-limit "$(ready $key)" --rate 1000 > "$data/limit.txt"
done
cd "$data"
# Usage: conform KEY CHECKS ARGUMENTS...: draws requests from the document under a key, leaving some checks out.
conform() {
    key=$1
    left_out=$2
    shift 2
    "$venv/bin/schemathesis" run "$address/openapi.json" "$@" \
        --header "x-api-key: $key" --rate-limit 500/s --max-examples "$examples" --generation-deterministic --no-color \
        --exclude-checks "$left_out" --report-dir "$data"
}
# A valid request may still be refused: a cursor must be one the service gave, a least value not above the greatest.
# The document cannot say either, so that one check is left out.
# That what the document forbids is rejected is checked by nulls.py in place of negative_data_rejection.
left_out=positive_data_acceptance,negative_data_rejection
export SCHEMATHESIS_HOOKS=nulls PYTHONPATH="$here"
# The operators' paths come last, under their key: what is drawn there may revoke the demo's.
conform "$(ready key)" "$left_out" --exclude-path-regex '^/v2/protected/admin/[^c]|^/metrics$|/alerts/many$|/lite/_many$'
# Of a batch of alerts, homes or adverts each is taken or refused by itself, in an answer with status 200.
conform "$(ready key)" "$left_out,forbidden_data_rejection" --include-path-regex '/alerts/many$|/lite/_many$'
conform "$(ready admin_key)" "$left_out,forbidden_data_rejection" --include-path /v2/protected/admin/adverts
conform "$(ready admin_key)" "$left_out" --include-path-regex '^/v2/protected/admin/([^ac]|accounts|alerts)'
