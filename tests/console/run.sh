#!/bin/sh
# Drives the console in a real browser. Usage: tests/console/run.sh TOISE [FOLDER_FOR_SCREENSHOTS]
# TOISE is the executable. If Chromium or Playwright for Python is missing, the test reports it and is skipped.
set -eu
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
toise=$1
. "$here/../support/skip.sh"
venv=${TOISE_VENV:-${XDG_CACHE_HOME:-$HOME/.cache}/toise-console}
chromium=$(command -v chromium || command -v chromium-browser || command -v google-chrome || true)
[ -n "$chromium" ] || skip "the test of the console needs Chromium"
if ! "$venv/bin/python" -c 'import playwright' 2>/dev/null; then
    if ! python3 -m venv "$venv" || ! "$venv/bin/pip" install --quiet --disable-pip-version-check 'playwright>=1.50,<2'; then
        skip "the test of the console needs Playwright for Python (python3 with venv, and PyPI)"
    fi
fi
# axe-core, for the check of accessibility.
axe=axe-core-4.14.1
if [ ! -s "$venv/$axe.js" ] && command -v npm > /dev/null; then
    packed=$(mktemp -d)
    if (cd "$packed" && npm pack --silent "axe-core@${axe#axe-core-}" > /dev/null && tar -xzf "$axe.tgz" package/axe.min.js); then
        mv "$packed/package/axe.min.js" "$venv/$axe.js"
    fi
    rm -rf "$packed"
fi
if [ -s "$venv/$axe.js" ]; then
    export TOISE_AXE="$venv/$axe.js"
else
    skip_part "the check of the console's accessibility needs axe-core from npm"
fi
. "$here/../support/demo.sh"
start_demo "$toise" --small --allow-webhook-hosts 127.0.0.1
"$venv/bin/python" "$here/drive.py" "$chromium" "$data/ready.json" ${2:+"$2"}
