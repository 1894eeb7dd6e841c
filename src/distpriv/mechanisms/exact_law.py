"""The least noise for one statistic whose exact law is known: nothing is assumed but how the data are drawn."""

import numpy as np

from distpriv.errors import InvalidTarget
from distpriv.framework.arrays import Floats
from distpriv.framework.target import PrivacyTarget
from distpriv.guarantees.exact_steps import exact_steps_certificate
from distpriv.guarantees.mechanism import AdditiveMechanism
from distpriv.mechanisms.hypotheses import require_target
from distpriv.mechanisms.search.step_program import StepNoise, least_on_steps
from distpriv.modelling.model import QueryModel, require_model
from distpriv.modelling.step_laws import step_laws
from distpriv.noise.unimodal import UnimodalNoise

__all__ = ["exact_law"]

TOTAL = 2**52
"""Masses are whole multiples of one part in so many, which makes their sum exact."""


def exact_law(model: QueryModel, target: PrivacyTarget) -> AdditiveMechanism:
    r"""Add the symmetric unimodal noise of least variance that the exact law of one statistic allows.

    A count, total or mean of rows on whole steps has a law that is known to the last digit from the reference. Noise is
    a whole number of steps, even on −k … k with probabilities that a linear program chooses, plus an even part of one
    step: δ is then a sum over steps, exact but for what is counted. Trust `sampling`.

    Args:
        model: the model of one count, total or mean, with ``reference="population"``.
        target: ε ≥ 0 and δ > 0.

    Raises:
        InvalidModel: there are several statistics, the reference is a sample, or its values are on no steps.
        InvalidTarget: δ is 0, or too small for what the law is known to.

    >>> import distpriv as dp
    >>> query, secret = dp.Query(women=dp.count("sex = 'Female'")), dp.Share("income = '>50K'", values=(0.45, 0.55))
    >>> model = dp.model(dp.datasets.adult(), query, secret, records=100, reference="population")
    >>> mechanism = dp.mechanisms.exact_law(model, dp.PrivacyTarget(epsilon=1, delta=0.001))
    >>> mechanism.certificate.trust, mechanism.certificate.holds, round(mechanism.noise.expected_rms, 1)
    ('sampling', True, 2.1)
    """
    require_model(model)
    require_target(target)
    if target.delta == 0:
        raise InvalidTarget(
            "exact_law cannot reach delta = 0, since laws of different datasets reach differently far: give a delta "
            "above 0, or use group_privacy_laplace."
        )
    laws = step_laws(model)
    noise = _as_law(least_on_steps(laws, target, model.protected_pairs), laws.step)
    certificate = exact_steps_certificate(laws, noise, target, model.protected_pairs)
    return AdditiveMechanism(name="exact_law", statistics=model.names, noise=noise, certificate=certificate)


def _as_law(found: StepNoise, step: float) -> UnimodalNoise:
    """Return noise as a density with its steps in the middle between two whole ones, and masses that sum to 1."""
    edges = np.append(0.0, (found.widths + 0.5) * step)
    heights = np.cumsum((found.shares / (2 * found.widths + 1))[::-1])[::-1]
    return UnimodalNoise(axes=np.ones((1, 1)), edges=edges, masses=_whole(heights * np.diff(edges)))


def _whole(masses: Floats) -> Floats:
    """Round masses down to whole multiples of one part in 2⁵², and give the rest to the first."""
    whole = np.floor(masses * (TOTAL / masses.sum()) * (1 - 1e-14))
    whole[0] += TOTAL - int(sum(map(int, whole.tolist())))
    return np.asarray(whole / TOTAL)
