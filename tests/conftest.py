import os

import pyarrow as pa
import pytest
from hypothesis import settings

import distpriv as dp
from distpriv.cli import demo
from tests.browser import browser

__all__ = ["browser"]  # a fixture for every test that looks at a page

# A busy machine is no failure. Where a change is judged the examples are always the same; elsewhere new ones are tried.
settings.register_profile("explore", deadline=None)
settings.register_profile("judge", deadline=None, derandomize=True)
settings.load_profile("judge" if os.environ.get("CI") else "explore")


@pytest.fixture(scope="session")
def adult() -> pa.Table:
    """The complete records of the Adult data."""
    return dp.datasets.adult()


@pytest.fixture(scope="session")
def paper_query() -> dp.Query:
    """The five statistics of the paper, in its order."""
    return demo.paper_query()
