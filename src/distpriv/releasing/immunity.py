"""Releases whose cost adds up even where questions depend on earlier answers.

Laplace noise hides *every* pair of datasets that differ in k records, not only most of them. Given the answers so far
the next question is fixed, and so is its ε: for each pair of datasets the ε of all releases add up, with δ = 0
(`docs/proofs/joint_releases.md`, "Noise that adds up whatever is asked").
"""

from collections.abc import Sequence

import numpy as np

from distpriv.framework.arrays import Floats
from distpriv.framework.target import PrivacyTarget
from distpriv.guarantees.certificate import Certificate
from distpriv.guarantees.evidence import Evidence
from distpriv.mechanisms.hypotheses import sufficient_group
from distpriv.modelling.model import QueryModel
from distpriv.noise.lattice import on_lattice
from distpriv.noise.laws import NoiseLaw

__all__ = ["THEOREM", "every_dataset_epsilon", "immune_certificate", "may_be_immune"]

THEOREM = "noise that hides every pair of coupled datasets, release by release"

ROUNDING = 1e-12
"""By which share ε is reported above what was computed."""


def may_be_immune(noise: NoiseLaw) -> bool:
    """Tell whether noise is of the kind that hides every pair of datasets with δ = 0: Laplace along all axes.

    >>> from distpriv.noise.laws import LaplaceNoise
    >>> may_be_immune(LaplaceNoise.isotropic(2, 1.0))
    True
    """
    return len(noise.parts) == 1 and len(noise.laplace_scales) == noise.dimension


def every_dataset_epsilon(noise: NoiseLaw, sensitivities: Floats, group: int | None) -> float:
    """Return ε of a release for every two datasets that differ in so many records; infinite where there is none.

    Args:
        noise: the noise of the release, drawn on its lattice.
        sensitivities: how much one record can move each of its statistics.
        group: in how many records the datasets differ; None where that is not known.

    >>> from distpriv.noise.laws import LaplaceNoise
    >>> round(every_dataset_epsilon(LaplaceNoise.isotropic(1, 10.0), np.array([0.5]), 10), 6)
    0.5
    """
    if not may_be_immune(noise) or group is None:
        return np.inf
    cost = on_lattice(noise).cost
    if cost.failure > 0:
        return np.inf
    moves = np.abs(noise.laplace_axes).T @ (group * sensitivities)
    return float((moves / noise.laplace_scales).sum() * (1 + ROUNDING) + 2 * cost.divergence)


def immune_certificate(stack: QueryModel, noises: Sequence[NoiseLaw], total: PrivacyTarget) -> Certificate:
    """Return what holds for several releases together, whatever made anyone ask for them."""
    group = sufficient_group(stack)
    ends = np.cumsum([noise.dimension for noise in noises])
    parts = np.split(stack.record_sensitivities, ends[:-1])
    epsilons = [every_dataset_epsilon(noise, part, group) for noise, part in zip(noises, parts, strict=True)]
    spent = float(sum(epsilons))
    return Certificate(
        target=total,
        epsilon=spent if np.isfinite(spent) else total.epsilon,
        delta=0.0 if np.isfinite(spent) else 1.0,
        assurance="proved",
        theorem=THEOREM,
        evidence=(
            Evidence.of("DP104", records=group, differ=group),
            Evidence.of("DP108", epsilons=epsilons),
        ),
    )
