"""Where the datasets of an audit come from.

Shadows and tests never share a row: the rows are split at random inside every stratum. Either half is another finite
population than the reference rows that a certificate is about, so what is held against the certificate comes from all
reference rows, which is the modelled law itself. With small tables the difference is large: halves have other means,
and where no row is drawn twice datasets of 100 vary much less among 150 rows than among 300.
"""

from typing import Any, Protocol

from attrs import evolve, frozen

from distpriv.errors import InvalidInput, InvalidSecret, InvalidSource
from distpriv.framework.arrays import Floats
from distpriv.framework.scenarios import Pair
from distpriv.modelling.model import QueryModel
from distpriv.modelling.simulator import RowSimulator
from distpriv.progress import Progress

__all__ = ["Population", "Populations", "populations"]


class Population(Protocol):
    """Anything that datasets of a scenario can be drawn from."""

    def samples(self, scenario: str, draws: int, seed: int) -> Floats:
        """Draw datasets and return their statistics, one row each."""


@frozen(kw_only=True, eq=False)
class Populations:
    """Three places to draw from, and what a report says of them."""

    shadow: Population
    """The attacker's own rows."""
    test: Population
    """Rows that no shadow has: what accuracies are measured on."""
    reference: Population
    """The modelled law: what bounds are about."""
    description: str


def populations(model: QueryModel, pair: Pair, source: Any, seed: int, progress: Progress) -> Populations:
    """Return where to draw a pair from: two halves of a source or of the model's rows; f_θ where there are none."""
    simulator = model.simulator
    if simulator is None:
        if source is not None:
            raise InvalidInput("the model has no query to evaluate on a source: leave source out, or use dp.model(…).")
        return Populations(
            shadow=model, test=model, reference=model, description="shadows and tests are drawn from f_θ as modelled"
        )
    rows = simulator if source is None else simulator.over(source)
    shadow, test = evolve(rows, progress=progress).split((0.5, 0.5), seed)
    for part in (shadow, test):
        _refuse_too_few(part, pair)
    where = "the reference rows" if source is None else "the source"
    all_rows = "samples of all reference rows" if simulator.is_sampled else "all reference rows, as the certificate is"
    return Populations(
        shadow=shadow,
        test=test,
        reference=evolve(simulator, progress=progress),
        description=f"shadows are drawn from one half of {where} and tests from the other; bounds are about datasets "
        f"of {all_rows}",
    )


def _refuse_too_few(part: RowSimulator, pair: Pair) -> None:
    """Refuse when half of the rows is too few for a dataset."""
    for name in pair:
        try:
            part.samples(name, 1, 0)
        except InvalidSecret as failure:
            raise InvalidSource(
                f"there are too few rows to keep shadow and test datasets apart, each in a half of them: {failure}"
            ) from failure
