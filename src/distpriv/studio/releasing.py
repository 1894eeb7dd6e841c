"""A release from the page: what it spends, said before; then what the command does, and the bundle verified."""

import shlex
from pathlib import Path
from typing import Any

from distpriv.bundle import verify_bundle
from distpriv.framework.display import percent_at_most
from distpriv.framework.target import PrivacyTarget
from distpriv.ledger import Ledger
from distpriv.ledger.address import shown_url
from distpriv.policy import Policy
from distpriv.progress import Progress
from distpriv.workflow.ledgers import history_of
from distpriv.workflow.release_policy import release_policy

__all__ = ["commands", "released", "spending"]


def commands(file: str, bundle: str) -> list[str]:
    """Return what to type to do the same without a page.

    >>> commands("ward 7.toml", "release-1")[1]
    "distpriv ledger 'ward 7.toml' --create"
    """
    name = shlex.quote(file)
    return [
        f"distpriv plan {name}",
        f"distpriv ledger {name} --create",
        f"distpriv release {name} --out {shlex.quote(bundle)}",
        f"distpriv verify {shlex.quote(bundle)}",
    ]


def spending(policy: Policy, *, names_ledger: bool = True) -> list[str]:
    """Return what a release spends, a sentence each: what is asked to be confirmed.

    Args:
        policy: what is released.
        names_ledger: whether the file of a ledger that is yet to be made may be named.
    """
    history, total = history_of(policy), policy.ledger.total
    count, before = len(policy.query().names), len(history.entries)
    earlier = (
        "This is its first release." if not before else f"It has {before} release{'s' if before > 1 else ''} so far."
    )
    answers = "1 number is" if count == 1 else f"{count} numbers are"
    return [
        f"{answers} released of the dataset {policy.dataset!r}, once and for good. {earlier}",
        f"Spent by it: {_in_words(policy.target)}.",
        f"All releases of this dataset together may give away: {_in_words(history.total or total)}.",
        _ledger(policy, named=names_ledger),
    ]


def _ledger(policy: Policy, *, named: bool) -> str:
    url = policy.ledger_url()
    name = Path(shown_url(url)).name if named else "it"
    look = "The ledger has it in writing before the private table is looked at, once, and before the answer is shown."
    return look if Ledger.exists(url) else f"{look} There is no ledger yet: {name} is made first."


def _in_words(target: PrivacyTarget) -> str:
    most = percent_at_most(target.attack_accuracy_ceiling)
    return f"ε = {target.epsilon:.4g} and δ = {target.delta:.4g}, by which nobody is right more than {most} of the time"


def released(policy: Policy, bundle: Path, progress: Progress) -> dict[str, Any]:
    """Release what a policy asks for, as the command does, verify the bundle, and return what may be shown.

    No file of the policy is read here: what was confirmed is released, whatever is written meanwhile.

    Raises:
        DistprivError: it was refused, and nothing was released, or it says what was.
    """
    if not policy.ledger.create and not Ledger.exists(policy.ledger_url()):
        Ledger.create(policy.ledger_url())
    made = release_policy(policy, bundle, progress=progress)
    verdict = verify_bundle(str(made.folder))
    return {
        "bundle": bundle.name,
        "repeated": made.release.repeated,
        "position": made.release.position,
        "verified": verdict.holds,
        "verdict": verdict.sentence.replace(str(made.folder), bundle.name),
    }
