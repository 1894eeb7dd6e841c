"""How often the best attacker is right: the figures that a bundle leads with, and that `verify` computes again."""

from collections.abc import Sequence

from distpriv.errors import InvalidInput
from distpriv.framework.target import PrivacyTarget
from distpriv.guarantees.attack_accuracy import attack_accuracy_upper_bound, undefended_attack_accuracy
from distpriv.guarantees.certificate import Certificate
from distpriv.guarantees.mechanism import AdditiveMechanism
from distpriv.modelling.model import QueryModel
from distpriv.noise.laws import NoiseLaw
from distpriv.releasing.release import Release
from distpriv.releasing.stack import stacked

__all__ = ["attacker_figures", "figures"]


def attacker_figures(model: QueryModel, release: Release) -> dict[str, float]:
    """Return how often the best attacker is right: without noise, about this release, and about all so far."""
    if release.earlier is None or not release.earlier.releases:
        return figures(model, release.mechanism, None, [release.mechanism.noise], release.joint)
    laws = release.earlier.in_place([past.noise for past in release.earlier.releases], release.mechanism.noise)
    return figures(model, release.mechanism, release.earlier.stack(model), laws, release.joint)


def figures(
    model: QueryModel,
    mechanism: AdditiveMechanism,
    whole: QueryModel | None,
    noises: Sequence[NoiseLaw],
    joint: Certificate | None,
) -> dict[str, float]:
    """Return the same from models, noise and certificates.

    Those of all releases so far are given where there was an earlier one.
    """
    alone = attack_accuracy_upper_bound(model, mechanism)
    together = alone if whole is None or joint is None else _together(whole, noises, joint)
    bare = max(undefended_attack_accuracy(model), alone)
    return {"undefended": bare, "at_most": alone, "together": max(alone, together)}


def _together(whole: QueryModel, noises: Sequence[NoiseLaw], joint: Certificate) -> float:
    """Return what is known of an attacker who sees all releases: by the model of all, or by the certificate alone."""
    try:
        noise = stacked(noises)
    except InvalidInput:  # noise that is not certified together by a model
        return PrivacyTarget(epsilon=joint.epsilon, delta=joint.delta).attack_accuracy_ceiling
    every = AdditiveMechanism(name="all releases", statistics=whole.names, noise=noise, certificate=joint)
    return attack_accuracy_upper_bound(whole, every)
