# shellcheck shell=sh
# Sourced by the scripts under benches, which set `here`. Sets the folders `root` and `target`, and has functions that
# check or create the programs and data that the scripts need.
root=$(CDPATH= cd -- "$here/../.." && pwd)
target=${CARGO_TARGET_DIR:-$root/target}

skip() { echo "skipped: $1" >&2; exit 0; }

# Usage: size_or DEFAULT "$@"; shift "$taken". Sets `size`: the first argument if that is a number, else DEFAULT.
size_or() {
    size=$1 taken=0
    case "${2:-}" in
        [0-9]*) size=$2 taken=1 ;;
    esac
}

# Usage: need_toise [FLAGS...]. Sets TOISE, which may name an executable; without it a release is built.
need_toise() {
    if [ -z "${TOISE:-}" ]; then
        (cd "$root" && cargo build --release --quiet "$@")
        TOISE=$target/release/toise
    fi
}

# Usage: need_python VENV IMPORTS PACKAGES... Sets `python`: that of a virtual environment with packages. Creates it if
# missing.
need_python() {
    venv=$1 imports=$2
    shift 2
    python=$venv/bin/python
    if ! "$python" -c "import $imports" 2>/dev/null; then
        if ! python3 -m venv "$venv" || ! "$venv/bin/pip" install --quiet --disable-pip-version-check "$@"; then
            skip "$* cannot be installed here (needs python3 with venv, and PyPI)"
        fi
    fi
}

# Usage: need_sales COUNT. Sets `data`, a folder with this number of sales. Made if missing. Call need_toise first.
need_sales() {
    data=$target/versus/sales-$1
    [ -f "$data/lake/_dvf/snapshot.json" ] || "$TOISE" --data "$data" synth --lake --dvf "$1"
}

# Usage: need_postgis. Sets `bin`, the folder with PostgreSQL's programs.
need_postgis() {
    bin=$(pg_config --bindir 2>/dev/null || ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V | tail -1)
    [ -x "$bin/initdb" ] || skip "no PostgreSQL here (Debian: apt install postgresql postgresql-15-postgis-3)"
    ls "$("$bin/pg_config" --sharedir)/extension/postgis.control" >/dev/null 2>&1 || skip "PostGIS is not installed here"
}
