"""Plans that are kept beside their policy, so that asking again, releasing and auditing do not search again.

What is kept is which mechanism was chosen, and the errors of all: nothing of the noise, and no certificate. Whoever
reads it runs that one mechanism anew on the model of the moment, and takes it only if its fresh certificate holds and
its error is the one that was kept; in every other case all mechanisms are planned as if nothing had been kept. So the
worst that a file which someone has changed can do is to have another mechanism used, certified as any.

The name of the file is a hash of everything that the choice depends on: the policy's content and the question, the rows
of the reference, earlier releases of the dataset in the ledger, and the version of the library.
"""

import hashlib
import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

from attrs import field, frozen

from distpriv._version import __version__
from distpriv.errors import InvalidInput
from distpriv.framework.folders import write_whole
from distpriv.modelling.model import QueryModel
from distpriv.planning.candidates import CANDIDATES
from distpriv.planning.option import Skipped
from distpriv.planning.plan import Plan
from distpriv.releasing.certified_laws import reference_digests
from distpriv.releasing.ledger import History
from distpriv.workflow.policy import Policy
from distpriv.workflow.strict_json import strict_json

__all__ = ["KeptPlan", "keep_plan", "kept_plan", "plan_key"]

FOLDER = Path(".distpriv") / "plans"
FORMAT = "distpriv plan 1"
LARGEST = 100_000
"""Bytes of a file that is read: what was kept has far fewer."""

MOST = 50
"""So many are kept beside a policy; the oldest make room."""

NEAR = 0.1
"""By which share the error of a fresh run may differ: draws differ, and a mechanism that was exchanged would more."""


@frozen(kw_only=True)
class KeptPlan:
    """Which mechanism was chosen, and what was found of the others."""

    chosen: str
    cost: float
    """What it was chosen by."""
    others: Mapping[str, float | None] = field(factory=dict)
    """The same of every other mechanism; None for one that does not apply, hold or was not tried."""

    @classmethod
    def of(cls, plan: Plan) -> Self | None:
        """Return what is kept of a plan; nothing of one without a choice."""
        if plan.chosen is None:
            return None
        missing = dict.fromkeys([*(each.name for each in plan.refusals), *(each.name for each in plan.skipped)])
        costs = {each.name: each.cost if each.may_be_used(plan.trust) else None for each in plan.alternatives}
        return cls(chosen=plan.chosen.name, cost=plan.chosen.cost, others={**missing, **costs})

    @classmethod
    def read(cls, content: bytes) -> Self | None:
        """Return what a file holds; nothing where it is not as it was written, or contradicts itself."""
        try:
            document = strict_json(content, "a kept plan")
        except InvalidInput:
            return None
        if not isinstance(document, dict) or document.get("format") != FORMAT:
            return None
        chosen, cost, others = (document.get(key) for key in ("chosen", "cost", "others"))
        known = {each.name for each in CANDIDATES}
        if not isinstance(chosen, str) or not isinstance(others, dict) or {chosen, *others} - known:
            return None
        least, told = _error(cost), [each for each in others.values() if each is not None]
        if least is None or any((found := _error(each)) is None or found < least for each in told):
            return None
        return cls(chosen=chosen, cost=least, others=others)

    def to_json(self) -> str:
        """Return the text of a file."""
        document = {"format": FORMAT, "chosen": self.chosen, "cost": self.cost, "others": dict(self.others)}
        return json.dumps(document, allow_nan=False) + "\n"

    def agrees(self, plan: Plan) -> bool:
        """Tell whether a fresh plan with the kept mechanism alone has chosen it, with about the error it had."""
        fresh = plan.chosen
        return fresh is not None and fresh.name == self.chosen and abs(fresh.cost - self.cost) <= NEAR * self.cost

    def passed_over(self) -> Iterator[Skipped]:
        """Yield the other mechanisms, and what the kept plan says of each."""
        for name, cost in self.others.items():
            said = "does not apply, does not hold or was not tried" if cost is None else f"has an error of {cost:.4g}"
            reason = f"by the plan that is kept beside the policy it {said}, and {self.chosen} one of {self.cost:.4g}."
            yield Skipped(name=name, reason=reason)


def plan_key(policy: Policy, model: QueryModel, history: History, *, fixed: bool) -> str:
    """Return the hash of all that a choice depends on.

    Args:
        policy: what is asked for, with every default filled in.
        model: made from the reference as it is now; its rows count, not where they are.
        history: the dataset's earlier releases.
        fixed: whether the question has its noise already, which later releases do not change.
    """
    earlier = [] if fixed else [entry.digest for entry in (history.declaration, *history.entries) if entry is not None]
    parts: Sequence[Any] = (
        FORMAT,
        __version__,
        policy.to_dict(),
        policy.asked,
        reference_digests(model),
        {name: [law.mean.tolist(), law.covariance.tolist()] for name, law in model.distributions.items()}
        if model.simulator is None
        else {},
        earlier,
    )
    return hashlib.sha256(json.dumps(parts, sort_keys=True, default=str).encode()).hexdigest()


def kept_plan(policy: Policy, key: str) -> KeptPlan | None:
    """Return what is kept under a key beside the policy, if anything that can be used."""
    place = _folder(policy)
    if place is None:
        return None
    file = place / f"{key}.json"
    with suppress(OSError):
        if file.is_file() and not file.is_symlink() and file.stat().st_size <= LARGEST:
            return KeptPlan.read(file.read_bytes())
    return None


def keep_plan(policy: Policy, key: str, plan: Plan) -> None:
    """Keep a plan beside its policy; where that cannot be written, it is planned again next time."""
    place, kept = _folder(policy), KeptPlan.of(plan)
    if place is None or kept is None or not math.isfinite(kept.cost):
        return
    with suppress(OSError, ValueError):
        place.mkdir(parents=True, exist_ok=True)
        write_whole(place / f"{key}.json", kept.to_json())
        ours = [file for file in place.glob("*.json") if re.fullmatch("[0-9a-f]{64}", file.stem)]
        by_age = sorted(ours, key=lambda file: file.stat().st_mtime, reverse=True)
        for old in by_age[MOST:]:
            old.unlink()


def _folder(policy: Policy) -> Path | None:
    """Return where a policy's plans are kept; nowhere for a policy that is no file, or where a link leads elsewhere."""
    file = Path(policy.file.name).expanduser()
    place = file.absolute().parent / FOLDER
    return None if not file.is_file() or any(each.is_symlink() for each in (place, place.parent)) else place


def _error(value: object) -> float | None:
    """Return a number that an error can be, or nothing."""
    usable = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value) and value >= 0
    return float(value) if usable else None  # type: ignore[arg-type]
