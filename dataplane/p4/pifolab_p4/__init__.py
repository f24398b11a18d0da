"""The P4 data plane: its programs compiled, run packet by packet on BMv2, and measured for Tofino.

The compiler and the switch are programs of others and not part of pifolab: `pifolab_p4.tools` finds them. The package
lies beside the P4 programs, in the source tree alone: `pifolab dataplane p4`, `pifolab conformance --through p4` and
`pifolab dataplane testbed --data-plane p4` load it from there.
"""
