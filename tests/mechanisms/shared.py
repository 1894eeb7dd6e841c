"""What the tests of several mechanisms share."""

import numpy as np
from hypothesis import strategies as st

import distpriv as dp

WORKED = dp.gaussian_model(
    means={"a": [100, 101], "b": [99, 102]}, covariances=[[22, -6], [-6, 13]], pairs=[("a", "b")]
)
TARGET = dp.PrivacyTarget(epsilon=1, delta=0.001)
targets = st.builds(dp.PrivacyTarget, epsilon=st.floats(0.05, 8), delta=st.floats(1e-8, 0.2))


def transformed(model: dp.QueryModel, matrix: np.ndarray) -> dp.QueryModel:
    return dp.gaussian_model(
        means={name: matrix @ law.mean for name, law in model.distributions.items()},
        covariances={name: matrix @ law.covariance @ matrix.T for name, law in model.distributions.items()},
        pairs=model.protected_pairs,
    )
