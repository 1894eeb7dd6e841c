"""Earlier releases of a dataset, after which the options of a plan have to hold as well."""

import math
from collections.abc import Iterable
from typing import Protocol

from attrs import field, frozen

from distpriv.errors import DistprivError
from distpriv.guarantees.certificate import Certificate, Trust
from distpriv.guarantees.mechanism import AdditiveMechanism
from distpriv.modelling.model import QueryModel
from distpriv.planning.merit import Merit
from distpriv.planning.option import Option, Refusal, option

__all__ = ["Earlier", "Settlement"]


class Earlier(Protocol):
    """Earlier releases of a dataset, which a new one must be certified together with."""

    def calibrated(
        self, model: QueryModel, mechanism: AdditiveMechanism, trust: Trust
    ) -> tuple[AdditiveMechanism, Certificate]:
        """Return the mechanism with noise so wide that all releases hold together, and their certificate."""


@frozen(kw_only=True)
class Settlement:
    """What becomes of options after earlier releases, if there are any."""

    earlier: Earlier | None
    model: QueryModel
    trust: Trust
    merit: Merit
    _known: dict[str, Option | Refusal] = field(factory=dict, init=False)

    def of(self, results: Iterable[Option | Refusal]) -> list[Option | Refusal]:
        """Return options as they would be after earlier releases, least error first, without those that can only lose.

        What does not hold by itself stays as it is.
        """
        if self.earlier is None:
            return list(results)
        least = math.inf
        found: list[Option | Refusal] = []
        for result in sorted(results, key=lambda r: r.cost if isinstance(r, Option) else 0.0):
            if isinstance(result, Option) and result.mechanism.certificate.holds_at(self.trust):
                if result.cost >= least:
                    reason = (
                        f"after the earlier releases another mechanism has an error of {least:.4g}, less than this "
                        "alone."
                    )
                    found.append(Refusal(name=result.name, reason=reason))
                    continue
                result = self._after_them(self.earlier, result)  # noqa: PLW2901 - the same option, later
                if isinstance(result, Option) and not result.too_large:
                    least = min(least, result.cost)
            found.append(result)
        return found

    def best(self, results: Iterable[Option | Refusal]) -> Option | None:
        """Return the least error of what may be used at the trust asked for, after the earlier releases."""
        held = (r for r in self.of(results) if isinstance(r, Option) and r.may_be_used(self.trust))
        return min(held, key=lambda r: r.cost, default=None)

    def _after_them(self, earlier: Earlier, found: Option) -> Option | Refusal:
        if found.name not in self._known:
            try:
                later = earlier.calibrated(self.model, found.mechanism, self.trust)[0]
                self._known[found.name] = option(self.model, later, self.merit)
            except DistprivError as refusal:
                self._known[found.name] = Refusal(name=found.name, reason=str(refusal), kind=type(refusal))
        return self._known[found.name]
