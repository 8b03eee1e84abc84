# shellcheck shell=sh
# Sourced by tests that need programs which may not be installed.

# Usage: skip_part REASON: reports that a part of the test is skipped. Fails if TOISE_REQUIRE=all. The line goes to the end
# of the file named by TOISE_SKIPPED as well, which .ci/run reads.
skip_part() {
    echo "skipped: $1"
    [ -z "${TOISE_SKIPPED:-}" ] || echo "skipped: $1" >> "$TOISE_SKIPPED"
    if [ "${TOISE_REQUIRE:-}" = all ]; then
        echo "TOISE_REQUIRE=all, but a test was skipped" >&2
        exit 1
    fi
}

# Usage: skip REASON: reports that the test is skipped, and ends it. Fails if TOISE_REQUIRE=all.
skip() {
    skip_part "$1"
    exit 0
}
