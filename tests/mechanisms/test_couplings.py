import numpy as np

import distpriv as dp
from distpriv.mechanisms.couplings import has_points, proven_distance, unordered


def test_pairs_are_taken_in_one_order() -> None:
    model = dp.gaussian_model(
        means={"a": [0], "b": [1], "c": [2]}, covariances=np.eye(1), pairs=[("a", "b"), ("b", "a"), ("c", "a")]
    )
    assert len(model.protected_pairs) == 4
    assert {frozenset(pair) for pair in unordered(model)} == {frozenset("ab"), frozenset("ac")}
    assert len(unordered(model)) == 2


def test_a_model_of_moments_has_neither_points_nor_a_proven_distance() -> None:
    model = dp.gaussian_model(means={"a": [0], "b": [1]}, covariances=np.eye(1), pairs=[("a", "b")])
    assert not has_points(model)
    assert proven_distance(model) is None
