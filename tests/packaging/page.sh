# shellcheck shell=sh
# Sourced by tests that need a release page on this machine, laid out as on GitHub.

# Usage: lay_out_page RELEASE VERSION PAGE: PAGE shows the files of RELEASE as this version, which is the latest.
lay_out_page() {
    mkdir -p "$3/latest" "$3/download"
    ln -s "$1" "$3/latest/download"
    ln -s "$1" "$3/download/v$2"
}

# Usage: serve_page PAGE: serves it on a free port until `end_page`. Sets `page_address`.
serve_page() {
    python3 -u -m http.server 0 --bind 127.0.0.1 --directory "$1" > "$1/port" 2> "$1/log" &
    page_server=$!
    waited=0
    while ! grep -q port "$1/port"; do
        waited=$((waited + 1))
        [ "$waited" -lt 100 ] || { echo 'the release page cannot be served'; exit 1; }
        sleep 0.1
    done
    # shellcheck disable=SC2034 # Scripts that source this use it.
    page_address=http://127.0.0.1:$(sed -n 's/.* port \([0-9]*\) .*/\1/p' "$1/port")
}

end_page() {
    [ -z "${page_server:-}" ] || kill "$page_server" 2>/dev/null || true
}
