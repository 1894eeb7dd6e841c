"""Which worker runs which tests."""

from xdist.scheduler import LoadGroupScheduling  # type: ignore[import-untyped]

__all__ = ["OneWorkerEach"]

TOGETHER = {
    "spark": ("spark", "both_engines"),
    "bundles": ("workflow/test_broken_once", "test_verify_mutants", "test_ledger_checks", "test_estimate_checks"),
    "broken laws": ("tests/guarantees/test_checked_law",),
    "certificates": ("tests/bundle/test_verifying",),
    "engines": ("tests/engines/test_broken_once",),
    "releases": ("tests/releasing/test_release.py", "tests/releasing/test_estimating.py"),
    "paper": ("tests/mechanisms/test_adult",),
    "board": ("test_page_facts",),
    "schemas": ("tests/docs/test_schemas",),
    "choices": ("test_the_choice_and_its_noise", "test_models_of_rows_have_the_same_choice"),
    "plan": ("tests/planning/test_plan.py",),
    "pages": ("tests/workflow/test_one_story",),
    "injections": ("tests/workflow/test_page_injections",),
    "looks": ("tests/workflow/test_report_in_browser",),
    "protocol": ("tests/paper/",),
    "exact laws": ("tests/mechanisms/test_exact_law.py",),
    "postgres": ("ledger/test_on_postgres",),
    "notebooks": ("tests/test_notebooks",),
    "tables": ("tests/guarantees/test_tables_by_simulation", "tests/releasing/test_released_tables"),
    "real rows": ("tests/modelling/test_estimates_of_real_rows",),
    "groups": ("tests/releasing/test_groups_by_enumeration",),
}
"""What is in the names of tests that share something costly: Java, bundles, pages, plans."""


class OneWorkerEach(LoadGroupScheduling):  # type: ignore[misc]
    """Gives all tests that share something costly to one worker, so that it is made once, and the others to any.

    Work is given out in the order of the tests, the longest first (`quick.LONGEST`), and not by how many there are.
    """

    def schedule(self) -> None:
        self.config.option.loadscopereorder = False
        super().schedule()

    def _split_scope(self, nodeid: str) -> str:
        shared = (group for group, names in TOGETHER.items() if any(name in nodeid for name in names))
        return next(shared, None) or str(super()._split_scope(nodeid))
