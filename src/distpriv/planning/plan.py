"""A plan: mechanisms on one model, and the one with the least error whose certificate holds."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import evolve, field, frozen

from distpriv._version import __version__
from distpriv.deadline import Deadline
from distpriv.errors import InvalidInput, NotCertified
from distpriv.framework.arrays import Floats
from distpriv.framework.domains import one_of, real, whole
from distpriv.framework.folders import write_whole
from distpriv.framework.frames import frame_of
from distpriv.framework.target import PrivacyTarget
from distpriv.guarantees.attack_accuracy import undefended_attack_accuracy
from distpriv.guarantees.certificate import ASSURANCE, Assurance
from distpriv.guarantees.mechanism import AdditiveMechanism
from distpriv.guarantees.relaxation import made_for
from distpriv.mechanisms.hypotheses import require_target
from distpriv.mechanisms.search.noise_floor import plain_floor
from distpriv.modelling.model import QueryModel
from distpriv.modelling.public_knowledge import Prior, PublicKnowledge
from distpriv.modelling.utility import Objective, Weights
from distpriv.planning.branch_and_bound import Pruning, branch_and_bound
from distpriv.planning.candidates import CANDIDATES, Choice, chosen_from
from distpriv.planning.composition import Composition, Earlier
from distpriv.planning.criterion import Criterion, MaxError
from distpriv.planning.option import Option, Refusal, Skipped, Watch, unwatched
from distpriv.planning.running import run_all
from distpriv.planning.table import gaussian_price, plan_gains, plan_text
from distpriv.progress import Progress, silent

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Plan", "plan"]

COLUMNS = ("mechanism", "noise", "estimate", "information", "delta", "keeps_target", "assurance", "attacker", "chosen")


@frozen(kw_only=True)
class Plan:
    """What could be released, at what error and what risk; made by `distpriv.plan`.

    >>> import distpriv as dp
    >>> model = dp.gaussian_model(
    ...     means={"low": [40, 50], "high": [42, 46]}, covariances=[[2, 0], [0, 25]], pairs=[("low", "high")]
    ... )
    >>> plan = dp.plan(model, dp.PrivacyTarget(epsilon=1, delta=0.001), weights="units")
    >>> plan.chosen.name, plan.mechanism.certificate.holds_at(plan.assurance)
    ('certified_gaussian', True)
    >>> round(plan.undefended_attack_accuracy, 3), round(plan.chosen.attack_accuracy, 3)
    (0.792, 0.577)
    >>> round(plan.public_error, 3), round(plan.chosen.estimate_error, 3), round(plan.chosen.information, 3)
    (5.657, 2.434, 0.815)
    >>> {name: round(error, 3) for name, error in plan.public_errors.items()}
    {'statistic_1': 1.732, 'statistic_2': 5.385}
    >>> plan.made_for == plan.target  # as there is no ball around a reference
    True
    >>> plan.public.mean, plan.weights, plan.objective
    (array([41., 48.]), array([1., 1.]), 'estimate')
    >>> few = {"max_error": {"statistic_1": 0.5}, "mechanisms": ["certified_laplace"]}
    >>> limited = dp.plan(model, plan.target, weights="units", **few)
    >>> limited.max_errors, limited.chosen, limited.nearest.name
    ({'statistic_1': 0.5}, None, 'certified_laplace')
    >>> print(limited.refusal())
    no mechanism meets epsilon = 1, delta = 0.001 at assurance 'checked' with errors as small as asked for, as the best
    of them, certified_laplace, has 1.38 in 'statistic_1' where at most 0.5 is allowed: allow more, or ask for a larger
    epsilon or delta.
    >>> plan.options[-1].name, plan.options[-1].mechanism.certificate.holds, plan.chosen in plan.alternatives
    ('wasserstein', True, False)
    >>> print(plan.skipped[0].name, "was not tried:", plan.skipped[0].reason)
    no_noise was not tried: it is at assurance 'assumed' at best on this model.
    >>> print(plan.refusals[0].name, "does not apply:", plan.refusals[0].reason)
    coupled_gaussian does not apply: coupled samples need rows, and this model has none: make it with distpriv.model(…).
    >>> print(str(plan).splitlines()[0])
    PLANNED  attack accuracy ≤ 57.7 % (chance 50 %, undefended 79... %) · ε = 1, δ = 0.001, checked
    >>> {name: round(share, 3) for name, share in plan.gains.items()}
    {'statistic_1': 0.014, 'statistic_2': 0.898}
    >>> plan.to_rows()[0]["mechanism"], bool(plan.to_frame().loc["certified_gaussian", "chosen"])
    ('certified_gaussian', True)
    >>> plan.plot().get_xscale(), plan.report("plan.html").name
    ('linear', 'plan.html')
    >>> plan.to_dict()["chosen"], plan.to_dict()["target"]
    ('certified_gaussian', {'epsilon': 1.0, 'delta': 0.001})
    """

    model: QueryModel = field(repr=False)
    """The law of the statistics, by scenario."""
    target: PrivacyTarget
    """The (ε, δ) that was asked for."""
    assurance: Assurance
    """What may have to be believed."""
    criterion: Criterion = field(repr=False)
    """What options are compared by, and which errors are allowed."""
    undefended_attack_accuracy: float
    """How often the best attacker is right without noise."""
    options: tuple[Option, ...] = field(repr=False)
    """Every mechanism that was tried and applies, least cost first; among equals the better assurance."""
    refusals: tuple[Refusal, ...] = field(repr=False)
    """Every mechanism that was tried and does not apply, and why."""
    skipped: tuple[Skipped, ...] = field(repr=False, default=())
    """Every mechanism that was not tried, and why it would not have been chosen, or for lack of time."""
    out_of_time: bool = False
    """Whether time ran out, so that the choice is the best found until then: another machine may choose otherwise."""

    @property
    def made_for(self) -> PrivacyTarget:
        """The (ε, δ) that noise has for the reference itself: less than the target if a ball around it costs some."""
        return made_for(self.model, self.target)

    @property
    def public(self) -> PublicKnowledge:
        """What is known of the statistics without a release."""
        return self.criterion.public

    @property
    def weights(self) -> Floats:
        """What an error in each statistic costs: the diagonal of Q."""
        return self.criterion.weights

    @property
    def objective(self) -> Objective:
        """What options are compared by: the error of their estimates or that of their noise."""
        return self.criterion.objective

    @property
    def max_errors(self) -> Mapping[str, float]:
        """The largest errors that are allowed, by statistic; none for those not named."""
        return self.criterion.max_errors

    @property
    def public_error(self) -> float:
        """The weighted root mean square error of printing the public mean, which tells an attacker nothing."""
        return self.public.error(self.weights)

    @property
    def public_errors(self) -> dict[str, float]:
        """The root mean square error of printing the public mean, by statistic."""
        return self.public.errors

    @property
    def gains(self) -> dict[str, float]:
        """The share of the public uncertainty that a release removes, by statistic; empty where none is possible."""
        return {} if self.chosen is None else dict(plan_gains(self).by_statistic)

    @property
    def chosen(self) -> Option | None:
        """The least cost of what holds at the assurance asked for, with no error too large; None if nothing does."""
        return next((option for option in self.options if option.may_be_used(self.assurance)), None)

    @property
    def nearest(self) -> Option | None:
        """The least cost of what holds at the assurance asked for, however large its errors; None if nothing does."""
        return next((option for option in self.options if option.mechanism.certificate.holds_at(self.assurance)), None)

    @property
    def alternatives(self) -> tuple[Option, ...]:
        """Every mechanism that was tried, applies and was not chosen."""
        chosen = self.chosen
        return tuple(option for option in self.options if option is not chosen)

    @property
    def at_floor(self) -> bool:
        """Whether noise only blurs the lattice: what varies anyway hides the secret, and needs no more noise.

        >>> import distpriv as dp
        >>> model = dp.gaussian_model(
        ...     means={"a": [40], "b": [41]}, covariances=[[100]], pairs=[("a", "b")], steps=[1]
        ... )
        >>> dp.plan(model, dp.PrivacyTarget.from_attack_accuracy(0.6), mechanisms=["certified_gaussian"]).at_floor
        True
        """
        if self.chosen is None or not self.chosen.mechanism.noise.is_gaussian:
            return False
        noise = self.chosen.mechanism.noise.covariance
        return bool((np.diag(noise) <= 1.01 * np.diag(plain_floor(self.model).covariance)).all())

    @property
    def mechanism(self) -> AdditiveMechanism:
        """The mechanism to use.

        Raises:
            NotCertified: there is none.
        """
        if self.chosen is None:
            raise self.refusal()
        return self.chosen.mechanism

    def refusal(self) -> NotCertified:
        """Return why there is no mechanism to use."""
        asked = f"epsilon = {self.target.epsilon:g}, delta = {self.target.delta:g} at assurance {self.assurance!r}"
        nearest = self.nearest
        if nearest is None and (long := [each for each in self.skipped if each.long]):
            return NotCertified(
                f"nothing was found yet that meets {asked}, as {long[0].name} was not tried: {long[0].reason}"
            )
        if nearest is None or not nearest.too_large:
            return NotCertified(
                f"no mechanism meets {asked} on this model: print the plan to see why, and ask for a larger epsilon or "
                "delta, or for less assurance."
            )
        name = nearest.too_large[0]
        return NotCertified(
            f"no mechanism meets {asked} with errors as small as asked for, as the best of them, {nearest.name}, has "
            f"{self.criterion.errors(nearest.mechanism.noise.covariance)[name]:.3g} in {name!r} where at most "
            f"{self.max_errors[name]:g} is allowed: allow more, or ask for a larger epsilon or delta."
        )

    def to_dict(self) -> dict[str, Any]:
        """Return everything as numbers, lists and text; keys stay the same from version to version."""
        provenance = self.model.provenance
        return {
            "distpriv": __version__,
            "target": {"epsilon": self.target.epsilon, "delta": self.target.delta},
            "assurance": self.assurance,
            "statistics": list(self.model.names),
            "weights": self.weights.tolist(),
            "objective": self.objective,
            "max_error": dict(self.max_errors),
            "public_error": self.public_error,
            "public_errors": self.public_errors,
            "gains": self.gains,
            "scenarios": list(self.model.distributions),
            "protected_pairs": [list(pair) for pair in self.model.protected_pairs],
            "model": {"method": provenance.method, "records": provenance.records, "draws": provenance.draws},
            **({} if provenance.drawing.robust is None else {"robust": self._ball()}),
            "undefended_attack_accuracy": self.undefended_attack_accuracy,
            "chosen": None if self.chosen is None else self.chosen.name,
            "out_of_time": self.out_of_time,
            "options": [option.to_dict() for option in self.options],
            "refusals": [{"mechanism": refusal.name, "reason": refusal.reason} for refusal in self.refusals],
            "skipped": [{"mechanism": skipped.name, "reason": skipped.reason} for skipped in self.skipped],
        }

    def _ball(self) -> dict[str, float]:
        left = self.made_for
        return {
            "radius": self.model.provenance.drawing.robust or 0.0,
            "epsilon": left.epsilon,
            "delta": left.delta,
            "wider": gaussian_price(self.target, left),
        }

    def to_rows(self) -> list[dict[str, Any]]:
        """Return for each option its errors, whether it keeps the target at this assurance, and its attacker."""
        return [
            {
                "mechanism": option.name,
                "noise": option.error,
                "estimate": option.estimate_error,
                "information": option.information,
                "delta": option.mechanism.certificate.delta,
                "keeps_target": option.may_be_used(self.assurance),
                "assurance": option.mechanism.certificate.assurance,
                "attacker": option.attack_accuracy,
                "chosen": option is self.chosen,
            }
            for option in self.options
        ]

    def to_frame(self) -> Any:
        """Return the rows of `to_rows` as a pandas frame, by the name of the mechanism.

        Raises:
            InvalidInput: pandas is not installed.
        """
        return frame_of(self.to_rows(), "mechanism", COLUMNS, "plan.to_rows()")

    def plot(self, axes: "Axes | None" = None) -> "Axes":
        """Draw the errors of all options on a logarithmic axis, with the choice and the public mean marked.

        Args:
            axes: where to draw; new Matplotlib axes when not given.

        Returns:
            The axes, to be changed or saved with ``axes.figure.savefig(…)``.
        """
        from distpriv.report.figures import plan_axes

        return plan_axes(self, axes)

    def report(self, path: str | Path) -> Path:
        """Write one self-contained page for those who have to decide whether to release so.

        Args:
            path: the file, such as ``"plan.html"``; one that is there is replaced.

        Returns:
            The file.

        Raises:
            InvalidInput: it cannot be written.
        """
        from distpriv.report.page import plan_page, render

        place = Path(path)
        try:
            write_whole(place, render(plan_page(self)))
        except OSError as failure:
            raise InvalidInput(
                f"the file {str(path)!r} cannot be written ({failure.strerror}): give another one."
            ) from failure
        return place

    def _repr_html_(self) -> str:
        from distpriv.report.page import notebook_view, plan_page

        return notebook_view(plan_page(self, figures=False))

    def __str__(self) -> str:
        return plan_text(self)


def plan(
    model: QueryModel,
    target: PrivacyTarget,
    assurance: Assurance = "checked",
    weights: Weights = "relative",
    *,
    objective: Objective = "estimate",
    max_error: MaxError = None,
    prior: Prior = None,
    after: Earlier | None = None,
    mechanisms: Choice = None,
    all: bool = False,  # noqa: A002 - the word for it
    seed: int | None = None,
    processes: int | None = None,
    seconds: float | None = 20.0,
    progress: Progress = silent,
    watch: Watch = unwatched,
) -> Plan:
    r"""Choose the mechanism of least error among those whose certificate holds at the assurance asked for.

    A noisy answer is worth what it adds to public knowledge: the mean of the scenarios can be printed without it. So
    the error is that of the estimates, :math:`\sqrt{\operatorname{tr}(QE)}`, Q the diagonal of the weights and E the
    covariance of what the best linear guess from the noisy answer and the scenarios misses. What would not be chosen is
    not tried, and the plan says why: by what is proved of it or, of mechanisms that draw datasets, by what few draws
    say. The choice is that among all.

    Args:
        model: the model of the statistics.
        target: the (ε, δ) to meet.
        assurance: ``"proved"``, ``"checked"`` or ``"assumed"``: what may have to be believed.
        weights: ``"relative"`` for errors in public standard deviations, a table as one statistic, ``"units"`` for
            errors in the units of the statistics, or multiples of the former by name; see `utility_weights`.
        objective: ``"estimate"`` to compare mechanisms by the error of the estimates, ``"noise"`` by that of the noise,
            :math:`\sqrt{\operatorname{tr}(QN)}`, N its covariance.
        max_error: the largest error of statistics, by name, with which a release is of use; what has a larger one is
            not chosen.
        prior: the probability of each scenario, by name, that estimates start from; the same for all when not given.
        after: earlier releases of the dataset, as `distpriv.earlier_releases` returns them: noise is then widened
            until all releases hold together.
        mechanisms: names of those to choose from, or their options by name, as in
            ``{"coupled_gaussian": {"draws": 20_000}}``; all of them when not given. Those given are all tried.
        all: whether to try, and show, those as well that would not be chosen.
        seed: of the mechanisms that draw datasets; a fresh one when not given, which is recorded.
        processes: how many to use, by mechanisms that draw as well; as many as pay off when not given, and with 1 no
            other is started.
        seconds: of a processor, after which the best so far is taken: after half of them searches stop to improve what
            they have. A mechanism that may be used is looked for however long it takes, and there is no budget with
            None, with `mechanisms` or with `all`. A plan that runs out of time says so (`Plan.out_of_time`), and may be
            another one on another machine; a release has the noise of the plan that is given to it.
        progress: is told how far the work is.
        watch: is called with every option, refusal or mechanism that is skipped as soon as that is known, what costs
            nothing first; earlier releases are counted at the end.

    Returns:
        A plan, which prints as a table. Where no mechanism holds, it says so and why; only `Plan.mechanism` raises.

    Raises:
        InvalidInput: the model, the target, or what mechanisms are chosen by, cannot be used.
        NotCertified: the model has a ball around its reference that leaves nothing of the target.

    >>> import distpriv as dp
    >>> model = dp.gaussian_model(
    ...     means={"low": [40, 50], "high": [42, 46]},
    ...     covariances=[[2, 0], [0, 25]],
    ...     pairs=[("low", "high")],
    ...     steps=[0.01, 1],
    ... )
    >>> found = dp.plan(model, dp.PrivacyTarget(epsilon=1, delta=0.001), weights="units")
    >>> found.chosen.name, found.mechanism.certificate.holds
    ('certified_gaussian', True)
    >>> round(found.public_error, 2), round(found.chosen.estimate_error, 2), round(found.chosen.error, 2)
    (5.66, 2.59, 55.29)
    """
    require_target(target)
    one_of("assurance", assurance, tuple(ASSURANCE), InvalidInput)
    criterion = Criterion.of(model, weights=weights, objective=objective, prior=prior, max_error=max_error)
    made_for(model, target)
    if processes is not None:
        whole("processes", processes, InvalidInput, at_least=1, cure="1 does all the work in this process")
        model = _using(model, processes)
    candidates = chosen_from(CANDIDATES, mechanisms)
    composition = Composition(earlier=after, model=model, assurance=assurance, criterion=criterion)
    skipped: list[Skipped] = []
    out_of_time = False
    cure = "it is how long a plan may take, such as 20; None for as long as it takes"
    budget = None if seconds is None else Deadline(seconds=real("seconds", seconds, InvalidInput, above=0, cure=cure))
    if all or mechanisms is not None:
        results = run_all(
            candidates, model, target, criterion, seed=seed, processes=processes, progress=progress, watch=watch
        )
    else:
        pruning = Pruning(model=model, target=target, assurance=assurance, criterion=criterion, seed=seed)
        results, skipped, out_of_time = branch_and_bound(candidates, pruning, composition, progress, watch, budget)
    results = composition.of(results)
    options = [option for option in results if isinstance(option, Option)]
    by_rows = [option.attack_accuracy for option in options if option.mechanism.certificate.law is not None]
    return Plan(
        model=model,
        target=target,
        assurance=assurance,
        criterion=criterion,
        undefended_attack_accuracy=max([undefended_attack_accuracy(model), *by_rows]),
        options=tuple(sorted(options, key=lambda o: (o.cost, -ASSURANCE[o.mechanism.certificate.assurance]))),
        refusals=tuple(refusal for refusal in results if isinstance(refusal, Refusal)),
        skipped=tuple(skipped),
        out_of_time=out_of_time,
    )


def _using(model: QueryModel, processes: int) -> QueryModel:
    """Return the model with rows that are drawn in so many processes at most."""
    simulator = model.simulator
    if simulator is None or simulator.processes == processes:
        return model
    return evolve(model, simulator=evolve(simulator, processes=processes))
