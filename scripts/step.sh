#!/usr/bin/env bash
# Runs a command as one line, what it does and how long it took: scripts/step.sh WHAT COMMAND...
# What the command prints is shown where it fails. With STEP_WHOLE, for steps side by side, the line is printed at the end.
set -uo pipefail
what=$1
shift
log=$(mktemp)
trap 'rm -f "$log"' EXIT
start="$what ... "
[ -n "${STEP_WHOLE:-}" ] || { printf '%s' "$start" && start=; }
if "$@" > "$log" 2>&1 < /dev/null; then
    echo "$start$SECONDS s"
else
    status=$?
    echo "${start}failed after $SECONDS s"
    cat "$log"
    exit "$status"
fi
