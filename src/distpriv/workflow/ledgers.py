"""What has been looked at and released of a dataset: the ledger, made, listed and opened for a policy."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from attrs import evolve, frozen

from distpriv.errors import InvalidInput, InvalidQuery, InvalidSource, LedgerUnavailable
from distpriv.framework.display import columns, counted, hanging, percent_at_most
from distpriv.ledger import Entry, History, Ledger
from distpriv.ledger.address import shown_url
from distpriv.policy import Policy, read_policy
from distpriv.releasing.written_queries import query_from_dict

__all__ = [
    "LedgerListing",
    "create_ledger",
    "found_ledger",
    "history_in",
    "history_of",
    "list_ledger",
    "needed_ledger",
]


@frozen(kw_only=True)
class LedgerListing:
    """What there is about one or several datasets, and the ledger it is from."""

    histories: tuple[History, ...]
    ledger: str | None = None
    """The ledger's own id; none where there is no ledger."""
    head: str | None = None
    """The digest of the newest entry; none before the first one."""

    def to_dict(self) -> dict[str, Any]:
        """Return what was released and what is promised about it, as numbers, lists and text."""
        datasets = [_dataset(history) for history in self.histories]
        return {"ledger": self.ledger, "head": self.head, "datasets": datasets}

    def text(self, detail: int = 0) -> str:
        """Return a table of the releases of each dataset; detail 1 adds the statistics and the composition's δ."""
        known = [history for history in self.histories if history.total is not None]
        lines = [line for history in known for line in (*_lines(history, detail), "")]
        names = ", ".join(history.dataset for history in self.histories)
        lines = lines or [f"EMPTY  {names} · no release yet" if names else "EMPTY  no release yet", ""]
        if self.ledger is not None:
            newest = "no entry yet" if self.head is None else f"newest entry {self.head if detail else self.head[:12]}"
            lines.append(f"  ledger {self.ledger if detail else self.ledger[:12]}, {newest}")
        return "\n".join(lines).rstrip()

    def __str__(self) -> str:
        return self.text()


def list_ledger(where: str) -> LedgerListing:
    """List what there is about a policy's dataset, or about all datasets of a ledger that is given by its URL."""
    url, policy = _address(where)
    if url is None or not Ledger.exists(url):
        if policy is None:
            raise InvalidSource(f"there is no ledger {shown_url(where)!r}: check the path, or make it with --create.")
        return LedgerListing(histories=(_nothing(policy.dataset),))
    return _listing(Ledger.open(url), policy)


def create_ledger(where: str) -> LedgerListing:
    """Make the ledger of a policy, or one that is given by its URL; where there is one already that is refused."""
    url, policy = _address(where)
    url = policy.ledger_url() if policy else str(url)
    if Ledger.exists(url):
        Ledger.open(url)  # which says so if it is not as it was written
        raise InvalidInput(
            f"there is a ledger {shown_url(url)} already, and it is kept: leave --create out to list it, and release "
            "into it as it is."
        )
    return _listing(Ledger.create(url), policy)


def history_of(policy: Policy) -> History:
    """Return the releases of a policy's dataset so far; reading makes no ledger where there is none."""
    return history_in(found_ledger(policy), policy)


def history_in(ledger: Ledger | None, policy: Policy) -> History:
    """Return the releases of a policy's dataset in a ledger; none where there is no ledger."""
    if ledger is None:
        return evolve(_nothing(policy.dataset), continues=policy.continues)
    return ledger.history(policy.dataset, policy.continues)


def found_ledger(policy: Policy) -> Ledger | None:
    """Return the ledger of a policy, if there is one.

    Raises:
        LedgerUnavailable: it is not as it was written, or there are traces of one.
    """
    url = policy.ledger.url
    return None if url is None or not Ledger.exists(url) else Ledger.open(url)


def needed_ledger(policy: Policy) -> Ledger | None:
    """Return the ledger of a policy that wants to release; None where the policy asks for one to be made.

    Raises:
        LedgerUnavailable: there is none, or one that is not as it was written.
    """
    url = policy.ledger_url()
    return None if policy.ledger.create and not Ledger.exists(url) else Ledger.open(url)


