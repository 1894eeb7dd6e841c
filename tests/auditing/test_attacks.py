import numpy as np
import pytest
from attrs import evolve
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import LinearSVC
from tests.auditing.shared import TOY, accuracy, fresh, view

from distpriv.auditing.arsenal import ARSENAL, arsenal
from distpriv.auditing.attacks import BayesAttack, ClassifierAttack, QuadraticAttack, adaptive_attack, naive_attack
from distpriv.errors import InvalidInput
from distpriv.guarantees.exact_delta import pair_deltas
from distpriv.noise.laws import GaussianNoise, LaplaceNoise, NoiseLaw, NoNoise, SumNoise

NOISE = GaussianNoise.of(np.array([[2.0, 1.5], [1.5, 3.0]]))
ALONG = LaplaceNoise(axes=np.array([[0.6], [0.8]]), scales=np.array([2.0]))


def best(noise: GaussianNoise | NoNoise) -> float:
    return (1 + float(pair_deltas(TOY, [("a", "b")], noise.gaussian, 0.0)[0])) / 2


@pytest.mark.parametrize("noise", [NOISE, NoNoise(dimension=2)])
def test_the_bayes_attack_is_right_as_often_as_the_total_variation_says(noise: GaussianNoise | NoNoise) -> None:
    found = accuracy(BayesAttack().fit(view(TOY, noise)), fresh(TOY, noise, 200_000))
    assert found == pytest.approx(best(noise), abs=5 * 0.5 / 200_000**0.5)


@pytest.mark.parametrize(
    "noise",
    [NOISE, ALONG, LaplaceNoise.isotropic(2, 1.5), SumNoise(parts=(ALONG, GaussianNoise.isotropic(2, 0.5)))],
)
def test_no_attack_beats_bayes(noise: NoiseLaw) -> None:
    seen, tests = view(TOY, noise), fresh(TOY, noise)
    bayes = accuracy(BayesAttack().fit(seen), tests)
    for name in ARSENAL:
        (attack,) = arsenal([name])
        assert accuracy(attack.fit(seen), tests) < bayes + 0.01, name


def test_with_forty_thousand_shadows_the_adaptive_attack_comes_within_a_hundredth_of_bayes() -> None:
    seen, tests = view(TOY, NOISE, 40_000), fresh(TOY, NOISE, 100_000)
    bayes = accuracy(BayesAttack().fit(seen), tests)
    assert accuracy(adaptive_attack().fit(seen), tests) > bayes - 0.01
    assert accuracy(QuadraticAttack().fit(seen), tests) > bayes - 0.01


def test_who_does_not_know_the_noise_learns_the_same_whatever_it_is() -> None:
    seen = view(TOY, NOISE)
    louder = evolve(seen, shadows=seen.shadows.with_noise(GaussianNoise.isotropic(2, 50.0), seed=5))
    values = fresh(TOY, NOISE, 100).released[0]
    assert np.array_equal(naive_attack().fit(seen).score(values), naive_attack().fit(louder).score(values))
    assert not np.array_equal(adaptive_attack().fit(seen).score(values), adaptive_attack().fit(louder).score(values))


def test_strong_noise_in_one_direction_does_not_hide_the_others_from_the_adaptive_attack() -> None:
    noise = GaussianNoise(axes=np.array([[0.6], [0.8]]), variances=np.array([1e6]))
    seen, tests = view(TOY, noise, 4000), fresh(TOY, noise)
    assert accuracy(adaptive_attack().fit(seen), tests) > best(noise) - 0.02
    assert accuracy(naive_attack().fit(seen), tests) < best(noise) - 0.02


@pytest.mark.parametrize("classifier", [GaussianNB(), LinearSVC(), KNeighborsClassifier(25), LogisticRegression()])
def test_any_scikit_learn_classifier_can_be_passed(classifier: object) -> None:
    (attack,) = arsenal([classifier])
    assert attack.name == type(classifier).__name__
    assert accuracy(attack.fit(view(TOY, NOISE)), fresh(TOY, NOISE, 4000)) > 0.55


@pytest.mark.parametrize("classifier", [LinearRegression(), LogisticRegression, object(), None, 3])
def test_what_does_not_score_is_refused(classifier: object) -> None:
    with pytest.raises(InvalidInput, match="needs a scikit-learn classifier with decision_function or predict_proba"):
        ClassifierAttack(name="odd", classifier=classifier)


@pytest.mark.parametrize(
    ("attacks", "message"),
    [
        (["bays"], "there is no attack 'bays': did you mean 'bayes'"),
        ([], "at least one attack"),
        ("bayes", "must be a list"),
        (["bayes", "bayes"], "two attacks are named 'bayes'"),
    ],
)
def test_attacks_that_are_none_are_refused(attacks: object, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        arsenal(attacks)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["naive", "adaptive", "boosting", "quadratic", "lattice", "residue"])
def test_shadows_of_one_scenario_only_are_refused(name: str) -> None:
    seen = view(TOY, NOISE, 100)
    first = seen.shadows.clean[0]
    one_sided = evolve(seen, shadows=evolve(seen.shadows, clean=(first, first[:0]), released=(first, first[:0])))
    (attack,) = arsenal([name])
    with pytest.raises(InvalidInput, match="there are 50 of one and 0 of the other"):
        attack.fit(one_sided)


def test_the_whole_arsenal_is_tried_unless_told_otherwise() -> None:
    assert [attack.name for attack in arsenal()] == list(ARSENAL)
    assert isinstance(arsenal([BayesAttack(name="mine")])[0], BayesAttack)
