"""A plan: mechanisms on one model, and the one with the least error whose certificate holds."""

from typing import Any

from attrs import field, frozen

from distpriv._version import __version__
from distpriv.errors import InvalidInput, NotCertified
from distpriv.framework.arrays import Floats, array_field
from distpriv.framework.domains import one_of, whole
from distpriv.framework.target import PrivacyTarget
from distpriv.guarantees.attack_accuracy import undefended_attack_accuracy
from distpriv.guarantees.certificate import TRUST, Trust
from distpriv.guarantees.mechanism import AdditiveMechanism
from distpriv.mechanisms.hypotheses import require_target
from distpriv.modelling.model import QueryModel
from distpriv.modelling.utility import Weights, utility_weights
from distpriv.planning.candidates import CANDIDATES, Choice, chosen_from
from distpriv.planning.earlier import Earlier, Settlement
from distpriv.planning.option import Option, Refusal, Skipped
from distpriv.planning.running import run_all
from distpriv.planning.table import plan_table
from distpriv.planning.trying import Prospects, try_what_can_win
from distpriv.progress import Progress, silent

__all__ = ["Plan", "plan"]


@frozen(kw_only=True)
class Plan:
    """What could be released, at what error and what risk; made by `distpriv.plan`.

    >>> import distpriv as dp
    >>> model = dp.gaussian_model(
    ...     means={"low": [40, 50], "high": [42, 46]}, covariances=[[2, 0], [0, 25]], pairs=[("low", "high")]
    ... )
    >>> plan = dp.plan(model, dp.PrivacyTarget(epsilon=1, delta=0.001))
    >>> plan.chosen.name, plan.mechanism.certificate.holds_at(plan.trust)
    ('certified_laplace', True)
    >>> round(plan.undefended_attack_accuracy, 3), round(plan.chosen.attack_accuracy, 3)
    (0.792, 0.656)
    >>> plan.options[-1].name, plan.options[-1].mechanism.certificate.holds, plan.chosen in plan.alternatives
    ('wasserstein', True, False)
    >>> print(plan.skipped[0].name, "was not tried:", plan.skipped[0].reason)
    no_noise was not tried: it is at trust 'assumed' at best on this model.
    >>> print(plan.refusals[0].name, "does not apply:", plan.refusals[0].reason)
    coupled_gaussian does not apply: coupled samples need rows, and this model has none: make it with distpriv.model(…).
    >>> print(str(plan).splitlines()[0])
    ε = 1, δ = 0.001, trust 'gaussian': certified_laplace
    >>> plan.to_dict()["chosen"], plan.to_dict()["target"]
    ('certified_laplace', {'epsilon': 1.0, 'delta': 0.001})
    """

    model: QueryModel = field(repr=False)
    """The law of the statistics, by scenario."""
    target: PrivacyTarget
    """The (ε, δ) that was asked for."""
    trust: Trust
    """What may have to be believed."""
    weights: Floats = array_field()
    """What an error in each statistic costs: the diagonal of Q."""
    undefended_attack_accuracy: float
    """How often the best attacker is right without noise."""
    options: tuple[Option, ...] = field(repr=False)
    """Every mechanism that was tried and applies, least error first; among equals the better trust."""
    refusals: tuple[Refusal, ...] = field(repr=False)
    """Every mechanism that was tried and does not apply, and why."""
    skipped: tuple[Skipped, ...] = field(repr=False, default=())
    """Every mechanism that was not tried, and why it would not have been chosen."""

    @property
    def chosen(self) -> Option | None:
        """The least error among the certificates that hold at the trust asked for; None if none does."""
        return next((found for found in self.options if found.mechanism.certificate.holds_at(self.trust)), None)

    @property
    def alternatives(self) -> tuple[Option, ...]:
        """Every mechanism that was tried, applies and was not chosen."""
        chosen = self.chosen
        return tuple(found for found in self.options if found is not chosen)

    @property
    def mechanism(self) -> AdditiveMechanism:
        """The mechanism to use.

        Raises:
            NotCertified: there is none.
        """
        if self.chosen is None:
            raise NotCertified(
                f"no mechanism meets epsilon = {self.target.epsilon:g}, delta = {self.target.delta:g} at trust "
                f"{self.trust!r} on this model: print the plan to see why, and ask for a larger epsilon or delta, or "
                "for less trust."
            )
        return self.chosen.mechanism

    def to_dict(self) -> dict[str, Any]:
        """Return everything as numbers, lists and text; keys stay the same from version to version."""
        provenance = self.model.provenance
        return {
            "distpriv": __version__,
            "target": {"epsilon": self.target.epsilon, "delta": self.target.delta},
            "trust": self.trust,
            "statistics": list(self.model.names),
            "weights": self.weights.tolist(),
            "scenarios": list(self.model.distributions),
            "protected_pairs": [list(pair) for pair in self.model.protected_pairs],
            "model": {"method": provenance.method, "records": provenance.records, "draws": provenance.draws},
            "undefended_attack_accuracy": self.undefended_attack_accuracy,
            "chosen": None if self.chosen is None else self.chosen.name,
            "options": [found.to_dict() for found in self.options],
            "refusals": [{"mechanism": refusal.name, "reason": refusal.reason} for refusal in self.refusals],
            "skipped": [{"mechanism": skipped.name, "reason": skipped.reason} for skipped in self.skipped],
        }

    def __str__(self) -> str:
        return plan_table(self)


