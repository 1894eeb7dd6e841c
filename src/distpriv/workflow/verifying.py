"""Whether what a bundle promises holds, recomputed from the bundle alone."""

import os
from collections.abc import Callable, Mapping
from typing import Any

from attrs import asdict, frozen

from distpriv.errors import DistprivError
from distpriv.framework.target import PrivacyTarget
from distpriv.guarantees.certificate import TRUST, Certificate
from distpriv.guarantees.drawn import Drawn
from distpriv.modelling.description import model_from_dict
from distpriv.noise.description import noise_from_dict
from distpriv.releasing.joint import WIDER
from distpriv.workflow.bundle import read_release
from distpriv.workflow.recomputing import Claim, recomputed

__all__ = ["Check", "Verdict", "verify_bundle"]

NEAR = 1e-6
"""By which share two computations of the same δ may differ on different machines."""

NOT_CHECKED = (
    "not checked, as a bundle cannot show it: that the values are those that were drawn, that the private table was "
    "the one meant, that the moments are those of the reference, and that coupled draws are all that were made of it, "
    "with bets that others chose"
)


@frozen(kw_only=True)
class Check:
    """One thing that was looked at."""

    name: str
    passed: bool
    found: str


@frozen(kw_only=True)
class Verdict:
    """What was found of a bundle."""

    path: str
    checks: tuple[Check, ...]

    @property
    def holds(self) -> bool:
        """Whether everything that can be checked holds."""
        return all(check.passed for check in self.checks)

    @property
    def sentence(self) -> str:
        """What was found, in one sentence."""
        failed = next((check for check in self.checks if not check.passed), None)
        if failed is None:
            return f"{self.path}: the certificates hold, recomputed from the bundle alone."
        return f"{self.path} is not certified: {failed.found}"

    def to_dict(self) -> dict[str, Any]:
        """Return everything as text and truth values."""
        return {
            "holds": self.holds,
            "verdict": self.sentence,
            "checks": [asdict(check) for check in self.checks],
            "not_checked": NOT_CHECKED,
        }

    def __str__(self) -> str:
        lines = [f"  {'ok ' if check.passed else 'NO '} {check.name}: {check.found}" for check in self.checks]
        return "\n".join([self.sentence, *lines, f"  {NOT_CHECKED}."])


def verify_bundle(path: str | os.PathLike[str]) -> Verdict:
    """Recompute the certificates of a release.json, and hold them against what is written in it.

    Raises:
        InvalidInput: the file cannot be read or is no release.json.
    """
    bundle = read_release(path)
    checks = {
        "certificate": _certificate,
        "all releases together": _joint,
        "policy": _policy,
        "intervals": _intervals,
    }
    return Verdict(path=str(path), checks=tuple(_checked(name, check, bundle) for name, check in checks.items()))


def _checked(name: str, check: Callable[[Mapping[str, Any]], tuple[bool, str]], bundle: Mapping[str, Any]) -> Check:
    """Run one check; what cannot be computed does not hold."""
    try:
        passed, found = check(bundle)
    except DistprivError as refusal:
        passed, found = False, f"the {name} cannot be recomputed: {refusal}"
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, OverflowError, ArithmeticError) as failure:
        passed, found = False, f"the {name} cannot be recomputed: {failure!r} in what the bundle holds."
    return Check(name=name, passed=passed, found=found)


def _certificate(bundle: Mapping[str, Any]) -> tuple[bool, str]:
    evidence, written = bundle["evidence"], Certificate.from_dict(bundle["certificate"])
    model, noise = model_from_dict(evidence["model"]), noise_from_dict(bundle["noise"])
    if list(model.names) != bundle["statistics"]:
        return False, "the moments are of other statistics than the release."
    claim = Claim(
        mechanism=bundle["mechanism"], model=model, noises=(noise,), written=written, drawn=_drawn(evidence, "release")
    )
    wider = any(WIDER in assumption.statement for assumption in written.assumptions)
    return _compared(written, recomputed(claim), exact=not wider and bundle["mechanism"] != "optimal_unimodal")


