import os
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import settings

from tests.browser import browser
from tests.quick import pytest_addoption, pytest_collection_modifyitems
from tests.spark import place, spark

if TYPE_CHECKING:
    import pyarrow as pa

    import distpriv as dp

# Fixtures for every test that looks at a page or runs on every engine, and what leaves the longer tests out.
collect_ignore = ["workflow/validate_crate.py"]  # run by the Python of another environment
__all__ = ["browser", "place", "pytest_addoption", "pytest_collection_modifyitems", "spark"]

# A busy machine is no failure. Where a change is judged the examples are always the same; elsewhere new ones are tried.
settings.register_profile("explore", deadline=None, max_examples=25)
settings.register_profile("judge", deadline=None, derandomize=True)
settings.load_profile("judge" if os.environ.get("CI") else "explore")


def pytest_configure(config: pytest.Config) -> None:
    # PySpark leaves its connections to Java to the garbage collector.
    config.addinivalue_line("filterwarnings", r"ignore:unclosed <socket\.socket .*127\.0\.0\.1:ResourceWarning")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Let one worker run all that shares something costly; xdist 3.8 does not see the group of a test in pytest 9.2."""
    if config.getvalue("dist") != "loadgroup":
        return None
    from tests.scheduling import OneWorkerEach

    return OneWorkerEach(config, log)


@pytest.fixture(scope="session")
def adult() -> "pa.Table":
    """The complete records of the Adult data."""
    from distpriv.datasets import adult

    return adult()


@pytest.fixture(scope="session")
def paper_query() -> "dp.Query":
    """The five statistics of the paper, in its order."""
    from paper import setting

    return setting.paper_query()
