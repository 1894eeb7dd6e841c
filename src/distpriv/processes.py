"""Processes that end with the one that started them, also where that one is killed and can tell nobody."""

import ctypes
import os
import signal
import sys
import time
from contextlib import suppress
from multiprocessing import current_process
from threading import Thread
from typing import Any

from distpriv.errors import InvalidInput

__all__ = ["PROCESSES", "end_with_caller", "end_with_parent", "tied", "usable_processes"]

PROCESSES = "DISTPRIV_PROCESSES"
"""The environment's word for how many processes to use where a call does not say."""

_SET_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG of Linux
_SECONDS_BETWEEN_LOOKS = 0.5


def usable_processes() -> int:
    """Return how many processes to use where a call does not say: what the environment says, or all cores there are.

    Raises:
        InvalidInput: the environment says something else than a whole number.
    """
    said = os.environ.get(PROCESSES, "").strip()
    if not said:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if not said.isascii() or not said.isdigit() or int(said) < 1:
        raise InvalidInput(f"{PROCESSES} must be a whole number from 1 on, got {said!r}: set it to 2, or not at all.")
    return int(said)


def tied() -> dict[str, Any]:
    """Return what joblib's Parallel is to be told, so that its workers end with this process.

    >>> from joblib import Parallel, delayed
    >>> Parallel(n_jobs=1, **tied())([delayed(abs)(-2)])
    [2]
    """
    return {"initializer": end_with_parent, "initargs": (os.getpid(),)}


def end_with_caller(parent: int) -> None:
    """Have a worker ended at once when the thread that started it ends: for workers that do not outlive a call.

    Only Linux can do so, also to a worker that is deep in arithmetic; elsewhere it ends as the others do.
    """
    if sys.platform == "linux":
        with suppress(OSError, AttributeError):
            ctypes.CDLL(None, use_errno=True).prctl(_SET_DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0)
    end_with_parent(parent)


def end_with_parent(parent: int) -> None:
    """Have a worker of joblib's end soon after its parent; its thread that looks for it starts before any work."""
    # Other backends have processes between parent and worker, or none, and look after them.
    if type(current_process()).__module__.startswith("joblib.externals.loky"):
        Thread(target=_end_when_gone, args=(parent,), daemon=True, name="end with parent").start()


def _end_when_gone(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(_SECONDS_BETWEEN_LOOKS)
    os._exit(1)