def _joint(bundle: Mapping[str, Any]) -> tuple[bool, str]:
    if bundle["joint_certificate"] is None:
        return True, "nothing is said about other releases, as no ledger was used."
    evidence, written = bundle["evidence"], Certificate.from_dict(bundle["joint_certificate"])
    own, drawn = Certificate.from_dict(bundle["certificate"]), _drawn(evidence, "joint")
    if evidence["joint"] is None:
        if bundle["position"] != 1:
            return False, "the moments of the releases before this one are missing."
        if own.epsilon > written.target.epsilon or own.delta > written.target.delta or own.delta > written.delta:
            return False, "the release alone exceeds what all releases together may cost."
        return True, "this is the first release, and alone it stays within the total."
    noises = tuple(noise_from_dict(law) for law in evidence["joint"]["noises"])
    if noises[-1] != noise_from_dict(bundle["noise"]) or len(noises) != bundle["position"]:
        return False, "the noise that was certified together is not the noise of this release."
    model = model_from_dict(evidence["joint"]["model"])
    claim = Claim(mechanism="joint", model=model, noises=noises, written=written, drawn=drawn)
    return _compared(written, recomputed(claim), exact=True)


def _drawn(evidence: Mapping[str, Any], key: str) -> Drawn | None:
    return None if evidence["drawn"][key] is None else Drawn.from_dict(evidence["drawn"][key])


def _compared(written: Certificate, found: Certificate, *, exact: bool) -> tuple[bool, str]:
    """Hold a recomputed certificate against the written one; with wider noise than it was made for it may be better."""
    what = f"δ is {found.delta:.6g} at ε = {found.epsilon:g}, and {written.target.delta:g} is allowed"
    if not found.holds:
        return False, f"recomputed from the bundle, {what}."
    if not written.holds:
        return False, f"the bundle itself says that δ = {written.delta:.6g} exceeds its target."
    if TRUST[found.trust] < TRUST[written.trust]:
        return False, f"recomputed it holds at trust {found.trust!r} only, and {written.trust!r} is written."
    if found.epsilon > written.epsilon * (1 + NEAR) or found.delta > written.delta * (1 + NEAR):
        return False, f"the bundle says δ = {written.delta:.6g}, and recomputed {what}."
    if exact and found.delta < written.delta * (1 - NEAR):
        return False, f"the bundle says δ = {written.delta:.6g}, which its own moments and noise contradict: {what}."
    return True, f"{what}; trust {written.trust!r}."


def _policy(bundle: Mapping[str, Any]) -> tuple[bool, str]:
    policy, certificate, joint = bundle["policy"], bundle["certificate"], bundle["joint_certificate"]
    asked = {key: policy["privacy"][key] for key in ("epsilon", "delta")}
    if PrivacyTarget(**certificate["target"]) != PrivacyTarget(**asked):
        return False, "the certificate is held against another target than the policy's."
    if joint is not None and PrivacyTarget(**joint["target"]) != PrivacyTarget(**policy["ledger"]):
        return False, "the joint certificate is held against another total than the policy's."
    if set(policy["release"]["statistics"]) != set(bundle["values"]):
        return False, "the released numbers are not the statistics of the policy."
    if TRUST[certificate["trust"]] < TRUST[policy["privacy"]["trust"]]:
        return False, f"the certificate is at trust {certificate['trust']!r}, less than the policy asks for."
    return True, "targets, trust and statistics are those of the policy."


def _intervals(bundle: Mapping[str, Any]) -> tuple[bool, str]:
    noise = noise_from_dict(bundle["noise"])
    for name, half in zip(bundle["statistics"], noise.half_widths.tolist(), strict=True):
        value, (low, high) = float(bundle["values"][name]), bundle["intervals"][name]
        room = 1e-9 * max(1.0, abs(value), half) + NEAR * half
        if abs(low - (value - half)) > room or abs(high - (value + half)) > room:
            return False, f"the interval of {name!r} is not the one that its value and the noise make."
    return True, "every interval is the released value and what 95 % of the noise stay within."
