"""What has been released of a dataset: the ledger, read and never written."""

import os
from collections.abc import Mapping
from typing import Any

import sqlalchemy as sql
from attrs import frozen

from distpriv.errors import InvalidQuery, InvalidSource
from distpriv.releasing.ledger import Entry, History, Ledger
from distpriv.releasing.queries import query_from_dict
from distpriv.workflow.policy import Policy, read_policy
from distpriv.workflow.statistics import statistic_text

__all__ = ["LedgerListing", "history_of", "list_ledger"]


@frozen(kw_only=True)
class LedgerListing:
    """The releases of one or several datasets."""

    histories: tuple[History, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return what was released and what is promised about it, as numbers, lists and text."""
        return {"datasets": [_dataset(history) for history in self.histories]}

    def __str__(self) -> str:
        if not any(history.entries for history in self.histories):
            return "nothing has been released yet."
        return "\n\n".join(map(_lines, self.histories))


def list_ledger(ledger: str) -> LedgerListing:
    """List the releases of a policy's dataset, or of all datasets of a ledger that is given by its URL."""
    if "://" not in ledger:
        return LedgerListing(histories=(history_of(read_policy(ledger)),))
    if _file_is_missing(ledger):
        raise InvalidSource(f"there is no ledger {ledger!r}: check the path, or give the policy it belongs to.")
    book = Ledger.open(ledger)
    return LedgerListing(histories=tuple(map(book.history, book.datasets())))


def history_of(policy: Policy) -> History:
    """Return the releases of a policy's dataset so far; reading makes no ledger where there is none."""
    nothing = History(dataset=policy.dataset, total=None, entries=())
    url = policy.ledger.url
    if url is None or _file_is_missing(url):
        return nothing
    return Ledger.open(url).history(policy.dataset)


def _file_is_missing(url: str) -> bool:
    try:
        parsed = sql.make_url(url)
    except sql.exc.ArgumentError:
        return False
    file = parsed.database
    plain = parsed.get_backend_name() == "sqlite" and file is not None and not file.startswith("file:")
    # In a folder that is not there the database says more clearly what is wrong.
    return plain and os.path.isdir(os.path.dirname(file or "") or ".") and not os.path.exists(file or "")


def _dataset(history: History) -> dict[str, Any]:
    total = None if history.total is None else {"epsilon": history.total.epsilon, "delta": history.total.delta}
    return {"dataset": history.dataset, "total": total, "releases": [_release(entry) for entry in history.entries]}


def _release(entry: Entry) -> dict[str, Any]:
    content = entry.content
    return {
        "position": entry.position,
        "time": entry.time,
        "statistics": _statistics(content),
        "values": content["values"],
        "intervals": content["intervals"],
        "mechanism": content["mechanism"],
        "certificate": content["certificate"],
        "joint_certificate": content["joint_certificate"],
    }


def _statistics(content: Mapping[str, Any]) -> dict[str, str]:
    """Return what was asked for, by name; a Python function only says that it is one."""
    try:
        return {name: statistic_text(statistic) for name, statistic in query_from_dict(content["query"]).statistics}
    except InvalidQuery:
        return {str(s["name"]): str(s.get("expression", s.get("function"))) for s in content["query"]}


def _lines(history: History) -> str:
    lines = [f"{history.dataset}: {len(history.entries)} release{'' if len(history.entries) == 1 else 's'}"]
    for entry in history.entries:
        joint = entry.content["joint_certificate"]
        lines += [
            f"  {entry.position}. {entry.time}  {entry.content['mechanism']}",
            *(f"       {name} = {text}" for name, text in _statistics(entry.content).items()),
            f"       with all before it: δ ≤ {joint['delta']:.3g} at ε = {joint['epsilon']:g}; the total allows "
            f"δ = {joint['target']['delta']:g} at ε = {joint['target']['epsilon']:g}",
        ]
    return "\n".join(lines)
