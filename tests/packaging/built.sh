#!/bin/sh
# Installs files of a release on this machine, and runs `toise demo --small` from each.
# Usage: tests/packaging/built.sh DIST WAY...
# DIST holds the files that the release workflow has built; a WAY is archive, wheel, deb (as root) or brew. Needs curl, and
# a network for what the packages depend on.
set -eu
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
root=$(CDPATH='' cd -- "$here/../.." && pwd)
dist=$(CDPATH='' cd -- "$1" && pwd)
shift
cd "$root"
. tests/support/demo.sh
. tests/packaging/page.sh

work=$(mktemp -d)
trap 'end_page; rm -rf "$work"' EXIT
processor=$(uname -m)
version=$(sed -n '/^\[workspace.package\]/,/^$/s/^version = "\(.*\)"$/\1/p' Cargo.toml)

# Usage: try TOISE: runs its demo, and asks it.
try() (
    start_demo "$1" --small
    curl -fsS "$(ready address)/healthz" > /dev/null
    # shellcheck disable=SC2154 # start_demo sets them.
    "$toise" --data "$data" doctor
    echo "$1: the demo answers"
)

# The archives of this processor, by install.sh.
archive() {
    for c_library in gnu musl; do
        target=$processor-unknown-linux-$c_library
        [ -e "$dist/toise-$version-$target.tar.gz" ] || continue
        TOISE_TARGET=$target TOISE_PREFIX=$work/$c_library sh "$dist/install.sh"
        try "$work/$c_library/bin/toise"
    done
}

wheel() {
    wheel=$(find "$dist" -name "toise-*-manylinux*_$processor.whl")
    python3 -m venv "$work/venv"
    "$work/venv/bin/pip" install --quiet "$wheel"
    "$work/venv/bin/python" -c 'import toise; print(toise.__version__, toise.executable.path())'
    try "$work/venv/bin/toise"
    uvx --from "$wheel" toise version
}

deb() {
    apt-get install --yes --quiet "$dist"/toise_*_"$(dpkg --print-architecture)".deb
    try /usr/bin/toise
    [ "$(stat -c %U /var/lib/toise)" = toise ]
}

brew() {
    command brew tap-new --no-git toise/built
    cp "$dist/toise.rb" "$(command brew --repository toise/built)/Formula/"
    command brew install toise/built/toise
    try "$(command brew --prefix)/bin/toise"
}

lay_out_page "$dist" "$version" "$work/page"
serve_page "$work/page"
# shellcheck disable=SC2154 # serve_page sets it.
python3 packaging/release_files.py "v$version" "$page_address" "$dist"
for way in "$@"; do
    echo "== $way"
    case $way in
    archive | wheel | deb | brew) "$way" ;;
    *) echo "no such way: $way"; exit 1 ;;
    esac
done
