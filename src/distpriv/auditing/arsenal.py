"""The attacks an audit tries, by name."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from distpriv.auditing.attacks import (
    Attack,
    BayesAttack,
    ClassifierAttack,
    QuadraticAttack,
    adaptive_attack,
    boosting_attack,
    naive_attack,
)
from distpriv.auditing.lattice_attack import LatticeAttack
from distpriv.auditing.projection_attack import ProjectionAttack
from distpriv.auditing.residue_attack import ResidueAttack
from distpriv.errors import InvalidInput
from distpriv.framework.domains import did_you_mean, items

__all__ = ["ARSENAL", "arsenal"]

ARSENAL: Mapping[str, Callable[[], Attack]] = {
    "naive": naive_attack,
    "adaptive": adaptive_attack,
    "boosting": boosting_attack,
    "quadratic": QuadraticAttack,
    "bayes": BayesAttack,
    "lattice": LatticeAttack,
    "residue": ResidueAttack,
    "projection": ProjectionAttack,
}
"""The paper's attack first, those that know the rows' own law last."""


def arsenal(attacks: Iterable[Any] | None = None) -> tuple[Attack, ...]:
    """Return attacks given by name, as attacks, or as scikit-learn classifiers; all of the arsenal when none are given.

    >>> [attack.name for attack in arsenal(["naive", "lattice"])]
    ['naive', 'lattice']
    """
    given = tuple(ARSENAL) if attacks is None else items(attacks)
    if not given:
        raise InvalidInput(f"attacks must be a list of at least one attack, got {attacks!r}: give ['bayes'], say.")
    found = tuple(_attack(attack) for attack in given)
    names = [attack.name for attack in found]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise InvalidInput(f"two attacks are named {twice[0]!r}: wrap one in ClassifierAttack(name=…, classifier=…).")
    return found


def _attack(given: Any) -> Attack:
    if isinstance(given, str):
        if given not in ARSENAL:
            raise InvalidInput(f"there is no attack {given!r}: {did_you_mean(given, ARSENAL)}")
        return ARSENAL[given]()
    if all(hasattr(given, name) for name in ("name", "knows_noise", "fit")):
        attack: Attack = given
        return attack
    return ClassifierAttack(name=type(given).__name__, classifier=given)
