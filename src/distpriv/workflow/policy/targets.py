"""The two targets of a policy: that of this release, and that of all releases of the dataset together."""

from distpriv.framework.target import PrivacyTarget
from distpriv.workflow.policy.shape import LedgerTable, PrivacyTable
from distpriv.workflow.policy.toml_text import PolicyText

__all__ = ["target", "total"]

_KEYS = ("epsilon", "delta", "max_attack_accuracy")


def target(file: PolicyText, table: str, given: PrivacyTable | LedgerTable) -> PrivacyTarget:
    """Return the target that a table asks for, by epsilon and delta or by the attack accuracy it tolerates."""
    if given.epsilon is not None and given.max_attack_accuracy is not None:
        raise file.refusal(
            (table, "max_attack_accuracy"),
            f"[{table}] asks for an epsilon and for an attack accuracy, each of which fixes the other: take one out.",
        )
    if given.epsilon is not None:
        with file.at((table, "epsilon")):
            PrivacyTarget(epsilon=given.epsilon, delta=0.5)  # so that what is refused below is the delta
        with file.at((table, "delta")):
            return PrivacyTarget(epsilon=given.epsilon, delta=given.delta or 0.0)
    if given.max_attack_accuracy is None:
        raise file.refusal(
            (table,), "this does not say how private: add epsilon = 1.0 and delta = 1e-3, or max_attack_accuracy = 0.6."
        )
    with file.at((table, "max_attack_accuracy")):
        tolerated = PrivacyTarget.from_attack_accuracy(given.max_attack_accuracy)
    if given.delta is None:
        return tolerated
    with file.at((table, "delta")):
        return PrivacyTarget.from_attack_accuracy(given.max_attack_accuracy, delta=given.delta)


def total(file: PolicyText, release: PrivacyTable, ledger: LedgerTable, aim: PrivacyTarget) -> PrivacyTarget:
    """Return the target of all releases together; that of this release when the ledger does not say.

    It is refused when it allows less than this release alone: each number is held against the same one, and where the
    two are given in different terms, what an attacker may reach against what he may reach.
    """
    if all(getattr(ledger, key) is None for key in _KEYS):
        return aim
    found = target(file, "ledger", ledger)
    for key in _KEYS:
        allowed, asked = getattr(ledger, key), getattr(release, key)
        if allowed is not None and asked is not None and allowed < asked:
            raise _smaller(file, key, f"{key} = {allowed}", f"{key} = {asked}")
    if (ledger.epsilon is None) == (release.epsilon is None):
        if ledger.epsilon is not None and found.delta < aim.delta:
            raise _smaller(file, "delta", f"delta = {found.delta}", f"delta = {aim.delta}")
    elif found.attack_accuracy_ceiling < aim.attack_accuracy_ceiling:
        words = [f"attackers right {t.attack_accuracy_ceiling:.0%} of the time" for t in (found, aim)]
        key = "epsilon" if ledger.epsilon is not None else "max_attack_accuracy"
        raise _smaller(file, key, *words)
    return found


def _smaller(file: PolicyText, key: str, allowed: str, asked: str) -> Exception:
    return file.refusal(
        ("ledger", key),
        f"all releases together may have {allowed}, less than this one alone asks for, {asked}: raise the total, or "
        "ask for less in [privacy].",
    )
