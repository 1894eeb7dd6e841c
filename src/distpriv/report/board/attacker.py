"""What an attacker sees: the two cases as two curves, before and after, and in sentences what that allows."""

from collections.abc import Iterator, Mapping

from distpriv.framework.arrays import Floats
from distpriv.modelling.telling_curves import TellingCurves
from distpriv.report.board.facts import BoardFacts
from distpriv.report.figures import Axis, Series, lines
from distpriv.report.page import Beside, Block, Bullets, Figure, Section
from distpriv.report.protection import percent_at_most

__all__ = ["attacker_section", "profile", "two_curves"]

TRUST = {
    "sampling": "only that the data were drawn as the policy says",
    "gaussian": "that the data were drawn as the policy says, and that the statistics vary from dataset to dataset as "
    "a bell curve does",
    "assumed": "everything listed as assumed below, which the data may contradict",
}


def attacker_section(facts: BoardFacts) -> Section:
    """Return the section."""
    release = facts.release
    certificate = release.certificate if release.joint is None else release.joint
    return Section(
        "What an attacker sees",
        *_curves(facts),
        Bullets(
            *facts.protection.sentences,
            f"To believe this one has to believe {TRUST[certificate.trust]}.",
            "It is about what these numbers say of the protected cases. It does not stop anyone from learning them "
            "elsewhere, and it is not about single persons.",
        ),
    )


def _curves(facts: BoardFacts) -> Iterator[Block]:
    found = facts.curves
    if found is None:
        return
    before, after = percent_at_most(facts.protection.undefended), percent_at_most(facts.modelled)
    of_all = "" if not facts.protection.several else " by this release alone"
    model = facts.release.model
    ball = model is not None and model.provenance.drawing.robust is not None
    drawn = ", if records are drawn as modelled" if ball else ""
    yield two_curves(
        found,
        f"Published as they are, the numbers would tell the cases apart {before} of the time{drawn}.",
        f"As published{of_all}, {after} of the time{drawn}: the more the curves cover each other, the less can be "
        "told.",
    )


def two_curves(found: TellingCurves, before: str, after: str) -> Beside:
    """Return what an attacker sees before and after noise, side by side, each with its caption."""
    return Beside(_two("before", found, found.before, before), _two("after", found, found.after, after))


def _two(name: str, found: TellingCurves, curves: Mapping[str, Floats], caption: str) -> Figure:
    most = max(float(each.max()) for both in (found.before, found.after) for each in both.values())
    return lines(
        name,
        [Series(case, found.grid, density, markers=False) for case, density in curves.items()],
        x=Axis(
            "along the most telling direction",
            unit="standard deviations",
            limits=(float(found.grid[0]), float(found.grid[-1])),
        ),
        y=Axis("how likely", unit="density", limits=(0.0, 1.08 * most)),
        caption=caption,
        alt=f"{caption} Two bell curves, of which {found.overlap(curves):.0%} lie one over the other.",
    )


def profile(facts: BoardFacts) -> Figure:
    """Return δ against ε, with noise and without."""
    shown = [
        Series(name, facts.epsilons[deltas > 1e-9], deltas[deltas > 1e-9], markers=False)
        for name, deltas in (("without noise", facts.deltas_without), ("as published", facts.deltas_with))
        if (deltas > 1e-9).any()
    ]
    target = facts.release.certificate.target
    if target.delta > 0:
        shown.append(Series("what was asked for", [target.epsilon], [target.delta]))
    return lines(
        "trade-off",
        shown,
        x=Axis("ε, how much more likely an answer may make one case", unit=None),
        y=Axis("δ, how often it may say more than that", unit="probability", log=True),
        caption=f"Privacy against ε{facts.about}, for statistics that follow a bell curve: the lower the "
        "curve, the less the numbers say. A proven bound where the noise is not Gaussian.",
        alt=f"δ falls as ε grows; at ε = 0 it is {facts.deltas_with[0]:.2g} with noise, and "
        f"{facts.deltas_without[0]:.2g} without.",
    )
