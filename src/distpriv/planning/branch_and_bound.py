"""Trying first what can win, and what cannot win not at all."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Final

from attrs import field, frozen

from distpriv.deadline import Deadline, OutOfTime, deadline
from distpriv.errors import DistprivError
from distpriv.framework.arrays import Floats
from distpriv.framework.target import PrivacyTarget
from distpriv.guarantees.certificate import ASSURANCE, Assurance
from distpriv.guarantees.certify import LARGEST_SMOOTHING
from distpriv.guarantees.lattice_floor import has_rows, never_smooth
from distpriv.law.cells import MOST_STATISTICS
from distpriv.mechanisms.certified_laplace import noise_by_search
from distpriv.mechanisms.search.coupled_draws import SETTINGS as DRAW_SETTINGS
from distpriv.mechanisms.search.coupled_pilot import close_covariance_estimate, covariance_estimates
from distpriv.modelling.model import QueryModel
from distpriv.noise.laws import SumNoise
from distpriv.planning.bounds import best_assurance, gaussian_noise_delta_lower_bound
from distpriv.planning.call_cost import excessive_cost
from distpriv.planning.candidates import DRAWN, FREE, Candidate
from distpriv.planning.composition import Composition
from distpriv.planning.criterion import Criterion
from distpriv.planning.option import Option, Refusal, Skipped, Watch, unwatched
from distpriv.planning.running import NUMERICAL, attempt
from distpriv.progress import Progress

__all__ = ["Pruning", "branch_and_bound"]


@frozen(kw_only=True)
class PruningSettings:
    """How far estimates of a mechanism's noise may be off: its deviations as a multiple of the true ones."""

    of_line: Mapping[str, float] = field(factory=lambda: {"certified_laplace": 1.04, "exact_law": 1.1})
    """Of mechanisms judged by the search for noise along a line, which takes a tenth of their time."""
    of_pilot: float = 1.1
    """Of a pilot of few draws."""
    of_shape: float = 1.04
    """Of all draws that choose the shape, whose estimate is right to about a percent."""
    hopeful: float = 0.6
    """These draws are not made where the pilot's noise, divided by this, would still have less error."""
    line_statistics: int = 3
    """Of more statistics than this noise along one line is not tried for estimates: it was worse wherever it was."""
    share: float = 0.15
    """The share of a plan's time that a mechanism may take once another one, which takes any time, is certified."""


SETTINGS: Final = PruningSettings()


