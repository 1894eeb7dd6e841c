r"""Several releases from one dataset, certified as one.

Releases share their data, so their ε do not add up: two that say nothing alone can say everything together. What is
certified is the stack :math:`(F_1 + Z_1, …, F_t + Z_t)` as one release, with the noise that earlier answers have had. A
new release has its noise widened until the stack holds. Under the Gaussian model that is the exact check, or the proven
bound where there is Laplace noise; for any other query it is a test on coupled draws (`joint_draws`).

All of that is about questions, and noise, that were fixed before the first answer, or that no answer had a part in at
least. Where that cannot be said, only noise that hides every pair of datasets adds up (`immunity`).
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, Literal, TypeVar

from attrs import evolve, field, frozen

from distpriv.errors import BudgetSpent, InvalidInput, QuestionNotDeclared
from distpriv.framework.queries import Query
from distpriv.framework.target import PrivacyTarget
from distpriv.guarantees.certificate import ASSURANCE, Assurance, Certificate
from distpriv.guarantees.certify import gaussian_certificate, moments_delta
from distpriv.guarantees.evidence import Evidence
from distpriv.guarantees.mechanism import AdditiveMechanism
from distpriv.guarantees.relaxation import allowing_for_ball, calibration_target, discretised_certificate, made_for
from distpriv.law.cells import MOST_STATISTICS, RowGrid
from distpriv.modelling.from_rows import remodelled
from distpriv.modelling.model import QueryModel
from distpriv.noise.integers import Discrepancy
from distpriv.noise.lattice import on_lattice
from distpriv.noise.laws import NoiseLaw
from distpriv.releasing.certified_laws import require_same_moments
from distpriv.releasing.immunity import immune_certificate, may_be_immune
from distpriv.releasing.joint_draws import JointDraws
from distpriv.releasing.joint_exact import cells_of, joint_exact_certificate
from distpriv.releasing.stack import stackable, stacked

__all__ = [
    "THEOREM",
    "EarlierRelease",
    "EarlierReleases",
    "Questions",
    "about_questions",
    "widening",
    "widening_evidence",
]

Questions = Literal["alone", "first", "declared", "assumed", "immune"]
"""Why questions that depend on answers are no danger.

