"""How long the mechanisms that search take, a whole plan, and the least majorant against cvxpy in the same run.

Usage: python -m benchmarks.planning [optimal] [certified] [plan]
"""

import importlib
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from paper.setting import paper_query

import distpriv as dp
from distpriv.framework.arrays import Floats
from distpriv.guarantees.certificate import Assurance
from distpriv.mechanisms.search.least_majorant import least_majorant
from distpriv.planning.candidates import CANDIDATES
from distpriv.planning.merit import Merit
from distpriv.planning.running import attempt

TARGET = dp.PrivacyTarget(epsilon=1.0, delta=1e-3)
ASSURANCES: tuple[Assurance, ...] = ("checked", "proved")
SECRETS = {
    "one pair": dp.Share("income = '>50K'", values=(0.45, 0.55)),
    "all pairs": dp.Share("income = '>50K'", between=(0.3, 0.7), within=0.1),
}


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """Return how long some work takes, and what it gives."""
    start = time.perf_counter()
    answer = work()
    return time.perf_counter() - start, answer


def shifted(size: int, count: int) -> Floats:
    """Make matrices ddᵀ − Σ with random shifts and covariances, and zero."""
    rng = np.random.default_rng(0)
    factors = rng.normal(size=(count, size, size)) / np.sqrt(size)
    shifts = 3 * rng.normal(size=(count, size))
    matrices = np.einsum("ki,kj->kij", shifts, shifts) - factors @ factors.transpose(0, 2, 1) - 0.1 * np.eye(size)
    return np.concatenate([matrices, np.zeros((1, size, size))])


def by_scs(matrices: Floats) -> float:
    """Solve the same program with cvxpy and SCS, and return the trace."""
    cp: Any = importlib.import_module("cvxpy")
    unknown = cp.Variable(matrices[0].shape, symmetric=True)
    program = cp.Problem(cp.Minimize(cp.trace(unknown)), [unknown >> matrix for matrix in matrices])
    return float(program.solve(solver="SCS"))


def optimal() -> None:
    """Print the time of the least majorant, as a ratio to SCS, and how their traces differ."""
    importlib.import_module("cvxpy")  # a second of its own
    for size, count in ((5, 10), (5, 100), (20, 100), (50, 10)):
        matrices = shifted(size, count)
        ours, found = timed(lambda m=matrices: least_majorant(np.ones(len(m[0])), m))  # type: ignore[misc]
        theirs, trace = timed(lambda m=matrices: by_scs(m))  # type: ignore[misc]
        print(
            f"optimal, {size} statistics, {count} pairs: {ours:.2f} s, SCS {theirs:.2f} s (ratio {ours / theirs:.2f}); "
            f"trace {np.trace(found):.6g}, SCS {trace:.6g} ({np.trace(found) / trace - 1:+.1e})"
        )


def certified() -> None:
    """Print the time of the certified mechanism on the Adult data, one pair and all pairs of close shares."""
    for title, share in SECRETS.items():
        model = dp.model(dp.datasets.adult(), paper_query(), share, records=100, reference="population")
        taken, mechanism = timed(lambda m=model: dp.mechanisms.certified_gaussian(m, TARGET, objective="noise"))  # type: ignore[misc]
        print(
            f"certified, {title} ({len(model.protected_pairs)} ordered): {taken:.1f} s, "
            f"rms {mechanism.noise.expected_rms:.4g}, holds: {mechanism.certificate.holds}"
        )


def plan() -> None:
    """Print the time of a plan on the Adult data that tries what can win, against one that tries every mechanism."""
    for title, share in SECRETS.items():
        model = dp.model(dp.datasets.adult(), paper_query(), share, records=100, processes=1, reference="population")
        print(f"plan, {title} ({len(model.protected_pairs)} ordered), processor time in one process:")
        print(f"  {_shares(model)}")
        for assurance in ASSURANCES:
            plans, seconds = [], []
            for every in (False, True):
                fresh = dp.model(
                    dp.datasets.adult(), paper_query(), share, records=100, processes=1, reference="population"
                )
                before = time.process_time()
                plans.append(dp.plan(fresh, TARGET, assurance, all=every, seed=0, processes=1))
                seconds.append(time.process_time() - before)
            said = [f"{found.mechanism.name}, error {found.chosen.error:.4g}" for found in plans if found.chosen]
            same = "the same noise" if plans[0].mechanism == plans[1].mechanism else "NOT the same noise"
            print(
                f"  {assurance}: {seconds[0]:.1f} s ({said[0]}), with all=True {seconds[1]:.1f} s ({said[1]}): "
                f"ratio {seconds[1] / seconds[0]:.1f}, {same}"
            )


def _shares(model: dp.QueryModel) -> str:
    """Run the mechanisms of a plan one by one, and return the share of each that takes 1 % at least."""
    taken: dict[str, float] = {}
    for candidate in CANDIDATES:
        before = time.process_time()
        attempt(candidate, model, TARGET, Merit.of(model), 0)
        taken[candidate.name] = time.process_time() - before
    total = sum(taken.values())
    largest = sorted(taken, key=lambda name: -taken[name])
    shown = [f"{name} {taken[name] / total:.0%}" for name in largest if taken[name] >= 0.01 * total]
    return f"{total:.1f} s, every mechanism one by one: {', '.join(shown)}"


def main() -> None:
    """Run the sections named on the command line, or all of them."""
    sections = {"optimal": optimal, "certified": certified, "plan": plan}
    for name in sys.argv[1:] or sections:
        sections[name]()


if __name__ == "__main__":
    main()
