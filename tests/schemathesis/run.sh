#!/bin/sh
# Tests a running demo against its own OpenAPI document: schemathesis draws requests from it, and its examples are sent
# again. Usage: tests/schemathesis/run.sh TOISE [EXAMPLES]
# TOISE is the executable, EXAMPLES the number of requests per operation (default 25).
set -eu
here=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd)
toise=$1
examples=${2:-25}
. "$here/../support/skip.sh"
venv=${TOISE_VENV:-${XDG_CACHE_HOME:-$HOME/.cache}/toise-schemathesis}

if ! "$venv/bin/python" -c 'import schemathesis' 2>/dev/null; then
    if ! python3 -m venv "$venv" 2>/dev/null ||
        ! "$venv/bin/pip" install --quiet --disable-pip-version-check 'schemathesis>=4,<5' 2>/dev/null; then
        skip "schemathesis cannot be installed here (needs python3 with venv, and PyPI)"
    fi
fi

# Few adverts: an unoptimised build generates only a hundred a second.
# URLs drawn from the document have hosts that do not exist: a call for one gets a 202 after a second.
# The public isochrone service would not be reached everywhere, and answers of 503 are what this looks for.
. "$here/../support/demo.sh"
start_demo "$toise" --adverts 300 --no-model --set collect.wait_s=1 \
    --set geocoding.isochrones=
address=$(ready address)

"$venv/bin/python" "$here/examples.py" "$address" "$(ready key)"
train_on_little
allow_rate 1000
cd "$data"
# Usage: conform KEY CHECKS ARGUMENTS...: draws requests from the document for a key, without some checks.
conform() {
    key=$1
    left_out=$2
    shift 2
    "$venv/bin/schemathesis" run "$address/openapi.json" "$@" \
        --header "x-api-key: $key" --rate-limit 500/s --max-examples "$examples" --generation-deterministic --no-color \
        --exclude-checks "$left_out" --report-dir "$data"
}
# A valid request may still be refused: a cursor must come from the service, and a minimum must not exceed its maximum.
# The document cannot express either, so that check is left out.
# nulls.py replaces negative_data_rejection: it checks that everything the document forbids is rejected.
left_out=positive_data_acceptance,negative_data_rejection
export SCHEMATHESIS_HOOKS=nulls PYTHONPATH="$here"
# Operators' paths come last, with their own key, because their requests may revoke the key of the demo.
conform "$(ready key)" "$left_out" --exclude-path-regex '^/v2/protected/admin/[^c]|^/metrics$|/alerts/many$|/lite/_many$|^/geocoding/batch$'
# In a batch of alerts, homes, adverts or addresses, each item is accepted or refused separately, in a response with status 200.
conform "$(ready key)" "$left_out,forbidden_data_rejection" --include-path-regex '/alerts/many$|/lite/_many$|^/geocoding/batch$'
conform "$(ready admin_key)" "$left_out,forbidden_data_rejection" --include-path /v2/protected/admin/adverts
conform "$(ready admin_key)" "$left_out" --include-path-regex '^/v2/protected/admin/([^ac]|accounts|alerts)'
