"""Which worker runs which tests."""

from xdist.scheduler import LoadGroupScheduling  # type: ignore[import-untyped]

__all__ = ["OneSparkSession"]

NAMES = ("spark", "both_engines")
"""What is in the name of every test that needs Spark."""


class OneSparkSession(LoadGroupScheduling):  # type: ignore[misc]
    """Gives all tests that need Spark to one worker, so that only one starts Java, and the others to any."""

    def _split_scope(self, nodeid: str) -> str:
        return "spark" if any(name in nodeid for name in NAMES) else str(super()._split_scope(nodeid))
