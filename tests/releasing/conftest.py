from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    import pyarrow as pa

    import distpriv as dp


@pytest.fixture(scope="session")
def table() -> "pa.Table":
    """The small population that most releases here are about."""
    from tests.releasing.shared import population

    return population()


@pytest.fixture(scope="session")
def plan(table: "pa.Table") -> "dp.Plan":
    """A plan for a mean and a count, for all tests that release by one."""
    from tests.releasing.shared import planned

    import distpriv as dp

    return planned(table, {"age": dp.mean("age"), "city": dp.count("city")})
