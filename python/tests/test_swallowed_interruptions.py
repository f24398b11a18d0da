"""Ctrl-C where compiled code of a library calls Python, and ignores the exception or raises another one."""

from __future__ import annotations

import subprocess
import sys

import pytest
from waiting import HANGS_S

#: Each presses Ctrl-C in the middle of a command.
SWALLOWED = {
    "another exception stands in its place": """
    try:
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(60)
    except KeyboardInterrupt:
        raise TypeError("not a data type") from None
""",
    "it is ignored": """
    class Presses:
        def __del__(self):
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(60)
    Presses()
    while True:
        time.sleep(0.01)
""",
}


@pytest.mark.parametrize("swallowed", SWALLOWED)
def test_ctrl_c_that_a_library_swallows_is_one_line(swallowed: str):
    code = (
        "import os, signal, sys, time\nimport pifolab.info\nfrom pifolab.cli import main\n"
        f"def presses():{SWALLOWED[swallowed]}\n"
        "pifolab.info.schedulers = presses\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "sys.exit(main(['list', 'schedulers']))\n"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=HANGS_S, check=False)
    assert (ended.returncode, ended.stdout, ended.stderr) == (130, "", "pifolab: interrupted\n")
