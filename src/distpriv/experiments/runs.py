"""All experiments by name, and running one of them with the time it takes."""

from collections.abc import Iterable, Mapping
from time import perf_counter
from typing import Protocol

from attrs import evolve

from distpriv.errors import InvalidInput
from distpriv.experiments.beyond import beyond
from distpriv.experiments.figure_2 import figure_2
from distpriv.experiments.figure_3 import figure_3
from distpriv.experiments.figure_4 import figure_4
from distpriv.experiments.figure_5 import figure_5
from distpriv.experiments.result import Result
from distpriv.experiments.setting import Setting
from distpriv.experiments.table_1 import table_1
from distpriv.experiments.table_2 import table_2
from distpriv.experiments.table_3 import table_3
from distpriv.framework.domains import did_you_mean, items
from distpriv.progress import Progress, silent

__all__ = ["EITHER", "EXPERIMENTS", "chosen", "run"]


class Experiment(Protocol):
    """A table or a figure."""

    def __call__(self, setting: Setting, progress: Progress = silent) -> Result:
        """Run it."""


_IN_ORDER = (table_1, table_2, figure_2, figure_3, figure_4, table_3, figure_5, beyond)
EXPERIMENTS: Mapping[str, Experiment] = {experiment.__name__: experiment for experiment in _IN_ORDER}
"""In the order of the paper; what goes beyond it is last."""


EITHER = ("table_1", "beyond")
"""What is the same in either protocol."""


def chosen(names: Iterable[str] | None = None) -> tuple[str, ...]:
    """Return the names of experiments in the paper's order, all of them when none are given.

    >>> chosen(["table_3", "table_2"])
    ('table_2', 'table_3')
    >>> chosen(["tabel_2"])
    Traceback (most recent call last):
    distpriv.errors.InvalidInput: there is no experiment 'tabel_2': did you mean 'table_2'?
    """
    given = items(names)
    for name in given:
        if name not in EXPERIMENTS:
            raise InvalidInput(f"there is no experiment {name!r}: {did_you_mean(str(name), EXPERIMENTS)}")
    return tuple(name for name in EXPERIMENTS if not given or name in given)


def run(name: str, setting: Setting, progress: Progress = silent) -> Result:
    """Run one experiment.

    >>> run("table_1", Setting()).mechanisms[4].function
    'directional_uncertainty'
    """
    started = perf_counter()
    found = EXPERIMENTS[chosen([name])[0]](setting, progress)
    return evolve(found, seconds=perf_counter() - started)
