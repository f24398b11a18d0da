#!/usr/bin/env bash
# Tests the P4 programs with the compilers and the switch that this machine has; what it has not is skipped, and said in one
# line. With P in DATAPLANE_REQUIRE a skip is a failure. With the argument `say` only that line is said: `make test-all` has
# run what needs no tools.
set -euo pipefail
cd "$(dirname "$0")/.."
required=${DATAPLANE_REQUIRE:-}
python=.venv/bin/python

skip() { # what, reason
    if [[ $required == *P* ]]; then
        echo "P4: cannot test $1, and DATAPLANE_REQUIRE=$required asks for it: $2" >&2
        exit 1
    fi
    skipped+=("$1 ($2)")
}

missing() { # the tools that something needs, as pifolab_p4.tools names them: which of them is not there
    PYTHONPATH=dataplane/p4 $python - "$@" <<'EOF'
import sys
from pifolab.errors import InputError
from pifolab_p4 import tools
for name in sys.argv[1:]:
    try:
        getattr(tools, name).find()
    except InputError as error:
        sys.exit(print(error) or 1)
EOF
}

skipped=()
marks=(stored)
if reason=$(missing P4C BMV2); then
    marks+=(bmv2)
else
    skip "the programs on BMv2" "$reason"
fi
if reason=$(missing P4C_TOFINO); then
    marks+=(tofino)
else
    skip "the programs for Tofino" "$reason"
fi
if [ ${#skipped[@]} -gt 0 ]; then
    all=$(printf '; %s' "${skipped[@]}")
    echo "P4: skipped ${all:2}"
fi
if [ "${1:-}" = say ]; then
    exit 0
fi
PIFOLAB_P4_TESTS="${marks[*]}" $python -m pytest --numprocesses auto --maxprocesses 2 -m '' python/tests/test_p4*.py
