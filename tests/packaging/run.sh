#!/bin/sh
# Tests install.sh, the files of a release and the wheel against a release page on this machine, without a network.
# Usage: tests/packaging/run.sh TOISE
# TOISE is the executable. What needs programs that are not installed is skipped, and a line says so.
set -eu
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
root=$(CDPATH='' cd -- "$here/../.." && pwd)
toise=$(CDPATH='' cd -- "$(dirname -- "$1")" && pwd)/${1##*/}
cd "$root"
. tests/support/skip.sh
. tests/packaging/page.sh

work=$(mktemp -d)
trap 'end_page; rm -rf "$work"' EXIT
version=$("$toise" version --json | sed 's/.*"version":"\([^"]*\)".*/\1/')
target=x86_64-unknown-linux-gnu

check() {
    if ! "$@"; then
        echo "failed: $*"
        cat "$work/said" 2>/dev/null || true
        exit 1
    fi
}

# Usage: install NAME=VALUE...: runs install.sh with these variables only; sets `code`, and writes what it says to `said`.
install() {
    code=0
    env -i PATH="$PATH" HOME="$work/home" TOISE_TARGET="$target" "$@" sh "$script" > "$work/said" 2>&1 || code=$?
}

says() {
    grep -qF -- "$1" "$work/said"
}

echo 'a release is made'
release=$work/release
# Symbols would only take time to compress.
cp "$toise" "$work/toise"
strip "$work/toise" 2>/dev/null || true
GZIP_LEVEL=-1 packaging/archive.sh "$work/toise" "$version" "$target" "$release"
lay_out_page "$release" "$version" "$work/page"
serve_page "$work/page"
python3 "$root/packaging/release_files.py" "v$version" "$page_address" "$release"
script=$release/install.sh

echo 'install.sh installs from the page that it was released on'
install
check [ "$code" = 0 ]
check says "installed toise $version to $work/home/.local/bin/toise"
check says 'checksum: '
check says 'is not in PATH'
check [ "$("$work/home/.local/bin/toise" version)" = "toise $version" ]
check [ -s "$work/home/.local/share/man/man1/toise-serve.1" ]
check [ -s "$work/home/.local/share/bash-completion/completions/toise" ]

echo 'install.sh installs one version from a folder, over an older file'
script=$root/packaging/install.sh
mkdir -p "$work/there/bin"
echo old > "$work/there/bin/toise"
install TOISE_RELEASES="$work/page" TOISE_PREFIX="$work/there" TOISE_VERSION="$version" PATH="$work/there/bin:$PATH"
check [ "$code" = 0 ]
check says 'try it: toise demo'
check [ "$("$work/there/bin/toise" version)" = "toise $version" ]

echo 'install.sh refuses what it cannot verify, and says why'
install
check [ "$code" = 1 ]
check says 'set TOISE_RELEASES'
install TOISE_RELEASES="$work/page" TOISE_VERSION=9.9.9
check [ "$code" = 1 ]
check says 'v9.9.9/SHA256SUMS cannot be fetched'
install TOISE_RELEASES="$work/page" TOISE_TARGET=riscv64gc-unknown-linux-gnu
check [ "$code" = 1 ]
check says "no build for riscv64gc-unknown-linux-gnu; it has: $target"
install TOISE_RELEASES="$work/page" TOISE_PROVENANCE=require TOISE_PREFIX="$work/unproven"
check [ "$code" = 1 ]
check says 'the release page is not on GitHub'
check [ ! -e "$work/unproven" ]
sed -i 's/^[0-9a-f]\{64\}/0000000000000000000000000000000000000000000000000000000000000000/' "$release/SHA256SUMS"
install TOISE_RELEASES="$work/page" TOISE_PREFIX="$work/damaged"
check [ "$code" = 1 ]
check says 'instead of 0000'
check [ ! -e "$work/damaged" ]

echo 'the Homebrew formula names the archives of the release, and no others'
check grep -q "url \"$page_address/download/v$version/toise-$version-$target.tar.gz\"" "$release/toise.rb"
check grep -q "$(sha256sum "$release/toise-$version-$target.tar.gz" | cut -d ' ' -f 1)" "$release/toise.rb"
check [ "$(grep -c '^ *url ' "$release/toise.rb")" = 1 ]
check sh -c "! grep -q '@[A-Z]' '$release/toise.rb'"
if command -v ruby > /dev/null; then
    check ruby -c "$release/toise.rb" > /dev/null
fi

echo 'cargo binstall finds the archives under the names that they have'
check grep -qF 'toise-{ version }-{ target }.tar.gz' "$root/Cargo.toml"
check grep -qF 'bin-dir = "toise-{ version }-{ target }/{ bin }{ binary-ext }"' "$root/Cargo.toml"

if ! command -v shellcheck > /dev/null; then
    skip_part 'shellcheck is not installed, so the scripts of packaging are not checked'
else
    check shellcheck -x packaging/*.sh packaging/*cargo tests/packaging/*.sh
fi

if ! command -v maturin > /dev/null; then
    skip_part 'maturin is not installed, so no wheel is built'
else
    echo 'a wheel holds the executable that is already built'
    CARGO=$root/packaging/prebuilt-cargo TOISE_PREBUILT=$work/toise \
        maturin build --locked --offline --out "$work/wheels" > "$work/said" 2>&1 || check false
    python3 -m zipfile -e "$work"/wheels/toise-"$version"-*.whl "$work/wheel"
    check cmp "$work/wheel/toise-$version.data/scripts/toise" "$work/toise"
    check [ -e "$work/wheel/toise/py.typed" ]
fi
echo 'packaging: all is well'