`alone`: nothing remembers other releases. `first`: there was no answer yet. `declared`: all questions and their noise
were fixed before the first answer. `assumed`: nobody chose a question by an answer. `immune`: the noise hides every
pair of datasets, so that what it costs adds up whatever is asked.
"""

WIDEST = 1e4
"""Noise that would have to be so many times wider is refused: nothing would be left to read."""

CLOSE = 1.002
"""Noise is at most so many times wider than it need be."""

T = TypeVar("T")

Certifier = Callable[[float], Certificate]
"""From how much wider the new noise is to the certificate of the stack."""

THEOREM = "all releases of the dataset certified as one"


@frozen(kw_only=True)
class EarlierRelease:
    """A release that has been made: what was asked, and the noise its answer has.

    >>> from distpriv.releasing.joint import EarlierRelease
    >>> import distpriv as dp
    >>> from distpriv.noise.laws import GaussianNoise
    >>> earlier = EarlierRelease(query=dp.Query(age=dp.mean("age")), noise=GaussianNoise.isotropic(1, 2.0))
    >>> earlier.query.names, earlier.noise.expected_rms, earlier.words
    (('age',), 2.0, 'a declared question')
    """

    query: Query
    """What was asked."""
    noise: NoiseLaw
    """The law of the noise that the answer has."""
    position: int | None = None
    """Its number among the releases of the dataset; none for a question that was declared and not asked yet."""
    values: tuple[float, ...] | None = None
    """What was answered, in the order of the query; none for a question that was declared and not asked yet."""
    laws: Mapping[str, Any] | None = field(default=None, repr=False, eq=False)
    """What it was certified on, as `laws_to_dict` wrote it; none before it is written down."""

    @property
    def words(self) -> str:
        """What to call it in a sentence."""
        return "a declared question" if self.position is None else f"release {self.position}"


@frozen(kw_only=True)
class EarlierReleases:
    """The earlier releases of a dataset, which a new one has to be certified with as one, and what all may cost.

    Made by `distpriv.earlier_releases`, for `distpriv.plan(…, after=…)`. `calibrated` widens the noise of a new release
    until all releases hold together; `certified` says what holds with its noise as it is.

    >>> from distpriv.releasing.joint import EarlierRelease, EarlierReleases
    >>> import distpriv as dp
    >>> from distpriv.noise.laws import GaussianNoise
    >>> query, secret = dp.Query(age=dp.mean("age")), dp.Share("income = '>50K'", values=(0.45, 0.55))
    >>> model = dp.model(dp.datasets.adult().slice(0, 1000), query, secret, records=100)
    >>> target = dp.PrivacyTarget(epsilon=1, delta=0.01)
    >>> asked = EarlierRelease(query=dp.Query(hours=dp.mean("hours_per_week")), noise=GaussianNoise.isotropic(1, 2.0))
    >>> earlier = EarlierReleases(releases=(asked,), total=target)
    >>> earlier.stack(model).names
    ('1. hours', '2. age')
    >>> alone = dp.mechanisms.certified_gaussian(model, target)
    >>> mechanism, joint = earlier.calibrated(model, alone, "checked")
    >>> joint.holds, mechanism.noise.expected_rms > alone.noise.expected_rms
    (True, True)
    >>> earlier.certified(model, mechanism, "checked").delta == joint.delta
    True
    """

    releases: tuple[EarlierRelease, ...]
    """The releases so far, in their order."""
    total: PrivacyTarget
    """What all of them and the next one may cost together."""
    seed: int | None = None
    """Of coupled draws, where they are needed; a fresh one when not given."""
    questions: Questions = "assumed"
    """Why it is no danger if a question depends on an answer."""
    place: int | None = None
    """Where among the others the question of a model stands; after all of them when not given."""
    _models: dict[Query, QueryModel] = field(factory=dict, init=False, repr=False, eq=False)
    _calibrated: list[tuple[QueryModel, Assurance, AdditiveMechanism, Certificate]] = field(
        factory=list, init=False, repr=False, eq=False
    )
    """What was found to hold together with them: mechanisms as they are, and the certificate of the stack."""
    _widenings: list[tuple[QueryModel, Assurance, AdditiveMechanism, float]] = field(
        factory=list, init=False, repr=False, eq=False
    )
    """How many times wider the noise of mechanisms has to be at least."""

    def calibrated(
        self, model: QueryModel, mechanism: AdditiveMechanism, assurance: Assurance
    ) -> tuple[AdditiveMechanism, Certificate]:
        """Return the mechanism with its noise widened until the stack holds at this assurance, and its certificate.

        Raises:
            BudgetSpent: no noise makes the stack hold.
        """
        if self.questions == "immune" and not may_be_immune(mechanism.noise):
            raise QuestionNotDeclared(
                f"{mechanism.name} does not hide every dataset by itself, which a question that may depend on earlier "
                "answers needs: use group_privacy_laplace for all releases of the dataset, declare all questions "
                'before the first answer, or say adaptive = "assumed" if none depends on an answer.'
            )
        if not self.releases and self.questions != "immune" and self._implied(mechanism.certificate, assurance):
            return mechanism, evolve(mechanism.certificate, target=self.total)
        if not mechanism.noise.is_sum_of_parts:
            return mechanism, self._as_it_is(model, mechanism, assurance)
        for known, at, held, certificate in self._calibrated:
            if known is model and at == assurance and held is mechanism:
                return held, certificate
        found = self._found(model, mechanism, assurance)
        self._calibrated.append((model, assurance, *found))
        return found

    def _found(
        self, model: QueryModel, mechanism: AdditiveMechanism, assurance: Assurance
    ) -> tuple[AdditiveMechanism, Certificate]:
        """Look for the least widening that holds, by every way to certify it in turn."""
        widest = None
        least = self.least_widening(model, mechanism, assurance)
        for certify in self._certifiers(model, mechanism, assurance):
            factor = _least_factor(lambda factor, certify=certify: certify(factor).holds_at(assurance), least)  # type: ignore[misc]
            if factor is not None:
                return self._widened(mechanism, factor), certify(factor)
            widest = certify(WIDEST)
            estimate = widest.delta if widest.law is None else widest.law.estimate
            if ASSURANCE[widest.assurance] >= ASSURANCE[assurance] and self.total.delta < estimate < 1:
                break  # it is the total that is too small, not the way to certify, whose margins may be
        raise BudgetSpent(self._no_room(model, widest))

    def _as_it_is(self, model: QueryModel, mechanism: AdditiveMechanism, assurance: Assurance) -> Certificate:
        """Return the stack's certificate with noise that must not be widened: its own certificate would not hold."""
        found = self.certified(model, mechanism, assurance)
        if not found.holds_at(assurance):
            raise BudgetSpent(
                f"{mechanism.name} makes noise that is less private when it is wider, and as it is all releases "
                f"together have delta = {found.delta:.3g} at epsilon = {self.total.epsilon:g} and assurance "
                f"{found.assurance!r}, where the total allows {self.total.delta:g} at assurance {assurance!r}: use "
                "another mechanism."
            )
        return found

    def least_widening(self, model: QueryModel, mechanism: AdditiveMechanism, assurance: Assurance) -> float:
        """Return a factor below which noise is too narrow by moments alone, which take no time; 1 if they are mute.

        >>> from distpriv.releasing.joint import EarlierReleases
        >>> import distpriv as dp
        >>> query, secret = dp.Query(age=dp.mean("age")), dp.Share("income = '>50K'", values=(0.45, 0.55))
        >>> model = dp.model(dp.datasets.adult().slice(0, 1000), query, secret, records=100)
        >>> alone = dp.mechanisms.certified_gaussian(model, dp.PrivacyTarget(epsilon=1, delta=0.01))
        >>> stricter = EarlierReleases(releases=(), total=dp.PrivacyTarget(epsilon=0.5, delta=0.01))
        >>> 1 < stricter.least_widening(model, alone, "checked") <= (
        ...     stricter.calibrated(model, alone, "checked")[0].noise.expected_rms / alone.noise.expected_rms + 1e-9
        ... )
        True
        """
        if not mechanism.noise.is_sum_of_parts:
            return 1.0
        for known, at, held, factor in self._widenings:
            if known is model and at == assurance and held is mechanism:
                return factor
        factor = self._least_by_moments(model, mechanism, assurance)
        self._widenings.append((model, assurance, mechanism, factor))
        return factor

    def _least_by_moments(self, model: QueryModel, mechanism: AdditiveMechanism, assurance: Assurance) -> float:
        whole, laws = self.stack(model), [release.noise for release in self.releases]
        within = made_for(model, calibration_target(self.total))
        if not self._by_moments(whole, assurance) or not stackable([*laws, mechanism.noise]):
            return 1.0

        def holds(factor: float) -> bool:
            return moments_delta(whole, within, stacked([*laws, mechanism.noise.widened(factor)])) <= within.delta

        return _least_factor(holds) or 1.0

    def _by_moments(self, whole: QueryModel, assurance: Assurance) -> bool:
        """Tell whether the stack may be certified by its moments."""
        exact = whole.query is not None and whole.query.has_exact_moments
        return self.questions != "immune" and (assurance == "assumed" or (assurance == "checked" and exact))

    def certified(self, model: QueryModel, mechanism: AdditiveMechanism, assurance: Assurance) -> Certificate:
        """Return what holds for the stack when the mechanism's noise stays as it is, at this assurance if possible.

        Raises:
            BudgetSpent: there is no way to certify it.
        """
        found: Certificate | None = None
        for certify in self._certifiers(model, mechanism, assurance):
            found = certify(1.0)
            if found.holds_at(assurance):
                return found
        if found is None:
            raise BudgetSpent(self._no_room(model, None))
        return found

    def _implied(self, certificate: Certificate, assurance: Assurance) -> bool:
        """Tell whether what holds for a first release is no more than the total."""
        within = certificate.epsilon <= self.total.epsilon and certificate.delta <= self.total.delta
        return within and certificate.holds_at(assurance)

    def _widened(self, mechanism: AdditiveMechanism, factor: float) -> AdditiveMechanism:
        if factor == 1:
            return mechanism
        wider = widening_evidence(factor, len(self.releases), self.total)
        certificate = evolve(mechanism.certificate, evidence=(*mechanism.certificate.evidence, wider))
        return evolve(mechanism, noise=mechanism.noise.widened(factor), certificate=certificate)

    def _certifiers(self, model: QueryModel, mechanism: AdditiveMechanism, assurance: Assurance) -> Iterator[Certifier]:
        """Yield ways to the certificate of the stack, as functions of how much wider the new noise is."""
        laws = [release.noise for release in self.releases]
        on_lattices = calibration_target(self.total)
        within = made_for(model, on_lattices)
        whole = self.stack(model)
        if self.questions == "immune":
            left = made_for(model, self.total)
            yield lambda factor: allowing_for_ball(
                immune_certificate(whole, [*laws, mechanism.noise.widened(factor)], left), model, self.total
            )
            return

        def drawn(certificate: Certificate, factor: float) -> Certificate:
            noises = [*laws, mechanism.noise.widened(factor)]
            cost = sum((on_lattice(noise).cost for noise in noises), Discrepancy())
            return discretised_certificate(allowing_for_ball(certificate, model, on_lattices), cost, self.total)

        said = self._about_questions()

        def exactly(rows: RowGrid, factor: float) -> Certificate:
            noises = self.in_place(laws, mechanism.noise.widened(factor))
            return joint_exact_certificate(
                rows, noises, within, whole.protected_pairs, THEOREM, self._about_questions()
            )

        @cache
        def gaussian(factor: float) -> Certificate:
            noise = stacked([*laws, mechanism.noise.widened(factor)])
            return drawn(gaussian_certificate(whole, within, noise, THEOREM, said), factor)

        parts = all(noise.is_sum_of_parts for noise in (*laws, mechanism.noise))
        if self._by_moments(whole, assurance) and stackable([*laws, mechanism.noise]):
            yield gaussian
        rows = cells_of(whole)
        if rows is not None and ASSURANCE[assurance] >= ASSURANCE["checked"]:
            yield cache(lambda factor: drawn(exactly(rows, factor), factor))
        if not parts:
            if rows is None and not stackable([*laws, mechanism.noise]):
                raise BudgetSpent(self._on_steps(whole))
            return
        if all(whole.scenarios[one].couples_with(whole.scenarios[other]) for one, other in whole.protected_pairs):
            draws = JointDraws.of(whole, laws, mechanism.noise, within, self.seed)
            yield cache(lambda factor: drawn(draws.certificate(factor, THEOREM, said), factor))

    def stack(self, model: QueryModel) -> QueryModel:
        """Return the model of all statistics released and to be released."""
        if model.query is None:
            raise InvalidInput("a release needs a model that was made from rows: make it with distpriv.model(…).")
        if model.query not in self._models:
            queries = self.in_place([release.query for release in self.releases], model.query)
            named = [
                (f"{number}. {name}", statistic)
                for number, query in enumerate(queries, start=1)
                for name, statistic in query.statistics
            ]
            whole = remodelled(model, Query(named)) if self.releases else model
            self._models[model.query] = self._held(whole, model.query) if self.releases else whole
        return self._models[model.query]

    def knows(self, query: Query, stack: QueryModel) -> None:
        """Take the model of all statistics, with those of a query in their place, as it was written down.

        >>> from distpriv.releasing.joint import EarlierReleases
        >>> import distpriv as dp
        >>> model = dp.gaussian_model(means={"a": [0], "b": [1]}, covariances=[[1]], pairs=[("a", "b")])
        >>> query = dp.Query(age=dp.mean("age"))
        >>> EarlierReleases(releases=(), total=dp.PrivacyTarget(epsilon=1)).knows(query, model)
        """
        self._models[query] = stack

    def in_place(self, others: Sequence[T], own: T) -> list[T]:
        """Return what there is of each question, with that of the model's own question where it stands.

        >>> from distpriv.releasing.joint import EarlierReleases
        >>> import distpriv as dp
        >>> second = EarlierReleases(releases=(), total=dp.PrivacyTarget(epsilon=1), place=1)
        >>> second.in_place(["first", "third"], "second")
        ['first', 'second', 'third']
        """
        place = len(others) if self.place is None else self.place
        return [*others[:place], own, *others[place:]]

    def _held(self, stack: QueryModel, own: Query) -> QueryModel:
        """Return the stack, if earlier statistics have the moments in it that they were certified on."""
        start = 0
        others: list[EarlierRelease | None] = list(self.releases)
        for release in self.in_place(others, None):
            if release is not None and release.laws is not None and stack.provenance.method == "exact moments":
                require_same_moments(release.laws, stack, start, release.words)
            start += own.dimension if release is None else release.query.dimension
        return stack

    def _about_questions(self) -> list[Evidence]:
        questions = "assumed" if self.releases and self.questions != "declared" else self.questions
        return about_questions(questions, len(self.releases) + 1)

    def _on_steps(self, whole: QueryModel) -> str:
        return (
            "unimodal noise is certified by the exact law of up to "
            f"{MOST_STATISTICS} numbers in all, and this would be {whole.dimension}: use a mechanism with Gaussian "
            "noise here, and exact_law for one release at most."
        )

    def _no_room(self, model: QueryModel, widest: Certificate | None) -> str:
        many = len(self.releases) != 1
        earlier = f"{len(self.releases)} earlier release{'s' if many else ''}"
        named = ", ".join(model.names)
        if widest is None or (widest.assurance == "proved" and widest.delta == 1):
            return (
                f"the noise of {earlier} is too narrow to be certified together with {named}, for which there is no "
                "Gaussian model that the rows bear out: plan all statistics of a dataset at assurance 'proved', at "
                "once, or with more records."
            )
        return (
            f"{earlier} leave{'' if many else 's'} no room for {named}: with {WIDEST:g} times the noise all releases "
            f"would still have delta = {widest.delta:.3g} at epsilon = {self.total.epsilon:g}, and the total allows "
            f"{self.total.delta:g}; release something else, or nothing more."
        )