@frozen(kw_only=True)
class Pruning:
    """What can be said of mechanisms on a model before they are run."""

    model: QueryModel
    target: PrivacyTarget
    assurance: Assurance
    criterion: Criterion
    seed: int | None

    def in_order(self, candidates: Sequence[Candidate], composition: Composition) -> Iterator[Candidate]:
        """Yield them in the order in which to try them: what is quick first, then those of least estimated error.

        What costs nothing comes first, but not after earlier releases, which it has to be calibrated with. Nothing is
        estimated before its turn has come.
        """
        last = (FREE,) if composition.earlier is not None else ()
        by_turn = sorted(candidates, key=lambda c: c.turn)
        estimated = [c for c in by_turn if c.turn == DRAWN or c.name in SETTINGS.of_line]
        yield from (c for c in by_turn if c not in estimated and c.turn not in last)
        yield from sorted(estimated, key=self._error_estimate)
        yield from (c for c in by_turn if c.turn in last)

    def insufficient_assurance(self, candidate: Candidate) -> str | None:
        """Return why a certificate of the mechanism could not be at the assurance asked for; None if it could."""
        if self.unsmoothable and candidate.rests_on == "moments" and self.assurance != "assumed":
            return (
                f"{_vary_in_words(self.unsmoothable)} too little for noise to smooth the lattice, so it is assumed "
                "at best: leave such statistics out, or gather the cells of a table in an 'other' level."
            )
        best = best_assurance(candidate, self.model)
        return (
            None
            if ASSURANCE[best] >= ASSURANCE[self.assurance]
            else f"it is at assurance {best!r} at best on this model."
        )

    def dominated(self, candidate: Candidate, best: Option) -> str | None:
        """Return why the mechanism would not have a smaller error than the best found so far; None if it may have."""
        assurance = best.mechanism.certificate.assurance
        if best.name == "no_noise" and ASSURANCE[best_assurance(candidate, self.model)] <= ASSURANCE[assurance]:
            return "no noise is needed."
        try:
            found = self._exact(best) if candidate.exact else self._dominated_by_estimate(candidate, best)
        except (DistprivError, OutOfTime, *NUMERICAL):  # what cannot be computed rules nothing out
            return None
        whose = f"{best.name} leaves estimates with" if self.criterion.objective == "estimate" else f"{best.name} has"
        return None if found is None else f"{whose} an error of {best.cost:.4g}, and {found}"

    def dominated_gaussian(self, candidate: Candidate, best: Option | Refusal | None) -> str | None:
        """Return why other noise of its kind need not be tried once `certified_gaussian` holds; None if it must."""
        held = isinstance(best, Option) and best.mechanism.certificate.holds_at(self.assurance)
        if self.criterion.objective == "noise" or not held:
            return None
        if candidate.exact:
            return "certified_gaussian is the Gaussian noise that is made for estimates."
        if candidate.name == "certified_laplace" and self.model.dimension > SETTINGS.line_statistics:
            return "for more than three statistics certified_gaussian leaves better estimates than noise along a line."
        return None

    def _exact(self, best: Option) -> str | None:
        if self.criterion.objective != "noise":
            return None
        delta = gaussian_noise_delta_lower_bound(self.model, self.target, self.criterion.weights, best.error)
        over = delta > self.target.delta * (1 + 1e-6) > 0
        return f"all Gaussian noise of that error or less has a δ of {delta:.2g} or more." if over else None

    def _dominated_by_estimate(self, candidate: Candidate, best: Option) -> str | None:
        quick = candidate.name == "exact_law" and not 1 < self.model.dimension <= MOST_STATISTICS
        if candidate.name not in SETTINGS.of_line or quick:
            return self._dominated_by_draws(candidate, best)
        if self.line_noise_estimate is None:
            return None
        over = (
            self.criterion.cost(self.line_noise_estimate.covariance / SETTINGS.of_line[candidate.name] ** 2) > best.cost
        )
        about = self.criterion.cost(self.line_noise_estimate.covariance)
        return f"a search without proof puts noise along a line at about {about:.3g}." if over else None

    def _dominated_by_draws(self, candidate: Candidate, best: Option) -> str | None:
        about = self.pilot_covariances.get(candidate.name)
        if about is None:
            return None
        cost = self.criterion.cost
        if cost(about / SETTINGS.of_pilot**2) > best.cost:
            return f"a pilot of {DRAW_SETTINGS.pilot_draws:,} draws puts this one's above about {cost(about):.3g}."
        if cost(about / SETTINGS.hopeful**2) < best.cost or candidate.turn != DRAWN:
            return None
        about = close_covariance_estimate(
            candidate.name, self.model, self.target, self.criterion.weights, self.seed or 0, self._public
        )
        over = cost(about / SETTINGS.of_shape**2) > best.cost
        draws = f"{DRAW_SETTINGS.shape_draws:,} draws, or fewer"
        return f"{draws}, put this one's at about {cost(about):.4g}." if over else None

    def _error_estimate(self, candidate: Candidate) -> float:
        """Return about the error of a mechanism; 0 where nothing is known of it."""
        if candidate.name in SETTINGS.of_line:
            line = self.line_noise_estimate
            return 0.0 if line is None else self.criterion.cost(line.covariance)
        about = self.pilot_covariances.get(candidate.name)
        return 0.0 if about is None else self.criterion.cost(about)

    @cached_property
    def unsmoothable(self) -> tuple[str, ...]:
        """The statistics on whose lattice no noise can be coarse."""
        if has_rows(self.model) or not self.model.floor.any():
            return ()
        return never_smooth(self.model, LARGEST_SMOOTHING)

    @property
    def _public(self) -> Floats | None:
        """What is publicly unknown, where noise is made for estimates."""
        return self.criterion.public.covariance if self.criterion.objective == "estimate" else None

    @cached_property
    def line_noise_estimate(self) -> SumNoise | None:
        """About Laplace noise along a line, with Gaussian noise beside it; None where it cannot be estimated."""
        try:
            return noise_by_search(self.model, self.target, self.criterion.weights)
        except (DistprivError, OutOfTime, *NUMERICAL):
            return None

    @cached_property
    def pilot_covariances(self) -> dict[str, Floats]:
        """The covariances of a pilot's noise, by mechanism; none where there can be no pilot."""
        try:
            return covariance_estimates(self.model, self.target, self.criterion.weights, self.seed or 0, self._public)
        except (DistprivError, OutOfTime, *NUMERICAL):
            return {}


