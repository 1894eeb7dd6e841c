"""Which tests `make quick` runs: all that take less than a moment.

`tests/longer.txt` names the others. It is measured, not written: `make timings` does that, and a test that nobody has
measured yet is taken for a quick one.
"""

import os
from pathlib import Path

import pytest

__all__ = ["LONGER", "Timings", "measured", "pytest_addoption", "pytest_collection_modifyitems", "turn"]

LONGER = Path(__file__).parent / "longer.txt"
VERIFIED = Path(__file__).parent / "slow_verified.txt"
"""Slow tests that were seen to pass on this code; the others are skipped, unless `DISTPRIV_ALL_SLOW` is set."""
LONGEST = (
    "ledger/test_on_postgres",
    "killed",
    "at_once",
    "spark",
    "both_engines",
    "test_paper_protocol",
    "test_whatever_the_moments_are",
    "test_a_whole_plan_and_a_whole_column",
    "papers_statistics_have_the_same_choice",
    "workflow/test_broken_once",
    "test_verify_mutants",
    "test_one_story",
    "test_verifying",
    "tests/examples",
    "test_code_blocks",
    "test_demo",
    "test_exact_law",
    "tests/mechanisms/test_adult",
    "tests/planning",
    "tests/auditing",
    "test_page_facts",
    "test_page_injections",
    "test_schemas",
    "tests/docs",
)
"""What is in the names of tests that take minutes, those that take most of them first: they begin in this order, so
that nobody waits for one of them in the end."""
MOMENT = 0.05
"""Seconds of CPU."""
ALL_PARAMETERS = 1.0
"""Seconds of CPU, with all parameters of a test together."""
COSTLY = {"adult_plan", "browser", "bundles", "declared", "documents", "released", "results", "site", "spark"}
"""Fixtures that take seconds, which only the first test that needs them is measured with, and programs of their own."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--quick", action="store_true", help="leave out the tests that take longer than a moment")
    parser.addoption("--timings", action="store_true", help="measure which tests take longer, in tests/longer.txt")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    items.sort(key=turn)
    if not os.environ.get("DISTPRIV_ALL_SLOW"):
        verified = set(VERIFIED.read_text(encoding="utf-8").split())
        skip = pytest.mark.skip(reason="not run since the code that it tests changed: DISTPRIV_ALL_SLOW=1 runs it")
        for item in items:
            if item.get_closest_marker("slow") and measured(item) not in verified:
                item.add_marker(skip)
    if config.getoption("timings"):
        config.pluginmanager.register(Timings())
    if config.getoption("quick"):
        longer = set(LONGER.read_text(encoding="utf-8").split())
        left_out = [item for item in items if measured(item) in longer or needs_what_is_costly(item)]
        without = set(left_out)
        items[:] = [item for item in items if item not in without]
        config.hook.pytest_deselected(items=left_out)


def turn(item: pytest.Item) -> int:
    """Return where among the longest tests one begins; after all of them if it is none of them."""
    return next((place for place, name in enumerate(LONGEST) if name in item.nodeid), len(LONGEST))


def measured(item: pytest.Item) -> str:
    """Return what a test is measured by: its function, with whatever parameters."""
    return item.nodeid.partition("[")[0]


def needs_what_is_costly(item: pytest.Item) -> bool:
    """Tell whether a test waits for a fixture that takes seconds."""
    return not COSTLY.isdisjoint(getattr(item, "fixturenames", ()))


class Timings:
    """Measures the CPU that tests take, also in processes that they start, and writes down which take longer."""

    def __init__(self) -> None:
        self.longest: dict[str, float] = {}
        self.together: dict[str, float] = {}

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> object:
        started = sum(os.times()[:4])
        outcome = yield
        name, seconds = measured(item), sum(os.times()[:4]) - started
        self.longest[name] = max(self.longest.get(name, 0.0), seconds)
        self.together[name] = self.together.get(name, 0.0) + seconds
        return outcome

    def pytest_sessionfinish(self) -> None:
        longer = sorted(
            name for name, seconds in self.longest.items() if seconds > MOMENT or self.together[name] > ALL_PARAMETERS
        )
        LONGER.write_text("".join(f"{name}\n" for name in longer), encoding="utf-8")
