"""Datasets that are independent draws from a large table, of whose strata only samples are held."""

from functools import partial

import numpy as np
from attrs import frozen

from distpriv.framework.arrays import Floats
from distpriv.modelling.pools.held_stratum import HeldStratum
from distpriv.modelling.sampling import block_size, evaluate_in_any_order
from distpriv.modelling.simulator import RowSimulator
from distpriv.modelling.streams import run_blocks

__all__ = ["IndependentDatasets"]


@frozen(kw_only=True)
class IndependentDatasets:
    """Draws datasets of a simulator's scenarios that are independent, as many as the rows that are held allow."""

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
        task = partial(evaluate_in_any_order, self.rows.query, self.rows.pool(scenario))
        stream = self.rows.stream(scenario, seed)
        return np.concatenate(run_blocks(task, blocks, [len(block) for block in blocks], stream))

    def _strata(self, scenario: str) -> list[HeldStratum]:
        populations = self.rows.pool(scenario).populations
        assert populations is not None
        return [
            HeldStratum(rows=stratum.rows, population=populations[side], size=stratum.size, pilot_size=stratum.size)
            for stratum, side in zip(self.rows.strata(scenario), (True, False), strict=False)
        ]
