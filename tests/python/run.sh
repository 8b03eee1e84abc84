#!/bin/sh
# Tests the Python package and runs the notebooks, both against a fresh demo. Usage: tests/python/run.sh TOISE
# TOISE is the executable. Parts that cannot be installed here are skipped and reported.
set -eu
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
root=$(CDPATH='' cd -- "$here/../.." && pwd)
toise=$1
venv=${TOISE_VENV:-${XDG_CACHE_HOME:-$HOME/.cache}/toise-python}

cd "$root"
. tests/support/skip.sh
# The extras of the package name the dependencies of its tests. The package itself is used from the source tree, because
# installing it would build the executable again.
extra=$(sed -n '/^test = \[/,/^\]/p' pyproject.toml | sed -n 's/^ *"\(.*\)",$/\1/p')
wanted=$(printf '%s\n' 'httpx>=0.27,<1' "$extra")
if [ "$(cat "$venv/wanted" 2>/dev/null)" != "$wanted" ]; then
    if ! python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || ! python3 -m venv "$venv" ||
        ! printf '%s\n' "$wanted" | "$venv/bin/pip" install --quiet --disable-pip-version-check -r /dev/stdin; then
        skip "the packages that the tests of Python need cannot be installed here (needs Python 3.11 with venv, and PyPI)"
    fi
    printf '%s\n' "$wanted" > "$venv/wanted"
fi

data=$(mktemp -d)
trap 'rm -rf "$data"' EXIT
export PYTHONPATH="$root/src/python" PYTHONDONTWRITEBYTECODE=1
PATH="$venv/bin:$PATH" "$venv/bin/python" "$here/demo.py" "$toise" "$data/demo" sh -eu -c '
    . tests/support/skip.sh
    python -m pytest -rs tests/python
    if python -c "import nbclient, nbformat, ipykernel, matplotlib, duckdb" 2>/dev/null; then
        python tests/python/notebooks.py
    else
        skip_part "the notebooks need Jupyter, matplotlib and DuckDB"
    fi'
