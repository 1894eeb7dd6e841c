import pyarrow as pa
import pytest
from hypothesis import settings

import distpriv as dp
from distpriv.cli import demo

settings.register_profile("distpriv", deadline=None)  # a busy machine is no failure
settings.load_profile("distpriv")


@pytest.fixture(scope="session")
def adult() -> pa.Table:
    """The complete records of the Adult data."""
    return dp.datasets.adult()


@pytest.fixture(scope="session")
def paper_query() -> dp.Query:
    """The five statistics of the paper, in its order."""
    return demo.paper_query()