def branch_and_bound(
    candidates: Sequence[Candidate],
    pruning: Pruning,
    composition: Composition,
    progress: Progress,
    watch: Watch = unwatched,
    budget: Deadline | None = None,
) -> tuple[list[Option | Refusal], list[Skipped], bool]:
    """Run what may have the least error that holds, the likely first, and say of the others why they have not.

    Both are returned in the order given, and whether the budget ran out. It counts once something may be used.
    """
    found: dict[str, Option | Refusal] = {}
    skipped: dict[str, Skipped] = {}
    progress("planning", 0, len(candidates))

    late = False
    turns = {candidate.name: candidate.turn for candidate in candidates}

    def run(candidate: Candidate, reason: str | None) -> None:
        nonlocal late
        needs, allowed = None, binding
        if binding is not None and any(turns[name] != FREE and _usable(found[name], pruning) for name in found):
            allowed = binding.part(SETTINGS.share)
        try:
            if reason is None and binding is not None and binding.spent >= 1:
                raise OutOfTime
            with deadline(allowed):
                if reason is None and candidate.turn == DRAWN:
                    needs = excessive_cost(candidate.name, pruning.model, pruning.target)
                if reason is None and needs is None:
                    p = pruning
                    found[candidate.name] = attempt(candidate, p.model, p.target, p.criterion, p.seed)
        except OutOfTime:
            late = late or (binding is not None and binding.spent >= 1)
            needs = (
                f"it takes longer than a plan allows: give it more, seconds=…, or ask for it by name, "
                f"mechanisms=[{candidate.name!r}]."
            )
        if candidate.name in found:
            watch(found[candidate.name])
        else:
            skipped[candidate.name] = Skipped(name=candidate.name, reason=reason or needs or "", long=needs is not None)
            watch(skipped[candidate.name])
        progress("planning", len(found) + len(skipped), len(candidates))

    binding: Deadline | None = None

    able = []
    for each in candidates:
        reason = pruning.insufficient_assurance(each)
        if reason is None:
            able.append(each)
        else:
            run(each, reason)
    order = pruning.in_order(able, composition)
    while (candidate := _next(order, binding)) is not None:
        judged = composition.earlier is None or candidate.exact or candidate.turn == DRAWN
        if budget is not None and binding is None and any(_usable(option, pruning) for option in found.values()):
            binding = budget
        best = composition.best(found.values()) if judged else None
        reason = None
        if composition.earlier is None:
            reason = pruning.dominated_gaussian(candidate, found.get("certified_gaussian"))
        if reason is None and best is not None and (binding is None or binding.spent < 1):
            with deadline(binding):
                reason = pruning.dominated(candidate, best)
        run(candidate, reason)
    names = [candidate.name for candidate in candidates]
    return (
        [found[name] for name in names if name in found],
        [skipped[name] for name in names if name in skipped],
        late,
    )


def _next(order: Iterator[Candidate], binding: Deadline | None) -> Candidate | None:
    """Return the mechanism whose turn it is; pilots, which decide it, go by the budget."""
    with deadline(binding):
        return next(order, None)


def _usable(found: Option | Refusal, pruning: Pruning) -> bool:
    return isinstance(found, Option) and found.may_be_used(pruning.assurance)


def _vary_in_words(names: Sequence[str]) -> str:
    """Return that statistics vary, in words.

    >>> _vary_in_words(["a"]), _vary_in_words(["a", "b"]), _vary_in_words(["a", "b", "c"])
    ('a varies', 'a and 1 other vary', 'a and 2 others vary')
    """
    match len(names) - 1:
        case 0:
            return f"{names[0]} varies"
        case 1:
            return f"{names[0]} and 1 other vary"
        case others:
            return f"{names[0]} and {others} others vary"
