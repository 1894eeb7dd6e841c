"""What noise would do, at once: the exact model is made once, and only the first step of the search for noise is taken.

The noise is that with which the search for the most informative Gaussian noise begins: the optimum for equal
covariances, pulled back until estimates of the divergences of the pairs in view are as small as asked for. It is close
to what is certified, and it is not certified: whatever shows it says so. No release uses it.
"""

from functools import cached_property
from typing import Any, Self

import numpy as np
from attrs import field, frozen

from distpriv.errors import NotCertified
from distpriv.framework.arrays import Floats
from distpriv.framework.target import PrivacyTarget
from distpriv.guarantees.attack_accuracy import undefended_attack_accuracy
from distpriv.guarantees.exact_delta import exact_delta
from distpriv.guarantees.reference_sample import Cautious, cautious
from distpriv.guarantees.relaxation import made_for
from distpriv.mechanisms.search.gaussian_constraints import GaussianConstraints
from distpriv.mechanisms.search.gaussian_search import GaussianSearch
from distpriv.mechanisms.search.noise_floor import (
    SmoothFloor,
    natural_units,
    plain_floor,
    private_noise,
    uncounted,
)
from distpriv.modelling.model import QueryModel
from distpriv.modelling.public_knowledge import deviations
from distpriv.noise.laws import GaussianNoise, NoiseLaw
from distpriv.planning.criterion import Criterion
from distpriv.policy import Policy
from distpriv.report.figures import would_see

__all__ = ["MECHANISM", "Outlook", "shown_curves"]

MECHANISM = "certified_gaussian"
"""Whose search is begun."""

IN_VIEW = 24
"""Of the pairs of populations that noise is made for, so many are looked at; a certificate looks at all."""


@frozen(kw_only=True, eq=False, slots=False)
class Outlook:
    """One question on its model, of which any target can be asked.

    >>> import distpriv as dp
    >>> model = dp.gaussian_model(
    ...     means={"low": [40, 50], "high": [42, 46]}, covariances=[[2, 0], [0, 25]], pairs=[("low", "high")]
    ... )
    >>> outlook = Outlook(model=model, criterion=Criterion.of(model, weights="units"))
    >>> wide, narrow = (outlook.noise(dp.PrivacyTarget(epsilon, 0.001)) for epsilon in (0.5, 1))
    >>> found = dp.plan(model, dp.PrivacyTarget(1, 0.001), weights="units").chosen
    >>> bool(outlook.error(wide) > outlook.error(narrow)), abs(outlook.error(narrow) / found.estimate_error - 1) < 0.01
    (True, True)
    """

    model: QueryModel
    criterion: Criterion = field(repr=False)
    _errors: dict[PrivacyTarget, float | None] = field(factory=dict, init=False, repr=False)

    @classmethod
    def of(cls, policy: Policy) -> Self:
        """Make the model of a policy's question, from public tables alone."""
        model = policy.model()
        criterion = Criterion.of(
            model, weights=policy.weights, objective="estimate", prior=policy.prior, max_error=policy.max_error
        )
        return cls(model=model, criterion=criterion)

    def noise(self, target: PrivacyTarget) -> Floats:
        """Return the covariance of noise that about meets a target.

        Raises:
            NotCertified: there is none, as where a scenario gives itself away for certain.
        """
        if target.delta == 0:
            raise NotCertified("what is shown at once is about Gaussian noise, which needs a delta above 0: give one.")
        left = made_for(self.model, target)
        search = self._in_view(private_noise(self._made_for, left, self.criterion.weights, self._floor))
        units = natural_units(self.model)
        scale = np.outer(units, units)
        problem = GaussianSearch.of(
            search, unknown=self.criterion.public.covariance / scale, weights=np.diag(search.costs)
        )
        found = problem.first()
        if found is None:
            raise NotCertified("no Gaussian noise is wide enough here: ask for a larger epsilon or delta.")
        return np.asarray(found * scale)

    def error(self, noise: Floats) -> float:
        """Return the weighted error of all estimates together."""
        return self.criterion.cost(noise)

    @cached_property
    def undefended(self) -> float:
        """How often the best attacker is right without noise."""
        return undefended_attack_accuracy(self.model)

    def numbers(self, target: PrivacyTarget) -> dict[str, Any]:
        """Return everything that a page shows of a target at once."""
        noise = self.noise(target)
        attacker = (1 + exact_delta(self.model, GaussianNoise.of(noise), epsilon=0.0)) / 2
        most = min(attacker, target.attack_accuracy_ceiling, self.undefended)
        return {
            "provisional": True,
            "mechanism": MECHANISM,
            "attacker": most,
            "information": self.criterion.public.information(noise, self.criterion.weights),
            "errors": deviations(self.model.names, self.criterion.public.error_covariance(noise)),
            "error": self.error(noise),
            **self.public_numbers(),
            "curves": shown_curves(self.model, GaussianNoise.of(noise), self.undefended, most),
        }

    def public_numbers(self) -> dict[str, Any]:
        """Return what is known without a release."""
        public = self.criterion.public
        return {
            "undefended": self.undefended,
            "public_error": public.error(self.criterion.weights),
            "public_errors": public.errors,
            "public_means": dict(zip(public.names, public.mean.tolist(), strict=True)),
        }

    def error_at(self, target: PrivacyTarget) -> float | None:
        """Return the error at a target, computed once; None where there is none."""
        if target not in self._errors:
            try:
                self._errors[target] = self.error(self.noise(target))
            except NotCertified:
                self._errors[target] = None
        return self._errors[target]

    @cached_property
    def _made_for(self) -> Cautious:
        return cautious(self.model)

    @cached_property
    def _floor(self) -> SmoothFloor:
        return SmoothFloor(covariance=plain_floor(self.model).covariance, smoothed=uncounted(self.model))

    def _in_view(self, search: GaussianConstraints) -> GaussianConstraints:
        """Return a search for a few of its pairs, taken evenly, the model's own among them."""
        count = len(search.deltas)
        if count <= IN_VIEW:
            return search
        kept = np.unique(np.linspace(0, count - 1, IN_VIEW).round().astype(int))
        return search.only(kept)


def shown_curves(model: QueryModel, noise: NoiseLaw, undefended: float, most: float) -> list[dict[str, str]]:
    """Return what an attacker sees before and after noise, as a page shows it; nothing where all is given away."""
    found = would_see(model, noise, undefended, most)
    return [{"svg": each.svg, "caption": each.caption, "alt": each.alt} for each in found]
