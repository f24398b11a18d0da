"""The command `pifolab`.

Every command is one line of the table in `commands`: its name, what it does, and the function that declares its
arguments, among them `run`, the function that does the work and returns the exit status. An error of the user is one
line on standard error and exit status 2; no input ends in a traceback.
"""

from __future__ import annotations

import errno
import os
import sys
import traceback
import warnings
from collections.abc import Sequence
from pathlib import Path

from pifolab.cli.output import harmless_output, open_streams
from pifolab.cli.signals import INTERRUPTED, TERMINATED, TerminatedError, interruptions, terminable
from pifolab.errors import InternalError, PifolabError, shortened
from pifolab.interruption import leave_in_order
from pifolab.text import shown

__all__ = ["main"]

USAGE_ERROR = 2
INTERNAL_ERROR = 70

_LINE_ENDS = "\n"

#: How libraries and the loader of shared objects say that memory is refused.
_NO_MEMORY = (
    "failed to map segment",
    "Cannot allocate memory",
    "cannot allocate memory",
    "can't start new thread",
    "failed to spawn thread",
)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line `argv` (default: that of the process) and return the exit status."""
    if not sys.warnoptions:
        # Warnings of libraries, such as about a letter that a font lacks, do not concern the user.
        warnings.filterwarnings("ignore", module=r"(numpy|polars|matplotlib|pifolab|pifolab_papers)(\.|$)")
    pressed: list[bool] = []
    open_streams()
    try:
        with terminable(), interruptions() as pressed, harmless_output() as output:
            # Here, so that Ctrl-C is one line also while modules are loaded.
            from pifolab.cli.commands import complete_parser

            parser = complete_parser()
            arguments = parser.parse(sys.argv[1:] if argv is None else list(argv))
            output.quiet = getattr(arguments, "quiet", False) or getattr(arguments, "json", False)
            status = arguments.run(arguments)
            sys.stdout.flush()
            return int(status)
    except InternalError as error:
        if _lacks_memory(error):
            return _say_out_of_memory(error)
        # With the events that led to it, one a line.
        _say(f"internal error: {error}; please report this together with the command", _LINE_ENDS)
        return INTERNAL_ERROR
    except PifolabError as error:
        _say(str(error))
        return USAGE_ERROR
    except BrokenPipeError:
        # The reader of the output has closed it (`pifolab show schedulers | head -1`). Without this, Python would print
        # an error when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except MemoryError as error:
        return _say_out_of_memory(error)
    except OSError as error:
        if error.errno == errno.ENOMEM:
            return _say_out_of_memory(error)
        where = f"{error.filename}: " if error.filename is not None else ""
        _say(f"{where}{error.strerror or error}")
        return USAGE_ERROR
    except KeyboardInterrupt:
        leave_in_order()
        _say("interrupted")
        return INTERRUPTED
    except TerminatedError:
        leave_in_order()
        _say("terminated")
        return TERMINATED
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else 0
    except BaseException as error:
        # A panic of a compiled library is not an `Exception`.
        if pressed:
            # An exception into which compiled code of a library turned the interruption.
            _say("interrupted")
            return INTERRUPTED
        if os.environ.get("PIFOLAB_TRACEBACK"):
            raise
        if _lacks_memory(error):
            return _say_out_of_memory(error)
        place = traceback.extract_tb(error.__traceback__)[-1]
        text = " ".join(str(error).splitlines())
        what = f"{type(error).__name__}: {text} ({Path(place.filename).name}:{place.lineno})"
        _say(f"internal error: {what}; PIFOLAB_TRACEBACK=1 shows more, please report it")
        return INTERNAL_ERROR


def _lacks_memory(error: BaseException) -> bool:
    return any(sign in str(error) for sign in _NO_MEMORY)


def _say_out_of_memory(error: BaseException) -> int:
    text = " ".join(str(error).splitlines())
    reason = text if "expected" in text else ": ".join(filter(None, [text, "expected more memory, or less work"]))
    _say(f"out of memory: {reason}")
    return USAGE_ERROR


def _say(message: str, keep: str = "") -> None:
    # Control characters of names in the message are escaped. Written at once, since the thread that ends the command
    # after a second signal may also write a line.
    sys.stderr.write(f"pifolab: {shortened(shown(message, keep))}\n")
