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

__all__ = ["end_with_caller", "end_with_parent", "tied"]

_SET_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG of Linux
_SECONDS_BETWEEN_LOOKS = 0.5


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