def _address(where: str) -> tuple[str | None, Policy | None]:
    """Return the URL that was given, or that of the policy that was."""
    if "://" in where:
        return where, None
    if shown_url(where) != where and not os.path.exists(where):
        raise InvalidSource("what was given is neither the path of a policy nor the URL of a ledger: check it.")
    policy = read_policy(where)
    return policy.ledger.url, policy


def _nothing(dataset: str) -> History:
    return History(dataset=dataset, total=None, entries=())


def _listing(ledger: Ledger, policy: Policy | None) -> LedgerListing:
    histories = ledger.histories() if policy is None else (ledger.history(policy.dataset, policy.continues),)
    return LedgerListing(histories=histories, ledger=ledger.id, head=ledger.head)


def _dataset(history: History) -> dict[str, Any]:
    total = None if history.total is None else {"epsilon": history.total.epsilon, "delta": history.total.delta}
    declared = history.declaration
    return {
        "dataset": history.dataset,
        "continues": history.continues or None,
        "total": total,
        "looks": history.looks,
        "looks_without_release": history.looks_without_release,
        "declaration": declared and {key: getattr(declared, key) for key in ("number", "time", "digest", "content")},
        "releases": [_release(entry) for entry in history.entries],
    }


def _release(entry: Entry) -> dict[str, Any]:
    content = entry.content
    with _listable(entry):
        return {
            "number": entry.number,
            "digest": entry.digest,
            "position": entry.position,
            "time": entry.time,
            "statistics": _statistics(content),
            "values": content["values"],
            "intervals": content["intervals"],
            "estimates": content["estimates"],
            "estimate_intervals": content["estimate_intervals"],
            "mechanism": content["mechanism"],
            "certificate": content["certificate"],
            "joint_certificate": content["joint_certificate"],
        }


@contextmanager
def _listable(entry: Entry) -> Iterator[None]:
    """Say so where an entry is no release as this library writes them."""
    try:
        yield
    except (KeyError, TypeError, ValueError, AttributeError):
        raise LedgerUnavailable(
            f"release {entry.position} of dataset {entry.dataset!r} in the ledger is not as distpriv writes "
            "them, so it cannot be listed: see what else writes into the ledger."
        ) from None


def _statistics(content: Mapping[str, Any]) -> dict[str, str]:
    """Return what was asked for, by name; a Python function only says that it is one."""
    try:
        return {name: statistic.text for name, statistic in query_from_dict(content["query"]).statistics}
    except InvalidQuery:
        return {str(s["name"]): str(s.get("expression", s.get("function"))) for s in content["query"]}


def _lines(history: History, detail: int) -> list[str]:
    """Return a line about a dataset, and one for each of its releases."""
    assert history.total is not None
    limit = percent_at_most(history.total.attack_accuracy_ceiling)
    facts = [
        counted(len(history.entries), "release"),
        counted(history.looks, "access"),
        f"limit of all releases {limit}",
    ]
    if history.looks_without_release:
        facts[1] += f" ({history.looks_without_release} without a release)"
    if history.continues:
        facts.append(f"shares the budget of {history.continues}")
    rows, details = [["release", "time", "mechanism", "ε", "δ so far", "limit"]], []
    for entry in history.entries:
        with _listable(entry):
            content, joint = entry.content, entry.content["joint_certificate"]
            composed = [f"{joint['epsilon']:g}", f"{joint['delta']:.3g}", f"{joint['target']['delta']:g}"]
            rows.append([str(entry.position), entry.time[:16].replace("T", " "), content["mechanism"], *composed])
            asked = [f"{name} = {text}" for name, text in _statistics(content).items()]
            details.append(hanging(f"{entry.position}: {'; '.join(asked)}"))
    if history.declaration is not None:
        details.append(f"  all questions were declared before the first answer, {history.declaration.time}")
    head = f"LEDGER  {history.dataset} · {' · '.join(facts)}"
    return [head, "", *(columns(rows, left=(0, 1, 2)) if len(rows) > 1 else []), *(details if detail else [])]
