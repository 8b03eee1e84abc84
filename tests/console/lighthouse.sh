#!/bin/sh
# Rates the screens of the console with Lighthouse: accessibility, best practices, first paint. Usage:
# tests/console/lighthouse.sh TOISE
# TOISE is a release executable. Needs node, npm and Chromium; Lighthouse is installed from the npm registry into
# TOISE_LIGHTHOUSE (default: the cache). Fails if a screen has less than 100 for accessibility or best practices.
set -eu
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
toise=$1
. "$here/../support/skip.sh"
work=${TOISE_LIGHTHOUSE:-${XDG_CACHE_HOME:-$HOME/.cache}/toise-lighthouse}
CHROME_PATH=$(command -v chromium || command -v chromium-browser || command -v google-chrome || true)
[ -n "$CHROME_PATH" ] || skip "Lighthouse needs Chromium"
export CHROME_PATH
command -v npm > /dev/null || skip "Lighthouse needs node and npm"
npm install --prefix "$work" --no-audit --no-fund --silent lighthouse@12 > /dev/null 2>&1 ||
    skip "Lighthouse cannot be installed here (needs the npm registry)"
. "$here/../support/demo.sh"
start_demo "$toise" --small

# Usage: rate SCREEN KEY: prints the ratings of a screen, as a key that the demo printed sees it.
rate() {
    cookie=$(curl -s -o /dev/null -D - "$(ready address)/console-session" -H 'content-type: application/json' \
        -d "{\"key\":\"$(ready "$2")\"}" | sed -n 's/^set-cookie: \(toise_session=[^;]*\).*/\1/p')
    "$work/node_modules/.bin/lighthouse" "$(ready address)/console/#/$1" --preset=desktop --quiet --output=json \
        --only-categories=accessibility,best-practices,performance --output-path="$data/$1.json" \
        --extra-headers "{\"Cookie\":\"$cookie\"}" --chrome-flags="--headless=new --no-sandbox --disable-gpu \
--disable-background-networking --disable-component-update --disable-sync --no-first-run"
    python3 - "$1" "$data/$1.json" <<'PY'
import json
import sys

report = json.load(open(sys.argv[2], encoding="utf-8"))
scores = {name: round(100 * report["categories"][name]["score"]) for name in ("accessibility", "best-practices")}
paint = report["audits"]["first-contentful-paint"]["displayValue"]
print(f"{sys.argv[1]}: accessibility {scores['accessibility']}, best practices {scores['best-practices']}, "
      f"first paint {paint}")
sys.exit(any(score < 100 for score in scores.values()))
PY
}

for screen in welcome map home portfolios alerts; do rate "$screen" key; done
rate query sql_key
for screen in operations pairs; do rate "$screen" admin_key; done
