"""The P4 data plane: its programs compiled, run packet by packet on BMv2, and measured for Tofino.

The compiler and the switch are other people's programs and not part of pifolab: `pifolab.p4.tools` finds them.
"""
