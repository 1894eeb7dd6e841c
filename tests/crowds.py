"""Several processes at once, which import what they need only once between them, where the system can fork."""

import multiprocessing
from multiprocessing.pool import Pool

__all__ = ["crowd_of"]

IMPORTED_ONCE = ["tests.releasing.test_ledger", "tests.workflow.test_faults"]


def crowd_of(processes: int) -> Pool:
    """Return so many processes that share nothing with this one."""
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn").Pool(processes)
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(IMPORTED_ONCE)
    return context.Pool(processes)
