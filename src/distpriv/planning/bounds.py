r"""What is known of a mechanism before it is run: the best assurance it can have, and errors that it cannot have.

**Gaussian noise.** Let S be the covariance of Gaussian noise with a weighted error of at most e, tr(QS) ≤ e², and w =
Q^{1/2}u with a unit vector u: then wᵀSw ≤ e². An attacker may look at wᵀ(F + Z) alone, and by data processing the
divergence of that falls with the variance of the noise, so that

.. math:: H_ε(N(wᵀμ_i, wᵀΣ_i w + e²) \| N(wᵀμ_j, wᵀΣ_j w + e²)) ≤ δ

for every protected pair and every u, or no such S holds. One u that breaks it rules out all Gaussian noise of that
error at once; where none does, the closed forms among them cost next to nothing and are tried.

None of this reaches a certificate: it decides what is tried.
"""

import numpy as np

from distpriv.distances.gaussian import analytic_radius, gaussian_hockey_sticks
from distpriv.framework.arrays import Floats
from distpriv.framework.target import PrivacyTarget
from distpriv.guarantees.certificate import Assurance
from distpriv.guarantees.certify import is_estimated
from distpriv.mechanisms.hypotheses import has_points
from distpriv.modelling.model import QueryModel
from distpriv.planning.candidates import Candidate

__all__ = ["best_assurance", "gaussian_noise_delta_lower_bound"]


def best_assurance(candidate: Candidate, model: QueryModel) -> Assurance:
    """Return the best assurance that the mechanism's certificate can have on a model.

    No noise leaves a lattice as it is, and is more than assumed only where there is none. A theorem that assumes more
    than moments is assumed; where it needs no noise, its certificate is that of no noise.

    >>> import distpriv as dp
    >>> from distpriv.planning.candidates import CANDIDATES
    >>> model = dp.gaussian_model(means={"a": [0], "b": [1]}, covariances=[[1]], pairs=[("a", "b")])
    >>> {candidate.name: best_assurance(candidate, model) for candidate in CANDIDATES[:3]}
    {'no_noise': 'assumed', 'certified_gaussian': 'checked', 'certified_laplace': 'checked'}
    """
    if candidate.name == "exact_law" and model.strata:  # whose law a sample tells but for an error
        return "checked"
    if candidate.rests_on == "rows" or (candidate.rests_on == "points or rows" and not has_points(model)):
        return "proved"
    if candidate.rests_on in ("points", "points or rows"):
        return "proved" if model.provenance.method == "given points" else "assumed"
    bare = candidate.rests_on == "theorem" or candidate.name == "no_noise"
    known = not is_estimated(model)
    return "checked" if known and not (bare and model.floor.any()) else "assumed"


def gaussian_noise_delta_lower_bound(model: QueryModel, target: PrivacyTarget, weights: Floats, error: float) -> float:
    """Return a δ that all Gaussian noise of at most this weighted error exceeds or equals at the target's ε.

    The direction is the one along which equal covariances would need most noise; any other gives a bound as well.

    >>> import distpriv as dp
    >>> model = dp.gaussian_model(means={"a": [0], "b": [1]}, covariances=[[1]], pairs=[("a", "b")])
    >>> target = dp.PrivacyTarget(epsilon=1, delta=0.001)
    >>> least = dp.mechanisms.certified_gaussian(model, target, objective="noise").noise.expected_rms
    >>> [gaussian_noise_delta_lower_bound(model, target, np.ones(1), share * least) > 0.001 for share in (0.99, 1.01)]
    [True, False]
    """
    unit = np.sqrt(weights)
    shifts = np.array([model.mean_shift(pair) for pair in model.protected_pairs])
    laws = np.array([[model.distributions[name].covariance for name in pair] for pair in model.protected_pairs])
    radius = max(analytic_radius(target.epsilon, target.delta), 1e-6)
    needed = shifts[:, :, np.newaxis] * shifts[:, np.newaxis, :] / radius**2 - laws.mean(axis=1)
    values, vectors = np.linalg.eigh(needed * np.outer(unit, unit))
    worst = int(values[:, -1].argmax())
    along = unit * vectors[worst, :, -1]
    first, second = along @ laws[worst] @ along + error**2
    shift = float(along @ shifts[worst])
    divergences = gaussian_hockey_sticks(
        target.epsilon, [[shift], [-shift]], [[[first]], [[second]]], [[[second]], [[first]]]
    )
    return float((divergences.value - divergences.error).max())
