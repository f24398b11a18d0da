#!/usr/bin/env bash
# Runs a command as one line, what it does and how long it took: scripts/step.sh WHAT COMMAND...
# What the command prints is shown where it fails.
set -uo pipefail
what=$1
shift
log=$(mktemp)
trap 'rm -f "$log"' EXIT
printf '%s ... ' "$what"
if "$@" > "$log" 2>&1 < /dev/null; then
    echo "$SECONDS s"
else
    status=$?
    echo "failed after $SECONDS s"
    cat "$log"
    exit "$status"
fi
