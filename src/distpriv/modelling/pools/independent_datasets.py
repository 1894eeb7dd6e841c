"""Datasets that are independent draws from a large table, of whose strata only samples are held."""

from functools import partial

import numpy as np
from attrs import frozen

from distpriv.framework.arrays import Floats, Rows
from distpriv.framework.queries import Query
from distpriv.modelling.pools.held_stratum import HeldStratum
from distpriv.modelling.pools.row_pool import RowPool
from distpriv.modelling.sampling import block_size, evaluate, reads_order
from distpriv.modelling.simulator import RowSimulator
from distpriv.modelling.streams import run_blocks

__all__ = ["IndependentDatasets"]


@frozen(kw_only=True)
class IndependentDatasets:
    """Draws datasets as a simulator does whose tables are held as samples, and no more than are independent."""

    rows: RowSimulator

    def room(self, scenario: str) -> int | None:
        """Return how many datasets of a scenario are independent; nothing where any number is."""
        limits = [stratum.datasets for stratum in self._strata(scenario)]
        return min((limit for limit in limits if limit is not None), default=None)

    def samples(self, scenario: str, draws: int, seed: int) -> Floats:
        """Draw datasets and return their statistics, one row each: fewer than asked for where there is no room."""
        room = self.room(scenario)
        count = draws if room is None else min(draws, room)
        picks = np.concatenate(
            [
                stratum.pilot(count, seed=seed, name=f"{scenario} {number}", replacement=self.rows.replacement)
                for number, stratum in enumerate(self._strata(scenario))
            ],
            axis=1,
        )
        size = block_size(self.rows.query, picks.shape[1])
        blocks = [picks[start : start + size] for start in range(0, count, size)]
        task = partial(_evaluated, self.rows.query, self.rows.pool(scenario))
        stream = self.rows.stream(scenario, seed)
        return np.concatenate(run_blocks(task, blocks, [len(block) for block in blocks], stream))

    def _strata(self, scenario: str) -> list[HeldStratum]:
        populations = self.rows.pool(scenario).populations
        assert populations is not None
        return [
            HeldStratum(rows=stratum.rows, population=populations[side], size=stratum.size, pilot_size=stratum.size)
            for stratum, side in zip(self.rows.strata(scenario), (True, False), strict=False)
        ]


def _evaluated(query: Query, pool: RowPool, rng: np.random.Generator, rows: Rows) -> Floats:
    return evaluate(query, pool, rng.permuted(rows, axis=1) if reads_order(query) else rows)
