"""The search behind `exact_law` for one statistic of a sample: noise for the populations that hide least.

The program of one population is solved for several at once: the reference's own rows, and those of the populations it
may be a sample of in which noise for these alone would hide least. These are others than a certificate is about, as
noise of many numbers could be made for just those; so it is then solved for a smaller δ until the certificate holds.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np
from attrs import frozen

from distpriv.errors import InvalidTarget
from distpriv.framework.scenarios import Pair
from distpriv.framework.target import PrivacyTarget
from distpriv.guarantees.exact_steps import exact_steps_delta, pair_deltas, population_laws, worst_pairs
from distpriv.mechanisms.search.step_program import least_on_steps
from distpriv.modelling.plausible_models import MAKING_SEED
from distpriv.modelling.plausible_rows import of_populations, plausible_strata
from distpriv.modelling.row_grid import RowGrid
from distpriv.modelling.step_laws import step_laws
from distpriv.noise.unimodal import UnimodalNoise

__all__ = ["noise_on_steps"]


@frozen(kw_only=True)
class Settings:
    """How noise for a sample is searched."""

    candidates: int = 400
    """Of how many populations those are taken that hide least: more than a certificate looks at, to be beyond those."""
    populations: int = 6
    """For how many populations noise is made: more cost time in proportion, and hardly change it."""
    skipped: tuple[int, ...] = (8, 3, 0)
    """How many of those that hide least are left out, in the first rounds: fewer until the certificate holds."""
    rounds: int = 12
    """How often noise is made at most; from the third time on for a smaller δ."""
    overshoot: float = 0.97
    """By how much more than in proportion δ is lowered each time, so that rounds end."""


SETTINGS: Final = Settings()


def noise_on_steps(
    rows: RowGrid, target: PrivacyTarget, pairs: Sequence[Pair], settings: Settings = SETTINGS
) -> UnimodalNoise:
    """Return noise of little variance whose δ is at most the target's, by the law of rows on whole steps.

    Raises:
        InvalidTarget: no noise of a reasonable width has so small a δ.
    """
    laws = step_laws(rows)
    noise = least_on_steps(laws, target, pairs).on_steps_of(laws.step)
    if not rows.sample:
        return noise
    deltas = pair_deltas(laws, noise, target.epsilon, pairs)
    worst = worst_pairs(deltas, pairs)
    hidden = np.concatenate(
        [
            pair_deltas(part, noise, target.epsilon, several).reshape(-1, len(worst)).max(axis=1)
            for part, several in population_laws(rows, worst, settings.candidates, MAKING_SEED)
        ]
    )
    ranked = np.argsort(-hidden, kind="stable").tolist()
    strata = plausible_strata(rows, settings.candidates, MAKING_SEED)
    asked = target.delta
    for round_ in range(settings.rounds):
        skipped = settings.skipped[min(round_, len(settings.skipped) - 1)]
        chosen = ranked[skipped : skipped + settings.populations]
        whole, several = of_populations(rows, worst, {k + 1: strata[k] for k in chosen}, own=pairs)
        together = step_laws(whole)
        smaller = PrivacyTarget(epsilon=target.epsilon, delta=asked)
        noise = least_on_steps(together, smaller, several).on_steps_of(laws.step)
        found = exact_steps_delta(rows, noise, target.epsilon, pairs)
        if found <= target.delta:
            return noise
        if skipped == 0:
            asked *= settings.overshoot * target.delta / found
    raise InvalidTarget(
        f"no noise was found with delta = {target.delta:g} at epsilon = {target.epsilon:g} in all populations that "
        "such a sample may be of: give more reference rows, a larger epsilon or delta, or use coupled_gaussian."
    )
