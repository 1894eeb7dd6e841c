import numpy as np

from distpriv.modelling.bent_law import Bend
from distpriv.modelling.tilted_stratum import TiltedStratum


def test_shapes_of_many_statistics_bend_bells_as_those_of_few_do() -> None:
    rng = np.random.default_rng(0)
    for size, by_tensors in ((5, True), (42, False)):
        values = rng.exponential(size=(300, size)) - 1
        bend = Bend(strata=(TiltedStratum.of(values - values.mean(axis=0), np.ones(300), 40, replacement=False),))
        tilts, precision = 0.1 * rng.normal(size=(7, size)), 0.01 * np.eye(size)
        found = bend.at(tilts, precision)
        assert np.abs(found).min() > 1e-6
        other = bend._by_rows(tilts, precision) if by_tensors else bend._by_tensors(tilts, precision)
        np.testing.assert_allclose(found, other.clip(-3, 3), atol=1e-9)
