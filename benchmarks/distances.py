"""How fast transport distances are found, against POT and networkx inside the same search, in one run."""

import importlib
import multiprocessing
import resource
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from distpriv.distances import closeness_profile, closeness_radius, wasserstein_inf
from distpriv.distances.point_sets import PointSets, distance
from distpriv.distances.radius_search import RadiusSearch
from distpriv.distances.transport_graph import GraphTransport
from distpriv.framework.arrays import Floats

DELTA = 0.01
MILLION = 1_000_000


def samples(count: int, columns: int) -> tuple[Floats, Floats]:
    """Two samples of one law, the second shifted by a tenth."""
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(2, count, columns))
    return x, y + 0.1


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """Return how long some work takes, the better of two, and what it gives."""
    taken = []
    for _ in range(2):
        start = time.perf_counter()
        answer = work()
        taken.append(time.perf_counter() - start)
    return min(taken), answer


class ByPot(GraphTransport):
    """The same pairs, judged by optimal transport with cost 1 beyond the radius."""

    def moved(self, radius: float, required: int) -> tuple[int, int]:  # noqa: ARG002 (always exact enough)
        """Return what moves, rounded to whole units; POT computes in floats."""
        ot = importlib.import_module("ot")
        pairs, n, m = self.pairs_within(radius), len(self.sets.x), len(self.sets.y)
        cost = np.ones((n, m))
        cost[pairs.x, pairs.y] = 0
        plan = ot.emd(np.full(n, 1 / n), np.full(m, 1 / m), cost, numItermax=10_000_000)
        moved = round(float(plan[cost == 0].sum()) * self.sets.total)
        return moved, moved


class ByNetworkx(GraphTransport):
    """The same pairs, matched by Hopcroft and Karp in Python."""

    def moved(self, radius: float, required: int) -> tuple[int, int]:  # noqa: ARG002 (always exact enough)
        """Return how many points are matched."""
        nx = importlib.import_module("networkx")
        pairs, n = self.pairs_within(radius), len(self.sets.x)
        graph = nx.Graph()
        graph.add_nodes_from(range(n + len(self.sets.y)))
        graph.add_edges_from(zip(pairs.x.tolist(), (pairs.y + n).tolist(), strict=True))
        matched = len(nx.bipartite.hopcroft_karp_matching(graph, top_nodes=range(n))) // 2
        return matched, matched


class Plain(RadiusSearch):
    """A search without a first guess: bisect the distances of all pairs from the nearest neighbours on."""

    def least(self, required: int) -> float:
        """Bisect, as one would without this library."""
        sets = self.transport.sets
        lengths = distance(sets.x[:, np.newaxis], sets.y, sets.norm)
        share = required / sets.total
        nearest = max(float(np.quantile(lengths.min(axis=axis), share, method="lower")) for axis in (0, 1))
        candidates = np.unique(lengths[lengths >= nearest])
        first, last = 0, len(candidates) - 1
        while first < last:
            middle = (first + last) // 2
            enough = self._suffices(float(candidates[middle]), required)
            first, last = (first, middle) if enough else (middle + 1, last)
        return float(candidates[last])


def _least(search: type[RadiusSearch], transport: type[GraphTransport], sets: PointSets, required: int) -> float:
    return search(transport(sets.merged())).least(required)


def compared() -> None:
    """Compare with other libraries on a thousand points in five dimensions, inside one search and inside another."""
    x, y = samples(1000, 5)
    sets = PointSets.checked(x, y, None, None, 1)
    for delta in (0.0, DELTA):
        required = sets.total - round(delta * sets.total)
        work = partial(closeness_radius, x, y, delta) if delta else partial(wasserstein_inf, x, y)
        whole, radius = timed(work)
        name = f"closeness at δ = {delta}" if delta else "W∞"
        print(f"1000 points in 5-D, {name}, whole call: {whole:.3f} s, radius {radius:.6f}")
        for search, label in ((RadiusSearch, "the same search"), (Plain, "plain bisection")):
            ours = None
            for package, transport in (("scipy", GraphTransport), ("ot", ByPot), ("networkx", ByNetworkx)):
                try:
                    importlib.import_module(package)
                except ImportError:
                    print(f"  {package} is not installed: nothing to compare with")
                    continue
                taken, found = timed(partial(_least, search, transport, sets, required))
                ours = ours or taken
                agreement = "same radius" if found == radius else f"radius {found:.6f}"
                print(
                    f"  {label}, {package}: {taken:.3f} s, {taken / ours:.1f} times ours in it, "
                    f"{taken / whole:.0f} times the whole call, {agreement}"
                )


def measured(count: int, columns: int, task: str, answer: "multiprocessing.Queue[tuple[float, float, int]]") -> None:
    """Do one task in a process of its own; report the radius, seconds and peak memory."""
    x, y = samples(count, columns)
    x, y = (x[:, 0], y[:, 0]) if columns == 1 else (x, y)
    work: dict[str, Callable[[], float]] = {
        "W∞": lambda: wasserstein_inf(x, y),
        "W∞, one point fewer": lambda: wasserstein_inf(x, y[:-1]),
        "closeness at δ = 0.01": lambda: closeness_radius(x, y, DELTA),
        "profile of 4 δ": lambda: float(closeness_profile(x, y, [0.001, 0.01, 0.05, 0.1])[1]),
    }
    start = time.perf_counter()
    radius = work[task]()
    taken = time.perf_counter() - start
    answer.put((radius, taken, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss))


def large() -> None:
    """Measure time and peak memory on large sets."""
    context = multiprocessing.get_context("spawn")
    for count, columns in ((5000, 5), (MILLION, 1)):
        for task in ("W∞", "W∞, one point fewer", "closeness at δ = 0.01", "profile of 4 δ"):
            answer = context.Queue()
            process = context.Process(target=measured, args=(count, columns, task, answer))
            process.start()
            radius, taken, peak = answer.get()
            process.join()
            print(f"{count:,} points in {columns}-D, {task}: {taken:.2f} s, radius {radius:.6f}, {peak / 1024:.0f} MB")


if __name__ == "__main__":
    large()  # first: a new process begins with the peak memory of the one that started it
    compared()
