"""Attack a mechanism, and hold what the attacks prove against what it claims."""

from collections.abc import Iterable
from typing import Any, Self

import numpy as np
from attrs import evolve, frozen

from distpriv.auditing.arsenal import arsenal
from distpriv.auditing.attacks import Attack, AttackerView, FittedAttack
from distpriv.auditing.densities import regular
from distpriv.auditing.measures import Scores, bounds, measures
from distpriv.auditing.populations import Populations, populations
from distpriv.auditing.releases import Releases, simulate_releases
from distpriv.auditing.report import AttackResult, AuditReport
from distpriv.auditing.residue_attack import residue_accuracy
from distpriv.errors import InvalidInput
from distpriv.framework.arrays import Floats
from distpriv.framework.domains import items, real, whole
from distpriv.framework.scenarios import Pair
from distpriv.framework.target import PrivacyTarget
from distpriv.guarantees.certificate import Certificate
from distpriv.guarantees.mechanism import AdditiveMechanism
from distpriv.guarantees.upper_bound import delta_upper_bound
from distpriv.modelling.model import QueryModel, require_model
from distpriv.noise.laws import NoiseLaw
from distpriv.planning.plan import Plan
from distpriv.progress import Progress, silent

__all__ = ["REQUIRED_RELEASES", "audit", "claim_of", "easiest_pair", "modelled_accuracy", "require_releases"]

REQUIRED_RELEASES = 10_000
"""The fewest releases that an audit attacks which decides over a release."""


def audit(
    plan: Plan | AdditiveMechanism,
    *,
    model: QueryModel | None = None,
    source: Any = None,
    pair: Pair | None = None,
    attacks: Iterable[Any] | None = None,
    shadows: int = 4_000,
    releases: int = 100_000,
    confidence: float = 0.95,
    seed: int = 0,
    progress: Progress = silent,
) -> AuditReport:
    """Attack simulated releases, and hold the outcome against the certificate.

    Args:
        plan: a plan, or a mechanism, which needs its `model` too.
        model: the model that the mechanism was made for.
        source: rows to draw shadow and test datasets from, a table as `distpriv.model` takes, or tables by scenario;
            the model's own rows when not given. A random half is for shadows and the other for tests.
        pair: the protected pair to tell apart; the one that is easiest to tell apart with this noise when not given, by
            moments or by what is left of a combination that repeats.
        attacks: names of the arsenal, attacks, or scikit-learn classifiers, which are trained on shadow releases.
        shadows: how many shadow datasets the attacks learn from, half of each scenario.
        releases: how many releases they are tried on, half of each scenario; fewer where the query is slow.
        confidence: the probability with which all bounds of the report hold together, at least.
        seed: the same seed gives the same report.
        progress: told as attacks are done.

    Returns:
        A report. It fails if the bound on ε exceeds the ε claimed, or that on the accuracy what (ε, δ) allows. A
        certificate that does not hold is taken to claim its target.

    Raises:
        InvalidInput: there is no such attack or pair, the model is not the mechanism's, or a number is out of range.
        NotCertified: the plan has no mechanism that holds.

    >>> import distpriv as dp
    >>> model = dp.gaussian_model(means={"a": [0], "b": [1]}, covariances=[[1]], pairs=[("a", "b")])
    >>> mechanism = dp.mechanisms.expected_value_gaussian(model, dp.PrivacyTarget(epsilon=1, delta=0.001))
    >>> report = dp.audit(mechanism, model=model, attacks=["bayes"])
    >>> report.failed, report.attacks[0].name, round(report.attacks[0].accuracy, 2)
    (False, 'bayes', 0.57)
    """
    mechanism, model = _mechanism_and_model(plan, model)
    tried = arsenal(attacks)
    shadows = whole("shadows", shadows, InvalidInput, at_least=4, cure="the paper has 200")
    releases = require_releases(releases)
    confidence = real("confidence", confidence, InvalidInput, above=0, below=1, cure="0.95 is usual")
    seed = whole("seed", seed, InvalidInput, at_least=0, cure="any whole number will do")
    chosen = _most_exposed(model, mechanism.noise) if pair is None else _protected(model, pair)
    places = populations(model, chosen, source, seed, progress)
    claim = claim_of(mechanism.certificate)
    trial = _Trial.draw(model, chosen, mechanism.noise, places, shadows, releases, seed, claim.epsilon)
    results = []
    for number, attack in enumerate(tried):
        results.append(trial.result(attack, claim.delta, confidence, (1 - confidence) / len(tried)))
        progress("attacks", number + 1, len(tried))
    return AuditReport(
        mechanism=mechanism.name,
        pair=chosen,
        epsilon=claim.epsilon,
        delta=claim.delta,
        certificate_holds=mechanism.certificate.holds,
        attack_accuracy_ceiling=claim.attack_accuracy_ceiling,
        modelled_accuracy=modelled_accuracy(model, chosen, mechanism.noise),
        attacks=tuple(sorted(results, key=lambda result: -result.accuracy)),
        confidence=confidence,
        shadows=shadows,
        releases=releases,
        seed=seed,
        populations=places.description,
    )


def require_releases(releases: object, *, required: bool = False) -> int:
    """Return how many releases to attack, or refuse a number that proves nothing.

    An audit that decides over a release may not be made blind by a small number.
    """
    if required:
        cure = 'a policy with audit = "required" needs them'
        return whole("releases", releases, InvalidInput, at_least=REQUIRED_RELEASES, cure=cure)
    return whole("releases", releases, InvalidInput, at_least=200, cure="more releases prove more")


