"""The testbed's results: figures, tables and verdicts, beside the same experiment in the simulator.

The package lies beside the program of the Linux data plane, in the source tree alone: `pifolab dataplane testbed --out`
loads it from there.
"""
