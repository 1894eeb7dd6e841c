"""Earlier releases of a dataset, after which the options of a plan have to hold as well."""

import math
from collections.abc import Iterable, Sequence
from heapq import heappop, heappush
from typing import Protocol

from attrs import field, frozen

from distpriv.errors import DistprivError
from distpriv.guarantees.certificate import Assurance, Certificate
from distpriv.guarantees.mechanism import AdditiveMechanism
from distpriv.modelling.model import QueryModel
from distpriv.planning.criterion import Criterion
from distpriv.planning.option import Option, Refusal, option

__all__ = ["Composition", "Earlier"]


class Earlier(Protocol):
    """Earlier releases of a dataset, which a new one must be certified together with."""

    def calibrated(
        self, model: QueryModel, mechanism: AdditiveMechanism, assurance: Assurance
    ) -> tuple[AdditiveMechanism, Certificate]:
        """Return the mechanism with noise so wide that all releases hold together, and their certificate."""

    def least_widening(self, model: QueryModel, mechanism: AdditiveMechanism, assurance: Assurance) -> float:
        """Return how many times wider the noise will be at least, which takes little time."""


@frozen(kw_only=True)
class Composition:
    """What becomes of options after earlier releases, if there are any."""

    earlier: Earlier | None
    model: QueryModel
    assurance: Assurance
    criterion: Criterion
    _known: dict[str, Option | Refusal] = field(factory=dict, init=False)
    _bounds: dict[str, float] = field(factory=dict, init=False)

    def of(self, results: Iterable[Option | Refusal]) -> list[Option | Refusal]:
        """Return options as they would be after earlier releases, least error first, without those that can only lose.

        What does not hold by itself stays as it is.
        """
        if self.earlier is None:
            return list(results)
        found = sorted(results, key=lambda r: r.cost if isinstance(r, Option) else 0.0)
        holding = [r for r in found if isinstance(r, Option) and r.mechanism.certificate.holds_at(self.assurance)]
        settled = self._settled(self.earlier, holding)
        return [settled.get(result.name, result) for result in found]

    def _settled(self, earlier: Earlier, options: Sequence[Option]) -> dict[str, Option | Refusal]:
        """Calibrate what may have the least error, the likely first: certificates of a stack take long.

        Options wait with an error that they will not have less of: that of their noise alone, and when their turn has
        come that of noise as wide as it will be at least. One that comes again after that is calibrated.
        """
        waiting = [(each.cost, False, place) for place, each in enumerate(options)]
        settled: dict[str, Option | Refusal] = {}
        least = math.inf
        while waiting:
            cost, bounded, place = heappop(waiting)
            option = options[place]
            if cost >= least:
                settled[option.name] = _loses(option, least)
            elif not bounded and option.name not in self._known:
                heappush(waiting, (self._least_cost(earlier, option), True, place))
            else:
                later = settled[option.name] = self._after_them(earlier, option)
                if isinstance(later, Option) and not later.too_large:
                    least = min(least, later.cost)
        return settled

    def _least_cost(self, earlier: Earlier, option: Option) -> float:
        """Return an error that the option will not have less of; its own where it turns out to be refused."""
        if option.name not in self._bounds:
            try:
                factor = earlier.least_widening(self.model, option.mechanism, self.assurance)
            except DistprivError:
                factor = 1.0
            wider = option.mechanism.noise.widened(factor) if factor > 1 else option.mechanism.noise
            self._bounds[option.name] = max(option.cost, self.criterion.cost(wider.covariance))
        return self._bounds[option.name]

    def best(self, results: Iterable[Option | Refusal]) -> Option | None:
        """Return the least error of what may be used at the assurance asked for, after the earlier releases."""
        held = (r for r in self.of(results) if isinstance(r, Option) and r.may_be_used(self.assurance))
        return min(held, key=lambda r: r.cost, default=None)

    def _after_them(self, earlier: Earlier, found: Option) -> Option | Refusal:
        if found.name not in self._known:
            try:
                later = earlier.calibrated(self.model, found.mechanism, self.assurance)[0]
                self._known[found.name] = option(self.model, later, self.criterion)
            except DistprivError as refusal:
                self._known[found.name] = Refusal(name=found.name, reason=str(refusal), kind=type(refusal))
        return self._known[found.name]


def _loses(option: Option, least: float) -> Refusal:
    reason = (
        f"after the earlier releases another mechanism has an error of {least:.4g}, less than this one would have at "
        "best."
    )
    return Refusal(name=option.name, reason=reason)
