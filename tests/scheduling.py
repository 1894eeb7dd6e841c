"""Which worker runs which tests."""

from xdist.scheduler import LoadGroupScheduling  # type: ignore[import-untyped]

__all__ = ["OneWorkerEach"]

TOGETHER = {
    "spark": ("spark", "both_engines"),
    "bundles": ("workflow/test_broken_once", "test_verify_mutants", "test_ledger_checks", "test_estimate_checks"),
    "broken laws": ("tests/guarantees/test_checked_law",),
    "certificates": ("tests/workflow/verifying/test_verifying",),
    "engines": ("tests/engines/test_broken_once",),
    "releases": ("tests/releasing/test_release.py", "tests/releasing/test_estimating.py"),
    "paper": ("tests/mechanisms/test_adult",),
    "results": ("tests/report/test_reproduction.py", "tests/experiments/test_exact_protocol.py"),
    "board": ("test_board_facts",),
    "schemas": ("tests/docs/test_schemas",),
    "plan": ("tests/planning/test_plan.py",),
}
"""What is in the names of tests that share something costly: Java, bundles, pages, plans."""


class OneWorkerEach(LoadGroupScheduling):  # type: ignore[misc]
    """Gives all tests that share something costly to one worker, so that it is made once, and the others to any."""

    def _split_scope(self, nodeid: str) -> str:
        shared = (group for group, names in TOGETHER.items() if any(name in nodeid for name in names))
        return next(shared, None) or str(super()._split_scope(nodeid))
