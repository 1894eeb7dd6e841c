"""The paper's attack, repeated: fresh rows, fresh datasets and fresh noise each time, many mechanisms together."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from attrs import evolve, frozen

from distpriv.auditing.arsenal import arsenal
from distpriv.auditing.attacks import Attack, AttackerView
from distpriv.auditing.populations import Population
from distpriv.auditing.releases import Releases, simulate_releases
from distpriv.errors import InvalidInput
from distpriv.framework.arrays import Floats, array_field
from distpriv.framework.domains import whole
from distpriv.framework.secrets import Pair
from distpriv.guarantees.mechanism import AdditiveMechanism
from distpriv.modelling.model import QueryModel, require_model
from distpriv.noise.laws import NoiseLaw, NoNoise
from distpriv.progress import Progress, silent

__all__ = ["AttackAccuracies", "attack_accuracies"]


@frozen(kw_only=True)
class AttackAccuracies:
    """How often each attack was right about each mechanism's releases, repetition by repetition."""

    mechanisms: tuple[str, ...]
    attacks: tuple[str, ...]
    accuracies: Floats = array_field()
    """By mechanism, attack and repetition."""

    def mean(self, mechanism: str, attack: str) -> float:
        """Return the accuracy over all repetitions."""
        return float(self._of(mechanism, attack).mean())

    def standard_error(self, mechanism: str, attack: str) -> float:
        """Return the standard error of that mean, from how repetitions differ."""
        found = self._of(mechanism, attack)
        return float(found.std(ddof=1) / np.sqrt(len(found)))

    def _of(self, mechanism: str, attack: str) -> Floats:
        return np.asarray(self.accuracies[self.mechanisms.index(mechanism), self.attacks.index(attack)])


def attack_accuracies(
    model: QueryModel,
    mechanisms: Mapping[str, AdditiveMechanism | NoiseLaw],
    *,
    attacks: Iterable[Any] = ("naive", "adaptive", "bayes"),
    pair: Pair | None = None,
    shadows: int = 200,
    tests: int = 200,
    repetitions: int = 50,
    shares: Sequence[float] = (0.5, 0.5),
    seed: int = 0,
    progress: Progress = silent,
) -> AttackAccuracies:
    """Repeat the paper's attack: every repetition allocates rows to shadows and tests anew, and draws from them.

    Args:
        model: the model, whose rows shadows and tests are drawn from, or f_θ where it has none.
        mechanisms: mechanisms or laws of noise, by name; `NoNoise` is the undefended release.
        attacks: names of the arsenal, attacks or scikit-learn classifiers.
        pair: the pair to tell apart; the first protected one when not given.
        shadows: how many shadow datasets in a repetition, half of each scenario.
        tests: how many test datasets in a repetition, half of each scenario.
        repetitions: how often to start again.
        shares: which shares of the rows shadows and tests are drawn from.
        seed: the same seed gives the same numbers.
        progress: told after every repetition.

    >>> from distpriv.modelling.given import gaussian_model
    >>> model = gaussian_model(means={"a": [0], "b": [1]}, covariances=[[1]], pairs=[("a", "b")])
    >>> found = attack_accuracies(model, {"undefended": NoNoise(dimension=1)}, attacks=["bayes"], repetitions=20)
    >>> round(found.mean("undefended", "bayes"), 1)
    0.7
    """
    require_model(model)
    laws = {name: m.noise if isinstance(m, AdditiveMechanism) else m for name, m in mechanisms.items()}
    if not laws or any(law.dimension != model.dimension for law in laws.values()):
        raise InvalidInput(
            f"mechanisms must be at least one, each for the model's {model.dimension} statistics, got "
            f"{ {name: law.dimension for name, law in laws.items()}!r}: give them by name, made with this model."
        )
    tried = arsenal(attacks)
    shadows = whole("shadows", shadows, InvalidInput, at_least=4, cure="the paper has 200")
    tests = whole("tests", tests, InvalidInput, at_least=2, cure="the paper has 200")
    repetitions = whole("repetitions", repetitions, InvalidInput, at_least=2, cure="the paper has 50")
    chosen = model.protected_pairs[0] if pair is None else pair
    accuracies = np.empty((len(laws), len(tried), repetitions))
    for number, sequence in enumerate(np.random.SeedSequence(seed).spawn(repetitions)):
        seeds = [int(s) for s in sequence.generate_state(4)]
        none = NoNoise(dimension=model.dimension)
        learnt, tested = (
            simulate_releases(place, chosen, none, count, seed=s)
            for place, count, s in zip(_places(model, shares, seeds[0]), (shadows, tests), seeds[1:3], strict=True)
        )
        view = AttackerView(model=model, pair=chosen, noise=none, shadows=learnt)
        accuracies[:, :, number] = _repetition(view, tested, list(laws.values()), tried, seeds[3])
        progress("repetitions", number + 1, repetitions)
    return AttackAccuracies(
        mechanisms=tuple(laws),
        attacks=tuple(attack.name for attack in tried),
        accuracies=accuracies,
    )


def _places(model: QueryModel, shares: Sequence[float], seed: int) -> tuple[Population, Population]:
    """Return where shadows and where tests are drawn from, no row in both."""
    if model.simulator is None:
        return model, model
    shadow, test = model.simulator.split(shares, seed)[:2]
    return shadow, test


def _repetition(
    view: AttackerView,
    tested: Releases,
    laws: Sequence[NoiseLaw],
    attacks: Sequence[Attack],
    seed: int,
) -> Floats:
    """Return the accuracy of every attack on every mechanism's releases of the same test datasets."""
    seeds = [int(s) for s in np.random.SeedSequence(seed).generate_state(2 * len(laws))]
    released = [tested.with_noise(law, s).released for law, s in zip(laws, seeds[::2], strict=True)]
    accuracies = np.empty((len(laws), len(attacks)))
    for column, attack in enumerate(attacks):
        if not attack.knows_noise:
            scores = attack.fit(view).score(np.concatenate([part for pair in released for part in pair]))
            accuracies[:, column] = _right(scores.reshape(len(laws), -1), len(tested.clean[0]))
            continue
        for row, law in enumerate(laws):
            informed = evolve(view, noise=law, shadows=view.shadows.with_noise(law, seeds[2 * row + 1]))
            scores = attack.fit(informed).score(np.concatenate(released[row]))
            accuracies[row, column] = _right(scores[np.newaxis], len(tested.clean[0]))[0]
    return accuracies


def _right(scores: Floats, first: int) -> Floats:
    """Return the share of right decisions, those of the first scenario standing before the others."""
    decided = scores > 0
    return np.asarray((decided[:, :first].sum(axis=1) + (~decided[:, first:]).sum(axis=1)) / scores.shape[1])
