# shellcheck shell=sh
# Sourced by scripts that use a running demo, which ends with the script.

# Usage: start_demo TOISE ARGUMENTS...: starts a demo and waits until it is ready. Sets `data`, a folder with `log.txt`
# that is removed at the end, and `server`, its process.
start_demo() {
    toise=$1
    shift
    data=$(mktemp -d)
    RUST_LOG=error "$toise" --data "$data" --json demo --listen 127.0.0.1:0 "$@" > "$data/ready.json" 2> "$data/log.txt" &
    server=$!
    trap 'kill "$server" 2>/dev/null; wait "$server" 2>/dev/null; rm -rf "$data"' EXIT
    waited=0
    while [ ! -s "$data/ready.json" ]; do
        kill -0 "$server" || { cat "$data/log.txt"; echo "the demo ended before it was ready"; exit 1; }
        waited=$((waited + 1))
        [ "$waited" -lt 6000 ] || { echo "the demo is not ready after 10 minutes"; exit 1; }
        sleep 0.1
    done
}

# Usage: ready FIELD: a value that the demo printed at its start, such as address, key, admin_key.
ready() { python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))[sys.argv[2]])' "$data/ready.json" "$1"; }

# Usage: train_on_little: trains the model on few sales, because an unoptimised build takes minutes for all of them.
train_on_little() {
    "$toise" --data "$data" train --until 2021-01-31 > "$data/trained.txt"
    # The server looks for another model every second.
    sleep 3
}

# Usage: allow_rate RATE: sets the rate of both keys, because with the default most of the time would be waiting.
allow_rate() {
    for key in key admin_key; do
        "$toise" --data "$data" keys set-limit "$(ready $key)" --rate "$1" > "$data/limit.txt"
    done
}
