import numpy as np
import pyarrow as pa
import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

import distpriv as dp
from distpriv.guarantees.unseen_rows import largest_unseen_share, unseen_rows_evidence


@given(st.integers(1, 10**9))
def test_a_kind_with_that_share_shows_itself_in_99_of_100_samples(rows: int) -> None:
    assert (1 - largest_unseen_share(rows)) ** rows == pytest.approx(0.01, rel=1e-6)


def test_a_coupled_certificate_names_the_rows_that_a_sample_lacks() -> None:
    rng = np.random.default_rng(0)
    table = pa.table({"s": np.arange(1000) < 400, "x": rng.normal(size=1000)})
    secret = dp.Share("s", values=(0.4, 0.6))
    model = dp.model(table, dp.Query(x=dp.mean("x")), secret, records=20)
    said = unseen_rows_evidence(model)
    assert said[0].status == "assumed"
    assert said[0].facts["rows"]["rows where s is satisfied"] == 400
    assert said[0].facts["shares"]["rows where s is satisfied"] == pytest.approx(0.011, abs=1e-3)
    assert said[0].facts["chance"] == pytest.approx(0.074, abs=1e-3)
    target = dp.PrivacyTarget(epsilon=1, delta=0.01)
    made = dp.mechanisms.coupled_gaussian(model, target, draws=2000, seed=1)
    assert said[0] in made.certificate.evidence
    assert unseen_rows_evidence(evolve(model, strata=())) == ()