def claim_of(certificate: Certificate) -> PrivacyTarget:
    """Return what a mechanism claims: its certificate's (ε, δ) if that holds, else the target it was made for."""
    if certificate.holds and (certificate.epsilon or certificate.delta):
        return PrivacyTarget(epsilon=certificate.epsilon, delta=certificate.delta)
    return certificate.target


def easiest_pair(model: QueryModel, noise: NoiseLaw) -> Pair:
    """Return the pair whose releases, taken as Gaussian, differ most: by the Kullback-Leibler divergence both ways."""
    return max(model.protected_pairs, key=lambda pair: _divergence(model, pair, noise.covariance))


def _most_exposed(model: QueryModel, noise: NoiseLaw) -> Pair:
    """Return the pair that is easiest to tell apart, or one that residues tell apart more often than moments any."""
    easiest = easiest_pair(model, noise)
    if all(set(pair) == set(easiest) for pair in model.protected_pairs):
        return easiest
    told = residue_accuracy(model, noise)
    leaking = max(told, key=lambda pair: told[pair], default=easiest)
    exposed = modelled_accuracy(model, easiest, noise)
    return leaking if told and told[leaking] > exposed else easiest


def _divergence(model: QueryModel, pair: Pair, noise: Floats) -> float:
    one, other = (regular(model.distributions[name].covariance + noise) for name in pair)
    shift = model.mean_shift(pair)
    traces = np.trace(np.linalg.solve(one, other)) + np.trace(np.linalg.solve(other, one))
    return float(traces + shift @ (np.linalg.solve(one, shift) + np.linalg.solve(other, shift)))


@frozen(kw_only=True, eq=False)
class _Trial:
    """All releases of an audit."""

    view: AttackerView
    calibration: Releases
    """Of the attacker's own rows: what thresholds are chosen on."""
    held_out: Releases
    """Of the modelled law: what bounds are counted on."""
    unseen: Releases
    """Of rows that no shadow has: what is measured."""

    @classmethod
    def draw(
        cls,
        model: QueryModel,
        pair: Pair,
        noise: NoiseLaw,
        places: Populations,
        shadows: int,
        releases: int,
        seed: int,
        epsilon: float,
    ) -> Self:
        seeds = [int(s) for s in np.random.SeedSequence(seed).generate_state(4)]
        learnt = simulate_releases(places.shadow, pair, noise, shadows, seed=seeds[0])
        calibration, held_out, unseen = (
            simulate_releases(place, pair, noise, releases, seed=s)
            for place, s in zip((places.shadow, places.reference, places.test), seeds[1:], strict=True)
        )
        view = AttackerView(model=model, pair=pair, noise=noise, shadows=learnt, epsilon=epsilon)
        return cls(view=view, calibration=calibration, held_out=held_out, unseen=unseen)

    def result(self, attack: Attack, delta: float, confidence: float, failure: float) -> AttackResult:
        """Fit an attack with noise and without, measure both, and bound what the first proves."""
        fitted, plain = attack.fit(self.view), attack.fit(self.view.undefended)
        proven = bounds(
            _scores(fitted, self.calibration.released),
            _scores(fitted, self.held_out.released),
            delta=delta,
            failure=failure,
        )
        return AttackResult(
            name=attack.name,
            defended=measures(_scores(fitted, self.unseen.released), confidence),
            undefended=measures(_scores(plain, self.unseen.clean), confidence),
            accuracy_lower_bound=proven.accuracy_lower_bound,
            epsilon_lower_bound=proven.epsilon_lower_bound,
        )


def _scores(fitted: FittedAttack, released: tuple[Floats, Floats]) -> Scores:
    first, second = (np.nan_to_num(fitted.score(part), nan=0.0, posinf=1e300, neginf=-1e300) for part in released)
    return first, second


def modelled_accuracy(model: QueryModel, pair: Pair, noise: NoiseLaw) -> float:
    """Return the most that Gaussian statistics allow: exact for Gaussian noise, a proven bound for other noise."""
    return (1 + delta_upper_bound(evolve(model, protected_pairs=(pair, pair[::-1])), noise, epsilon=0.0)) / 2


def _mechanism_and_model(
    plan: Plan | AdditiveMechanism, model: QueryModel | None
) -> tuple[AdditiveMechanism, QueryModel]:
    if isinstance(plan, AdditiveMechanism):
        if model is None:
            raise InvalidInput("a mechanism does not know its model: give it as audit(mechanism, model=model).")
        mechanism = plan
    else:
        if not isinstance(plan, Plan):
            raise InvalidInput(f"an audit needs a plan or a mechanism, got {plan!r}: make one with distpriv.plan(…).")
        if model is not None:
            raise InvalidInput("a plan has its own model: leave model out.")
        mechanism, model = plan.mechanism, plan.model
    require_model(model)
    if mechanism.statistics != model.names or mechanism.noise.dimension != model.dimension:
        raise InvalidInput(
            f"the mechanism releases {', '.join(mechanism.statistics)}, and the model is of {', '.join(model.names)}: "
            "give the model that the mechanism was made with."
        )
    return mechanism, model


def _protected(model: QueryModel, pair: Pair) -> Pair:
    chosen = items(pair)
    if chosen not in model.protected_pairs:
        one, other = model.protected_pairs[0]
        raise InvalidInput(f"{pair!r} is no protected pair of the model: give two scenarios such as {(one, other)!r}.")
    return chosen[0], chosen[1]