def plan(
    model: QueryModel,
    target: PrivacyTarget,
    trust: Trust = "gaussian",
    weights: Weights = None,
    *,
    after: Earlier | None = None,
    mechanisms: Choice = None,
    all: bool = False,  # noqa: A002 - the word for it
    seed: int | None = None,
    processes: int | None = None,
    progress: Progress = silent,
) -> Plan:
    r"""Choose the mechanism of least error among those whose certificate holds at the trust asked for.

    The error is :math:`\sqrt{\operatorname{tr}(QS)}`, S the covariance of the noise and Q the diagonal of the weights.
    What would not be chosen is not tried, and the plan says why: by what is proved of it or, of mechanisms that draw
    datasets, by what few draws say. The choice is that among all.

    Args:
        model: the model of the statistics.
        target: the (ε, δ) to meet.
        trust: ``"sampling"``, ``"gaussian"`` or ``"assumed"``: what may have to be believed.
        weights: which statistics' errors matter more, by name or in order; ``"relative"`` for errors in shares.
        after: earlier releases of the dataset, as `distpriv.earlier_releases` returns them: noise is then widened
            until all releases hold together.
        mechanisms: names of those to choose from, or their options by name, as in
            ``{"coupled_gaussian": {"draws": 20_000}}``; all of them when not given. Those given are all tried.
        all: whether to try, and show, those as well that would not be chosen.
        seed: of the mechanisms that draw datasets; a fresh one when not given, which is recorded.
        processes: how many to use where all are tried; as many as pay off when not given.
        progress: is told how far the work is.

    Returns:
        A plan, which prints as a table. Where no mechanism holds, it says so and why; only `Plan.mechanism` raises.

    Raises:
        InvalidInput: the model, the target, the trust or the weights cannot be used.

    >>> import distpriv as dp
    >>> model = dp.gaussian_model(
    ...     means={"low": [40, 50], "high": [42, 46]},
    ...     covariances=[[2, 0], [0, 25]],
    ...     pairs=[("low", "high")],
    ...     steps=[0.01, 1],
    ... )
    >>> found = dp.plan(model, dp.PrivacyTarget(epsilon=1, delta=0.001))
    >>> found.chosen.name, found.mechanism.certificate.holds
    ('certified_laplace', True)
    """
    require_target(target)
    one_of("trust", trust, tuple(TRUST), InvalidInput)
    costs = utility_weights(model, weights)
    if processes is not None:
        whole("processes", processes, InvalidInput, at_least=1, cure="1 does all the work in this process")
    candidates = chosen_from(CANDIDATES, mechanisms)
    settlement = Settlement(earlier=after, model=model, trust=trust, weights=costs)
    skipped: list[Skipped] = []
    if all or mechanisms is not None:
        results = run_all(candidates, model, target, costs, seed=seed, processes=processes, progress=progress)
    else:
        prospects = Prospects(model=model, target=target, trust=trust, weights=costs, seed=seed)
        results, skipped = try_what_can_win(candidates, prospects, settlement, progress)
    results = settlement.of(results)
    options = [found for found in results if isinstance(found, Option)]
    return Plan(
        model=model,
        target=target,
        trust=trust,
        weights=costs,
        undefended_attack_accuracy=undefended_attack_accuracy(model),
        options=tuple(sorted(options, key=lambda o: (o.error, -TRUST[o.mechanism.certificate.trust]))),
        refusals=tuple(found for found in results if isinstance(found, Refusal)),
        skipped=tuple(skipped),
    )