def _least_factor(holds: Callable[[float], bool], least: float = 1.0) -> float | None:
    """Return about the least factor from which on a test is passed, `least` or more; None if there is none.

    Where something is known of it, the least factor is likely to be near.
    """
    if holds(least):
        return least
    low, step = least, CLOSE if least > 1 else 2.0
    while not holds(high := min(low * step, WIDEST)):
        if high >= WIDEST:
            return None
        low, step = high, min(step**3, 4.0)
    while high > low * CLOSE:
        middle = (low * high) ** 0.5
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def about_questions(questions: str, number: int) -> list[Evidence]:
    """Return what has to be said of so many questions, by why it is no danger that they may depend on answers."""
    if questions == "assumed":
        return [Evidence.of("DP324", earlier=number - 1)]
    if questions == "declared":
        return [Evidence.of("DP212", queries=number)]
    return []


def widening_evidence(factor: float, earlier: int, total: PrivacyTarget) -> Evidence:
    """Return the evidence that noise was widened for the sake of all releases.

    >>> widening(widening_evidence(1.25, 2, PrivacyTarget(epsilon=1, delta=0.01)))
    1.25
    """
    return Evidence.of("DP109", factor=factor, earlier=earlier, epsilon=total.epsilon, delta=total.delta)


def widening(evidence: Evidence) -> float | None:
    """Return how many times as wide noise is as a release alone would need; nothing where that is not said."""
    if evidence.code != "DP109":
        return None
    factor = evidence.facts.get("factor")
    if not isinstance(factor, float):
        raise InvalidInput(
            f"noise cannot have been widened {factor!r:.20} times: give the certificate as it was written."
        )
    return factor
