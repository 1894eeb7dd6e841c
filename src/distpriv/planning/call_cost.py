"""What coupled draws would take in a plan: calls of a function, each as long as some that were timed, or rows."""

from time import process_time

from attrs import frozen

from distpriv.errors import DistprivError
from distpriv.framework.target import PrivacyTarget
from distpriv.guarantees.relaxation import calibration_target, made_for
from distpriv.mechanisms.search.coupled_draws import Calibration, calibration
from distpriv.modelling.model import QueryModel
from distpriv.progress import duration

__all__ = ["CallSettings", "excessive_cost", "needed_calls", "seconds_per_call"]


@frozen(kw_only=True)
class CallSettings:
    """What draws may take in a plan where nobody asked for the mechanism by name; seconds are those of a processor."""

    affordable: float = 12.0
    """All calls together."""
    timed: int = 32
    """How many datasets are tried to time a function."""
    slow: float = 0.5
    """A single call that takes so long is timed alone."""
    rows: int = 200_000_000
    """Rows of means that are swapped, in all draws: some seconds."""


SETTINGS = CallSettings()


def excessive_cost(name: str, model: QueryModel, target: PrivacyTarget) -> str | None:
    """Return what a mechanism that draws coupled datasets needs; None if that is little.

    What it says of time is about this machine. It only decides what is tried, and says how to have it tried.
    """
    if model.query is None or model.simulator is None:
        return None
    try:
        plan = _calibrated(name, model, target)
    except DistprivError:  # which the mechanism itself says better
        return None
    if not model.query.has_functions:
        swapped = plan.all_draws * plan.swapped
        if swapped <= SETTINGS.rows:
            return None
        what = f"it swaps about {swapped:,} rows"
    else:
        seconds = 2 * plan.all_draws * seconds_per_call(model)
        if seconds <= SETTINGS.affordable:
            return None
        takes = f"which takes about {duration(seconds)} of a processor here"
        what = f"it calls functions on about {2 * plan.all_draws:,} datasets, {takes}"
    return (
        f"{what}: ask for it by name, mechanisms=[{name!r}], with progress=dp.show_progress(); a larger delta needs "
        "fewer."
    )


def needed_calls(name: str, model: QueryModel, target: PrivacyTarget) -> int:
    """Return on how many datasets functions are called: both of every pair, to choose noise and to test it."""
    return 2 * _calibrated(name, model, target).all_draws


def _calibrated(name: str, model: QueryModel, target: PrivacyTarget) -> Calibration:
    return calibration(model, made_for(model, calibration_target(target)), name=name, seed=0)


def seconds_per_call(model: QueryModel) -> float:
    """Return about how long the functions take for one dataset, with drawing it."""
    rows = model.rows()
    scenario = next(iter(model.scenarios))
    began = process_time()
    rows.samples(scenario, 1, 0)  # also makes ready what all of them share
    if (once := process_time() - began) > SETTINGS.slow:
        return once
    began = process_time()
    rows.samples(scenario, SETTINGS.timed, 1)
    return (process_time() - began) / SETTINGS.timed
