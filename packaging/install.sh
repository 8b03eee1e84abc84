#!/bin/sh
# Installs the toise executable, its manual pages and its completions for the current user.
#
#   curl -fsSL RELEASES/latest/download/install.sh | sh
#
# Variables:
#   TOISE_VERSION   version to install, such as 0.1.0 (default: the latest)
#   TOISE_PREFIX    where to: PREFIX/bin, PREFIX/share (default: ~/.local)
#   TOISE_RELEASES  the release page: an address, or a folder that is laid out like one
#   TOISE_TARGET    the build to install, such as x86_64-unknown-linux-musl (default: the one for this machine)
#   TOISE_PROVENANCE=require   stop unless the provenance can be verified, which needs the GitHub CLI (gh), logged in
#
# The checksum of what is downloaded must be the one in the release's SHA256SUMS, otherwise nothing is installed. The
# provenance is verified too if the release is on GitHub and `gh` is logged in.
set -eu

# A release writes its own page here (packaging/release_files.py).
RELEASES_OF_THIS_COPY='@RELEASES@'
# glibc that the builds for Linux with glibc need: that of Ubuntu 22.04 and Debian 12.
GLIBC_MINOR_MIN=35

say() {
    printf '%s\n' "$1" >&2
}

fail() {
    say "error: $1"
    exit 1
}

has() {
    command -v "$1" >/dev/null 2>&1
}

# fetch ADDRESS FILE
fetch() {
    case $1 in
    http://* | https://*)
        if has curl; then
            curl -fsSL --retry 3 --connect-timeout 20 -o "$2" "$1"
        elif has wget; then
            wget -q --tries=3 --timeout=20 -O "$2" "$1"
        else
            fail 'curl or wget is needed to download; install one of them'
        fi
        ;;
    *) cp -- "${1#file://}" "$2" ;;
    esac
}

# Prints the SHA-256 of a file.
sha256() {
    if has sha256sum; then
        sha256sum "$1" | cut -d ' ' -f 1
    elif has shasum; then
        shasum -a 256 "$1" | cut -d ' ' -f 1
    elif has openssl; then
        openssl dgst -sha256 -r "$1" | cut -d ' ' -f 1
    else
        fail 'sha256sum, shasum or openssl is needed to verify the download; install one of them'
    fi
}

# Prints the name of the C library of this Linux that a build needs: gnu or musl.
c_library() {
    # ldd of musl prints its version on standard error and fails.
    version=$(ldd --version 2>&1 | head -n 1 || true)
    minor=$(printf '%s' "$version" | sed -n 's/.*[^0-9]2\.\([0-9][0-9]*\)$/\1/p')
    if [ -n "$minor" ] && [ "$minor" -ge "$GLIBC_MINOR_MIN" ]; then
        echo gnu
    else
        echo musl
    fi
}

# Prints the build for this machine.
target() {
    system=$(uname -s)
    case $(uname -m) in
    x86_64 | amd64) processor=x86_64 ;;
    aarch64 | arm64) processor=aarch64 ;;
    *) fail "there is no build for the processor $(uname -m); build from source: cargo build --release" ;;
    esac
    case $system in
    Linux) echo "$processor-unknown-linux-$(c_library)" ;;
    Darwin) echo "$processor-apple-darwin" ;;
    *) fail "there is no build for $system; use the container image, or WSL on Windows" ;;
    esac
}

# verify_provenance FILE: with the GitHub CLI, if the release is on GitHub.
verify_provenance() {
    required=${TOISE_PROVENANCE:-}
    repository=$(printf '%s' "$releases" | sed -n 's|^https://github\.com/\([^/]*/[^/]*\)/releases$|\1|p')
    if [ -z "$repository" ]; then
        reason='the release page is not on GitHub'
    elif ! has gh; then
        reason='the GitHub CLI (gh) is not installed'
    elif ! gh auth status >/dev/null 2>&1; then
        reason='the GitHub CLI is not logged in (gh auth login)'
    elif gh attestation verify "$1" --repo "$repository" >/dev/null; then
        say "provenance: built by $repository"
        return
    else
        fail 'the provenance of the download is not that of the release; nothing was installed'
    fi
    [ "$required" != require ] || fail "the provenance cannot be verified: $reason; nothing was installed"
    say "provenance: not verified, $reason"
}

# install_file MODE FROM TO: in one step, also while the old file runs.
install_file() {
    mkdir -p "$(dirname "$3")"
    cp "$2" "$3.new"
    chmod "$1" "$3.new"
    mv -f "$3.new" "$3"
}

main() {
    releases=${TOISE_RELEASES:-$RELEASES_OF_THIS_COPY}
    case $releases in
    '' | @*) fail 'this copy of install.sh is from the source tree and knows no release page; set TOISE_RELEASES' ;;
    esac
    releases=${releases%/}
    prefix=${TOISE_PREFIX:-${HOME:?HOME is not set; set TOISE_PREFIX}/.local}
    target=${TOISE_TARGET:-$(target)}
    version=${TOISE_VERSION:-}
    page=$releases/latest/download
    [ -z "$version" ] || page=$releases/download/v${version#v}

    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
    trap 'exit 130' INT TERM
    fetch "$page/SHA256SUMS" "$work/SHA256SUMS" ||
        fail "$page/SHA256SUMS cannot be fetched; is there such a release, and is the network reachable?"
    line=$(grep -E "^[0-9a-f]{64}  toise-[^ /]*-$target\.tar\.gz\$" "$work/SHA256SUMS" | head -n 1 || true)
    if [ -z "$line" ]; then
        builds=$(sed -n 's/^[0-9a-f]\{64\}  toise-[0-9][^-]*-\(.*\)\.tar\.gz$/\1/p' "$work/SHA256SUMS" | tr '\n' ' ')
        fail "the release has no build for $target; it has: ${builds:-none}. TOISE_TARGET names another"
    fi
    expected=${line%% *}
    archive=${line##* }
    say "downloading $page/$archive"
    fetch "$page/$archive" "$work/$archive" || fail "$page/$archive cannot be fetched"
    found=$(sha256 "$work/$archive")
    [ "$found" = "$expected" ] ||
        fail "the checksum of $archive is $found instead of $expected; nothing was installed"
    say "checksum: $found, as in SHA256SUMS"
    verify_provenance "$work/$archive"

    tar -xzf "$work/$archive" -C "$work"
    unpacked=$work/${archive%.tar.gz}
    "$unpacked/toise" version >/dev/null ||
        fail "the build for $target does not run on this machine; TOISE_TARGET names another; nothing was installed"
    install_file 755 "$unpacked/toise" "$prefix/bin/toise"
    for page in "$unpacked"/man/*.1; do
        install_file 644 "$page" "$prefix/share/man/man1/${page##*/}"
    done
    install_file 644 "$unpacked/completions/toise.bash" "$prefix/share/bash-completion/completions/toise"
    install_file 644 "$unpacked/completions/_toise" "$prefix/share/zsh/site-functions/_toise"
    install_file 644 "$unpacked/completions/toise.fish" "$prefix/share/fish/vendor_completions.d/toise.fish"

    say "installed $("$prefix/bin/toise" version) to $prefix/bin/toise"
    case :${PATH:-}: in
    *":$prefix/bin:"*) say 'try it: toise demo' ;;
    *)
        say "$prefix/bin is not in PATH; add it: export PATH=\"$prefix/bin:\$PATH\""
        say "try it: $prefix/bin/toise demo"
        ;;
    esac
}

# Last, so that a copy of which only a part arrived does nothing.
main
