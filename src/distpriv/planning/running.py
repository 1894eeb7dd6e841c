"""Running mechanisms side by side: those that draw rows here, the others in processes of their own where it pays."""

import os
from collections.abc import Sequence

from attrs import evolve, frozen
from joblib.externals.loky import ProcessPoolExecutor, as_completed

from distpriv.deadline import OutOfTime
from distpriv.errors import DistprivError
from distpriv.framework.target import PrivacyTarget
from distpriv.guarantees.lattice_floor import has_rows
from distpriv.guarantees.relaxation import calibration_target, discretised
from distpriv.modelling.model import QueryModel
from distpriv.planning.candidates import Candidate
from distpriv.planning.criterion import Criterion
from distpriv.planning.option import Option, Refusal, Watch, option, unwatched
from distpriv.processes import end_with_caller, usable_processes
from distpriv.progress import Progress

__all__ = ["attempt", "run_all"]

NUMERICAL = (ArithmeticError, ValueError, MemoryError)
"""What arithmetic raises where numbers overflow, do not converge or need more memory than there is."""


@frozen(kw_only=True)
class ProcessSettings:
    """Where starting processes takes longer than the work."""

    pairs: int = 20
    """Protected pairs, without rows, up to which mechanisms are quick."""
    statistics: int = 8
    """The same of statistics."""
    candidates: int = 2
    """Mechanisms that are done before a process has started."""


SETTINGS = ProcessSettings()


def attempt(
    candidate: Candidate, model: QueryModel, target: PrivacyTarget, criterion: Criterion, seed: int | None
) -> Option | Refusal:
    """Run one mechanism; what it refuses is the reason why it does not apply.

    Noise is made for a target that is a millionth smaller, and the certificate is that of noise drawn on its lattice.
    """
    try:
        made = candidate.make(
            model,
            calibration_target(target),
            weights=criterion.weights.tolist(),
            prior=criterion.public.prior,
            objective=criterion.objective,
            seed=seed,
        )
        return option(model, discretised(made, target), criterion)
    except DistprivError as refusal:
        return Refusal(name=candidate.name, reason=str(refusal), kind=type(refusal))
    except (OutOfTime, Warning):
        raise
    except Exception as failure:  # one mechanism that breaks on a model leaves the others
        reason = f"its numbers cannot be computed on this model ({type(failure).__name__}): rescale the statistics."
        return Refusal(name=candidate.name, reason=reason)


def run_all(
    candidates: Sequence[Candidate],
    model: QueryModel,
    target: PrivacyTarget,
    criterion: Criterion,
    *,
    seed: int | None,
    processes: int | None,
    progress: Progress,
    watch: Watch = unwatched,
) -> list[Option | Refusal]:
    """Run all of them, in any order, and return what came of each in the order given."""
    workers = _workers(model) if processes is None and len(candidates) > SETTINGS.candidates else (processes or 1) - 1
    found: dict[str, Option | Refusal] = {}
    progress("planning", 0, len(candidates))

    def note(name: str, result: Option | Refusal) -> None:
        found[name] = result
        watch(result)
        progress("planning", len(found), len(candidates))

    here = [each for each in candidates if workers < 1 or _looks_at_rows(each, model)]
    elsewhere = [each for each in candidates if each not in here]
    if not elsewhere:
        for candidate in here:
            note(candidate.name, attempt(candidate, model, target, criterion, seed))
        return [found[candidate.name] for candidate in candidates]
    without_rows = evolve(model, simulator=None, query=None)
    executor = ProcessPoolExecutor(max_workers=workers, initializer=end_with_caller, initargs=(os.getpid(),))
    try:
        running = {
            executor.submit(attempt, candidate, without_rows, target, criterion, seed): candidate.name
            for candidate in elsewhere
        }
        for candidate in here:
            note(candidate.name, attempt(candidate, model, target, criterion, seed))
        for done in as_completed(running):
            note(running[done], done.result())
    finally:
        executor.shutdown(wait=False, kill_workers=True)
    return [found[candidate.name] for candidate in candidates]


def _looks_at_rows(candidate: Candidate, model: QueryModel) -> bool:
    """Tell whether a mechanism draws rows, or its certificate is held against them."""
    return candidate.needs_rows or (candidate.rests_on == "moments" and has_rows(model))


def _workers(model: QueryModel) -> int:
    """Return how many processes to start: none where they would take longer to start than to work."""
    slow = len(model.protected_pairs) > SETTINGS.pairs or model.dimension > SETTINGS.statistics
    if model.simulator is None and not slow:
        return 0
    return min(usable_processes(), 4) - 1
