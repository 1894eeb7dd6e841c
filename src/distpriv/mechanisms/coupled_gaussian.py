"""Gaussian noise for any query, from coupled draws: nothing is assumed but how the data are drawn."""

from functools import partial

from distpriv.distances.gaussian import gaussian_deltas_upper_bound
from distpriv.errors import InvalidInput
from distpriv.framework.domains import one_of
from distpriv.framework.target import PrivacyTarget
from distpriv.guarantees.mechanism import AdditiveMechanism, across_ball
from distpriv.mechanisms.search.coupled_draws import calibration, coupled
from distpriv.mechanisms.search.noise_shapes import gaussian_shape
from distpriv.modelling.coupling import Pairing
from distpriv.modelling.model import QueryModel
from distpriv.modelling.public_knowledge import Prior, PublicKnowledge
from distpriv.modelling.utility import OBJECTIVES, Objective, Weights
from distpriv.progress import Progress, silent

__all__ = ["coupled_gaussian"]

NAME = "coupled_gaussian"


@across_ball
def coupled_gaussian(
    model: QueryModel,
    target: PrivacyTarget,
    *,
    pairing: Pairing | None = None,
    draws: int | None = None,
    seed: int | None = None,
    weights: Weights = "relative",
    objective: Objective = "noise",
    prior: Prior = None,
    progress: Progress = silent,
) -> AdditiveMechanism:
    r"""Add Gaussian noise of the least scale at which coupled datasets show δ to be small enough.

    For every coupling of two scenarios :math:`δ ≤ E[δ_G(ε; \|S^{-1/2} (F(D_i) - F(D_j))\|)]`, whatever the laws of
    the statistics. The mean is bounded from draws of datasets that share all rows but those that must differ; the
    chance that the draws mislead counts into δ. Assurance `proved`.

    Args:
        model: the model of a Share, made from rows.
        target: what is asked for; δ must be above 0.
        pairing: whether swapped rows are independent or paired by optimal transport; by default the latter, where all
            that the query reads are numbers.
        draws: how many coupled datasets to draw; by default 1000/δ for means, and fewer for slow queries.
        seed: the same seed gives the same noise; by default one that nobody chose.
        weights: what an error in each statistic costs, as for `utility_weights`.
        objective: whether the shape is the one of least noise, or the one that leaves estimates the least error.
        prior: the probability of each scenario that estimates count on, by name; the same for all if not given.
        progress: told as drawing goes on.

    Raises:
        InvalidTarget: δ is 0.
        InvalidModel: the model has no rows of a Share, or its statistics are too large against what they vary by.
        InvalidInput: so few draws cannot show so small a δ.

    >>> import distpriv as dp
    >>> model = dp.model(dp.datasets.adult(), dp.Query(age=dp.mean("age")),
    ...                  dp.Share("income = '>50K'", values=(0.45, 0.55)), records=100)
    >>> mechanism = dp.mechanisms.coupled_gaussian(model, dp.PrivacyTarget(epsilon=1, delta=0.01), draws=20_000)
    >>> mechanism.certificate.assurance, mechanism.certificate.holds, 1.4 < mechanism.noise.expected_rms < 1.5
    ('proved', True, True)
    """
    one_of("objective", objective, OBJECTIVES, InvalidInput)
    plan = calibration(model, target, name=NAME, pairing=pairing, draws=draws, seed=seed, progress=progress)
    public = PublicKnowledge.of(model, prior).covariance if objective == "estimate" else None
    shape, curve = partial(gaussian_shape, public=public), gaussian_deltas_upper_bound
    return coupled(model, target, plan, weights, name=NAME, measure="gaussian", shape=shape, curve=curve)
