"""Laplace noise for any query, from coupled draws: nothing is assumed but how the data are drawn."""

from distpriv.framework.target import PrivacyTarget
from distpriv.guarantees.mechanism import AdditiveMechanism, across_ball
from distpriv.mechanisms.search.coupled_draws import Kind, calibration, coupled
from distpriv.mechanisms.search.noise_shapes import laplace_deltas_upper_bound, laplace_shape
from distpriv.modelling.coupling import Pairing
from distpriv.modelling.model import QueryModel
from distpriv.modelling.utility import Weights
from distpriv.progress import Progress, silent

__all__ = ["coupled_laplace"]


@across_ball
def coupled_laplace(
    model: QueryModel,
    target: PrivacyTarget,
    *,
    pairing: Pairing | None = None,
    draws: int | None = None,
    seed: int | None = None,
    weights: Weights = "relative",
    progress: Progress = silent,
) -> AdditiveMechanism:
    r"""Add Laplace noise of the least scale at which coupled datasets show δ to be small enough.

    As for `coupled_gaussian`, with noise of scale b_k along axes v_k: moved by Δ it is
    :math:`(1 - e^{(ε - s)/2})^+`-close to itself, :math:`s = Σ_k |v_k^⊤ Δ| / b_k`. Assurance `proved`.

    Takes the arguments of `coupled_gaussian`, but for what is special to estimates.

    >>> import distpriv as dp
    >>> model = dp.model(dp.datasets.adult(), dp.Query(age=dp.mean("age")),
    ...                  dp.Share("income = '>50K'", values=(0.45, 0.55)), records=100)
    >>> mechanism = dp.mechanisms.coupled_laplace(model, dp.PrivacyTarget(epsilon=1, delta=0.01), draws=20_000)
    >>> mechanism.certificate.assurance, mechanism.certificate.holds, 0.78 < mechanism.noise.expected_l2 < 0.84
    ('proved', True, True)
    """
    plan = calibration(model, target, name=KIND.name, pairing=pairing, draws=draws, seed=seed, progress=progress)
    return coupled(model, target, KIND, plan, weights)


KIND = Kind(name="coupled_laplace", measure="laplace", order=1, shape=laplace_shape, curve=laplace_deltas_upper_bound)
